package flow_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/flow"
)

// message sends WRITEs of the PSNs as one message. PSNs in lost are left out, as if lost before the capture.
func (s *script) message(first, last uint32, lost ...uint32) {
	s.tb.Helper()
	for psn := first; psn <= last; psn++ {
		gone := false
		for _, l := range lost {
			gone = gone || l == psn
		}
		if gone {
			s.ids[0]++ // it was sent all the same
			continue
		}
		s.part(first, last, psn)
	}
}

// part sends one packet of the message from first to last.
func (s *script) part(first, last, psn uint32, options ...option) {
	s.tb.Helper()
	opcode := infiniband.RCWriteMiddle
	switch {
	case first == last:
		opcode = infiniband.RCWriteOnly
	case psn == first:
		opcode = infiniband.RCWriteFirst
	case psn == last:
		opcode = infiniband.RCWriteLast
	}
	s.add(false, opcode, psn, append([]option{
		dma(uint64(first)<<12, (last-first+1)*simMTU), func(f *build.Frame) { f.BTH.AckRequest = psn == last },
	}, options...)...)
}

// TestLossesSeenFromOnePlace is about what gets lost at the edges: ends of messages, acknowledgments, responses.
func TestLossesSeenFromOnePlace(t *testing.T) {
	t.Parallel()
	type flags = map[uint64]flow.Flags
	const timeout = 67_000 // µs
	for _, c := range []struct {
		name     string
		write    func(s *script)
		want     flags
		resent   uint64
		messages uint64
		missing  uint64
	}{
		// The capture never saw 102, nor anything behind it: that it is the second try cannot be told.
		{"the last packet is lost before the capture, and all is sent again", func(s *script) {
			s.message(100, 102, 102)
			s.wait(timeout)
			s.message(100, 102)
			s.ack(102)
			s.message(103, 105)
			s.ack(105)
		}, flags{3: afterTime | duplicate, 4: afterTime | duplicate}, 2, 2, 0},
		{"the last packet is lost before the capture, and alone is sent again", func(s *script) {
			s.message(100, 102, 102)
			s.ack(101)
			s.wait(timeout)
			s.part(100, 102, 102)
			s.ack(102)
		}, nil, 0, 1, 0},
		{"the last packet is lost behind the capture", func(s *script) {
			s.message(100, 102)
			s.ack(101)
			s.wait(timeout)
			s.part(100, 102, 102)
			s.ack(102)
			s.message(103, 104)
		}, flags{5: afterTime | duplicate}, 1, 2, 0},
		{"the same message twice over, with one more in flight", func(s *script) {
			s.message(100, 102)
			s.message(103, 103)
			s.wait(timeout)
			s.message(100, 102)
			s.message(103, 103)
			s.ack(103)
		}, flags{5: afterTime | duplicate, 6: afterTime | duplicate, 7: afterTime | duplicate, 8: afterTime | duplicate}, 4, 2, 0},
		{"an acknowledgment is lost behind the capture", func(s *script) {
			s.message(100, 102)
			s.ack(102)
			s.wait(timeout)
			s.part(100, 102, 102)
			s.ack(102)
			s.message(103, 104)
			s.ack(104)
		}, flags{5: afterTime | duplicate}, 1, 2, 0},
		{"an acknowledgment is lost before the capture", func(s *script) {
			s.message(100, 102)
			s.wait(timeout)
			s.message(100, 102)
			s.ack(102)
		}, flags{4: afterTime | duplicate, 5: afterTime | duplicate, 6: afterTime | duplicate}, 3, 1, 0},
		{"an acknowledgment is lost, and the next one stands for it", func(s *script) {
			s.message(100, 102)
			s.message(103, 104)
			s.ack(104)
		}, nil, 0, 2, 0},
		{"READ responses lost in the middle, before the capture", func(s *script) {
			s.add(false, infiniband.RCReadRequest, 300, dma(0, 6*simMTU))
			s.add(true, infiniband.RCReadResponseFirst, 300, syndrome(0x1f))
			s.add(true, infiniband.RCReadResponseMiddle, 301)
			s.ids[1] += 2
			s.add(true, infiniband.RCReadResponseMiddle, 304)
			s.add(true, infiniband.RCReadResponseLast, 305, syndrome(0x1f))
			s.wait(10)
			s.add(false, infiniband.RCReadRequest, 302, dma(2*simMTU, 4*simMTU))
			s.add(true, infiniband.RCReadResponseFirst, 302, syndrome(0x1f))
			s.add(true, infiniband.RCReadResponseMiddle, 303)
			s.add(true, infiniband.RCReadResponseMiddle, 304)
			s.add(true, infiniband.RCReadResponseLast, 305, syndrome(0x1f))
			s.message(306, 306)
		}, flags{4: gap, 6: resent | duplicate, 7: resent, 8: resent, 9: resent | duplicate, 10: resent | duplicate}, 5, 2, 0},
		{"READ responses lost in the middle, behind the capture", func(s *script) {
			s.add(false, infiniband.RCReadRequest, 300, dma(0, 4*simMTU))
			s.add(true, infiniband.RCReadResponseFirst, 300, syndrome(0x1f))
			s.add(true, infiniband.RCReadResponseMiddle, 301)
			s.add(true, infiniband.RCReadResponseMiddle, 302)
			s.add(true, infiniband.RCReadResponseLast, 303, syndrome(0x1f))
			s.wait(10)
			s.add(false, infiniband.RCReadRequest, 301, dma(simMTU, 3*simMTU))
			s.add(true, infiniband.RCReadResponseFirst, 301, syndrome(0x1f))
			s.add(true, infiniband.RCReadResponseMiddle, 302)
			s.add(true, infiniband.RCReadResponseLast, 303, syndrome(0x1f))
		}, flags{6: resent | duplicate, 7: resent | duplicate, 8: resent | duplicate, 9: resent | duplicate}, 4, 1, 0},
		{"the last READ response lost before the capture, asked for after a time-out", func(s *script) {
			s.add(false, infiniband.RCReadRequest, 300, dma(0, 4*simMTU))
			s.add(true, infiniband.RCReadResponseFirst, 300, syndrome(0x1f))
			s.add(true, infiniband.RCReadResponseMiddle, 301)
			s.add(true, infiniband.RCReadResponseMiddle, 302)
			s.wait(timeout)
			s.add(false, infiniband.RCReadRequest, 303, dma(3*simMTU, simMTU))
			s.add(true, infiniband.RCReadResponseOnly, 303, syndrome(0x1f))
			s.message(304, 304)
		}, flags{5: afterTime | duplicate}, 1, 2, 0},
		{"READ responses that never come again", func(s *script) {
			s.add(false, infiniband.RCReadRequest, 300, dma(0, 5*simMTU))
			s.add(true, infiniband.RCReadResponseFirst, 300, syndrome(0x1f))
			s.add(true, infiniband.RCReadResponseMiddle, 303)
			s.add(true, infiniband.RCReadResponseLast, 304, syndrome(0x1f))
		}, flags{3: gap}, 0, 1, 2},
		// A sender cannot repeat itself within a microsecond, so this is one packet seen twice, whoever doubled it.
		{"one packet doubled by the network", func(s *script) {
			s.message(100, 102)
			s.now -= 200
			s.ids[0]--
			s.part(100, 102, 102)
			s.message(103, 105)
		}, flags{4: mirrorCopy}, 0, 2, 0},
		{"one packet doubled by the network, IDs constant", func(s *script) {
			s.noID = true
			s.message(100, 102)
			s.now -= 200
			s.part(100, 102, 102)
			s.message(103, 105)
		}, flags{4: mirrorCopy}, 0, 2, 0},
		{"repeated at once, with an ID of its own", func(s *script) {
			s.message(100, 102)
			s.now -= 200
			s.part(100, 102, 102)
			s.message(103, 105)
		}, flags{4: resent | duplicate}, 1, 2, 0},
		{"repeated at once since a NAK asked for it, IDs constant", func(s *script) {
			s.noID = true
			s.message(100, 102)
			s.nak(102)
			s.now -= 500
			s.part(100, 102, 102)
			s.message(103, 105)
		}, flags{5: afterNAK | duplicate}, 1, 2, 0},
		{"a burst mirrored behind itself, IDs constant, hops counted", func(s *script) {
			s.noID = true
			for _, hops := range []uint8{64, 63} {
				for psn := uint32(100); psn < 103; psn++ {
					s.add(false, infiniband.RCWriteMiddle, psn, ttl(hops))
				}
			}
		}, flags{4: mirrorCopy, 5: mirrorCopy, 6: mirrorCopy}, 0, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newScript(t)
			c.write(s)
			r := s.track()
			for n := range uint64(len(s.frames)) {
				if got := r.flags[n+1]; got != c.want[n+1] {
					t.Errorf("packet %d:%s, want%s", n+1, flagNames(got), flagNames(c.want[n+1]))
				}
			}
			assert.Equal(t, c.resent, r.totals.Retransmitted, "resent")
			assert.Equal(t, c.messages, r.totals.Messages, "messages")
			assert.Equal(t, c.missing, r.totals.MissingPSNs, "missing")
			assert.Zero(t, r.totals.OutOfOrder, "late")
			if t.Failed() {
				t.Log(describe(t, s.frames, r))
			}
		})
	}
}

