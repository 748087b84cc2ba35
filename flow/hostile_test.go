package flow_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/mad"
	"github.com/rocelens/rocelens/flow"
)

func copied(f *build.Frame) { f.TTL = 63 }

func bad(f *build.Frame) { f.ICRCFlip = 1 }

func ce(f *build.Frame) { f.ECN = dissector.ECNCE }

// TestHostileNetworks is about networks, senders and captures that do what they may, but seldom do.
func TestHostileNetworks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		write func(s *script)
		flags map[uint64]flow.Flags
		want  flow.Totals // those that packets decide; the rest is not compared
	}{
		{
			name: "the capture starts in the middle of a message",
			write: func(s *script) {
				s.part(100, 107, 105)
				s.part(100, 107, 106)
				s.part(100, 107, 107)
				s.ack(107)
				s.message(108, 109)
			},
			want: flow.Totals{Messages: 2},
		},
		{
			name: "the first packet is a retransmission, which nothing in the capture shows",
			write: func(s *script) {
				s.part(100, 107, 103)
				s.part(100, 107, 104)
				s.part(100, 107, 105)
				s.ack(105)
			},
			want: flow.Totals{Messages: 1},
		},
		{
			name: "go-back-N across the end of the PSN space, in the middle of a message",
			write: func(s *script) {
				s.noID = true
				s.message(0xfffffc, 0x1000001, 0xffffff)
				s.nak(0xffffff)
				for psn := uint32(0xffffff); psn <= 0x1000001; psn++ {
					s.part(0xfffffc, 0x1000001, psn)
				}
				s.ack(1)
				s.message(0x1000002, 0x1000003)
			},
			flags: map[uint64]flow.Flags{4: gap, 7: afterNAK, 8: afterNAK | duplicate, 9: afterNAK | duplicate},
			want:  flow.Totals{Messages: 2, Retransmitted: 3, Naks: 1},
		},
		{
			name: "acknowledgments coalesced, doubled by the responder, and one that comes late",
			write: func(s *script) {
				s.message(100, 102)
				s.message(103, 105)
				s.message(106, 106)
				s.ack(105)
				s.ack(105)
				s.ack(102)
				s.ack(106)
			},
			want: flow.Totals{Messages: 3},
		},
		{
			name: "READ responses that overtake each other",
			write: func(s *script) {
				s.noID = true
				s.add(false, infiniband.RCReadRequest, 300, dma(0, 4*simMTU))
				s.add(true, infiniband.RCReadResponseFirst, 300, syndrome(0x1f))
				s.add(true, infiniband.RCReadResponseMiddle, 302)
				s.add(true, infiniband.RCReadResponseMiddle, 301)
				s.add(true, infiniband.RCReadResponseLast, 303, syndrome(0x1f))
				s.message(304, 304)
			},
			flags: map[uint64]flow.Flags{3: gap, 4: late},
			want:  flow.Totals{Messages: 2, OutOfOrder: 1},
		},
		{
			name: "paths of a LAG, senders that count IP IDs over all connections",
			write: func(s *script) {
				for i, psn := range []uint32{100, 101, 102, 103, 105, 106, 104, 108, 107, 109} {
					s.add(false, infiniband.RCWriteMiddle, psn, id(uint16(100*(psn-100))))
					assert.Len(s.tb, s.frames, i+1)
				}
			},
			flags: map[uint64]flow.Flags{5: gap, 7: late, 8: gap, 9: late},
			want:  flow.Totals{Messages: 1, OutOfOrder: 2},
		},
		{
			name: "IP IDs that begin again at 0 while packets overtake each other",
			write: func(s *script) {
				for _, p := range [][2]uint32{{100, 0xfffc}, {101, 0xfffd}, {102, 0xfffe}, {104, 0}, {103, 0xffff}, {106, 2}, {105, 3}} {
					s.add(false, infiniband.RCWriteMiddle, p[0], id(uint16(p[1])))
				}
			},
			flags: map[uint64]flow.Flags{4: gap, 5: late, 6: gap, 7: resent},
			want:  flow.Totals{Messages: 1, OutOfOrder: 1, Retransmitted: 1},
		},
		{
			name: "the retransmission overtakes the original",
			write: func(s *script) {
				s.message(100, 104, 103)
				s.nak(103)
				s.part(100, 104, 103)
				s.part(100, 104, 103, id(4))
				s.part(100, 104, 104, id(7))
				s.ack(104)
			},
			flags: map[uint64]flow.Flags{4: gap, 6: afterNAK, 7: late | duplicate, 8: afterNAK | duplicate},
			want:  flow.Totals{Messages: 1, OutOfOrder: 1, Retransmitted: 2, Naks: 1},
		},
		{
			name: "mirror copies of a retransmission, IDs counting",
			write: func(s *script) {
				twice := func(psn uint32, id uint16) {
					s.part(100, 104, psn, func(f *build.Frame) { f.ID = id })
					s.now -= 800
					s.part(100, 104, psn, func(f *build.Frame) { f.ID = id })
				}
				twice(100, 1)
				twice(101, 2)
				twice(103, 4)
				twice(104, 5)
				s.nak(102)
				twice(102, 6)
				twice(103, 7)
				twice(104, 8)
			},
			flags: map[uint64]flow.Flags{
				2: mirrorCopy, 4: mirrorCopy, 5: gap, 6: mirrorCopy, 8: mirrorCopy, 10: afterNAK, 11: mirrorCopy,
				12: afterNAK | duplicate, 13: mirrorCopy, 14: afterNAK | duplicate, 15: mirrorCopy,
			},
			want: flow.Totals{Messages: 1, Retransmitted: 3, MirrorCopies: 7, Naks: 1},
		},
		{
			name: "mirror copies of everything, behind the next packet and without IDs",
			write: func(s *script) {
				s.noID = true
				var held []frame
				release := func() {
					for _, f := range held {
						s.now += 100
						s.raw(f.data)
					}
					held = nil
				}
				send := func(write func()) {
					s.now -= 900
					write()
					last := s.frames[len(s.frames)-1]
					release()
					held = []frame{last}
				}
				for psn := uint32(100); psn <= 104; psn++ {
					send(func() { s.part(100, 104, psn) })
				}
				send(func() { s.nak(102) })
				release()
				s.wait(3)
				for psn := uint32(102); psn <= 104; psn++ {
					send(func() { s.part(100, 104, psn) })
				}
				send(func() { s.ack(104) })
				send(func() { s.add(true, infiniband.CNP, 0) })
				release()
			},
			flags: map[uint64]flow.Flags{
				3: mirrorCopy, 5: mirrorCopy, 7: mirrorCopy, 9: mirrorCopy, 11: mirrorCopy, 12: mirrorCopy, 13: afterNAK | duplicate,
				14: afterNAK | duplicate, 15: mirrorCopy, 16: afterNAK | duplicate, 17: mirrorCopy, 19: mirrorCopy, 21: mirrorCopy, 22: mirrorCopy,
			},
			want: flow.Totals{Messages: 1, Retransmitted: 3, MirrorCopies: 11, Naks: 1, CNPs: 1},
		},
		{
			name: "damaged and marked between the two places of a mirror",
			write: func(s *script) {
				s.message(100, 100)
				s.part(100, 100, 100, id(1), copied, bad)
				s.part(101, 101, 101, id(2), bad)
				s.part(101, 101, 101, id(2), bad, copied)
				s.part(102, 102, 102, id(3))
				s.part(102, 102, 102, id(3), copied, ce)
				s.part(103, 103, 103, id(4), ce)
				s.part(103, 103, 103, id(4), copied, ce)
			},
			flags: map[uint64]flow.Flags{2: mirrorCopy, 4: mirrorCopy, 6: mirrorCopy, 8: mirrorCopy},
			want:  flow.Totals{Messages: 4, MirrorCopies: 4, ICRCErrors: 2, CEMarked: 2},
		},
		{
			name: "a damaged packet whose PSN cannot be believed",
			write: func(s *script) {
				s.noID = true
				s.writes(100, 101)
				s.add(false, infiniband.RCWriteMiddle, 102+4096, bad)
				s.writes(103)
				s.nak(102)
				s.writes(102, 103, 104)
			},
			flags: map[uint64]flow.Flags{4: gap, 6: afterNAK, 7: afterNAK | duplicate},
			want:  flow.Totals{Messages: 1, Retransmitted: 2, ICRCErrors: 1, Naks: 1},
		},
		{
			name: "the connection manager opens a new connection on QPs and near PSNs that were in use",
			write: func(s *script) {
				open := func(psn uint32) {
					s.manage(false, mad.MessageREQ, mad.REQ{LocalID: 7 + psn, LocalQPN: simQPA, StartingPSN: 900, PathMTU: 1}.AppendTo(nil))
					s.manage(true, mad.MessageREP, mad.REP{LocalID: 8, RemoteID: 7 + psn, LocalQPN: simQPB, StartingPSN: psn}.AppendTo(nil))
				}
				open(100)
				s.message(100, 104)
				s.ack(104)
				open(102)
				s.message(102, 103)
				s.ack(103)
			},
			want: flow.Totals{Messages: 6},
		},
		{
			name: "two members of a multicast group, and another group",
			write: func(s *script) {
				group := func(from uint32) option {
					return func(f *build.Frame) { f.BTH.DestinationQP, f.DETH.SourceQP = 0xffffff, from }
				}
				for psn := range uint32(3) {
					s.add(false, infiniband.UDSendOnly, psn, group(0x20))
					s.add(false, infiniband.UDSendOnly, 9-psn, group(0x21))
				}
			},
			want: flow.Totals{Messages: 6},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newScript(t)
			c.write(s)
			r := s.track()
			for n := range uint64(len(s.frames)) {
				if got := r.flags[n+1]; got != c.flags[n+1] {
					t.Errorf("packet %d:%s, want%s", n+1, flagNames(got), flagNames(c.flags[n+1]))
				}
			}
			got := r.totals
			assert.Equal(t, c.want, flow.Totals{
				Messages: got.Messages, Retransmitted: got.Retransmitted, OutOfOrder: got.OutOfOrder, MirrorCopies: got.MirrorCopies,
				MissingPSNs: got.MissingPSNs, Naks: got.Naks, CNPs: got.CNPs, CEMarked: got.CEMarked, ICRCErrors: got.ICRCErrors,
			})
			if t.Failed() {
				t.Log(describe(t, s.frames, r))
			}
		})
	}
}