// TestEveryShortReordering lets packets of short messages overtake each other in every way that displaces none by
// more than three places, with nothing but PSNs to tell them apart.
func TestEveryShortReordering(t *testing.T) {
	t.Parallel()
	const reach = 3
	for i, lengths := range [][]uint32{{3, 2, 2}, {1, 2, 1, 3}, {4, 3}, {2, 1, 1, 3}, {7}, {3, 2, 2}, {1, 2, 1, 3}, {4, 3}} {
		if uint64(i)%shorter(1, 3) != 0 {
			continue
		}
		sends := i >= 5 // which say nothing of their length
		type packet struct{ first, last, psn uint32 }
		var sent []packet
		for _, n := range lengths {
			first := uint32(100 + len(sent))
			for i := range n {
				sent = append(sent, packet{first, first + n - 1, first + i})
			}
		}
		order := make([]int, 0, len(sent))
		used := make([]bool, len(sent))
		wrong := 0
		turn := func(f *build.Frame) {
			if sends { // the opcodes of SEND stand in the same order
				f.BTH.Opcode -= infiniband.RCWriteFirst - infiniband.RCSendFirst
			}
		}
		var try func()
		try = func() {
			at := len(order)
			if at == len(sent) {
				s := newScript(t)
				s.noID = true
				var late, high uint64
				for _, i := range order {
					p := sent[i]
					s.part(p.first, p.last, p.psn, turn)
					if uint64(p.psn) < high {
						late++
					}
					high = max(high, uint64(p.psn))
				}
				r := s.track()
				if r.totals.Retransmitted != 0 || r.totals.OutOfOrder != late || r.totals.MissingPSNs != 0 || r.totals.MirrorCopies != 0 ||
					r.totals.Messages != uint64(len(lengths)) {
					if wrong++; wrong < 3 {
						t.Errorf("%v: %d late and %d messages, got %+v\n%s", lengths, late, len(lengths), r.totals, describe(t, s.frames, r))
					}
				}
				return
			}
			for i := max(0, at-reach); i < len(sent) && i <= at+reach; i++ {
				if !used[i] && (at-reach < 0 || i >= at-reach) {
					used[i] = true
					order = append(order, i)
					try()
					order = order[:len(order)-1]
					used[i] = false
				}
			}
		}
		try()
		if wrong > 0 {
			t.Errorf("%v: %d orders are judged wrongly", lengths, wrong)
		}
	}
}

// TestMarksOfMalformedPackets: a switch marks what it forwards, whatever that is.
func TestMarksOfMalformedPackets(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	broken := func(psn uint32) {
		s.add(false, infiniband.RCSendOnly, psn, func(f *build.Frame) { // pad bytes behind an empty payload
			f.ECN, f.Payload, f.BTH.PadCount, f.KeepPadCount = dissector.ECNCE, nil, 3, true
		})
	}
	broken(99) // no flow yet
	s.message(100, 100)
	broken(101)
	r := s.track()
	assert.EqualValues(t, 2, r.totals.Malformed)
	assert.EqualValues(t, 2, r.totals.CEMarked)
	assert.EqualValues(t, 1, r.records[0].CEMarked.N)
	assert.EqualValues(t, 1, r.records[0].Messages.N)
}
