package metaroce_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/metaroce"
)

// sackOf lists what an ACK says has arrived beyond its cumulative psn, counted from the path's first.
func (s *script) sackOf(x emitted) []int {
	var list []int
	for first, last := range x.ACKH.SACK.Ranges() {
		for i := first; i <= last; i++ {
			list = append(list, int(x.ACKH.CumulativePSN-s.peer.InitialPSN)+1+i)
		}
	}
	return list
}

// Out-of-order arrival is the normal case: payload is placed as it lands.
func TestPayloadIsPlacedAsItLands(t *testing.T) {
	s := newScript(t, nil)
	target := s.writable(768)
	for i, offset := range []uint32{512, 0, 256} {
		p := s.data(mr0.TypeWrite, 0, 4, offset, 768, 256) // nothing of messages 0 to 3 has come
		p.WETH = mr0.WETH{VirtualAddress: base + uint64(offset), RKey: keyWrite}
		payload := bytes.Repeat([]byte{byte(i + 1)}, 256)
		if got := s.feed(p, payload, func(p *mr0.Packet, _ *metaroce.Datagram) { p.CH.PSN += uint32(i) }); got != metaroce.VerdictAccepted {
			t.Fatal(got)
		}
		if !bytes.Equal(target[offset:offset+256], payload) {
			t.Errorf("payload at %d is not in place", offset)
		}
	}
}

// A duplicate is not placed again, and is acknowledged at once.
func TestDuplicateIsAcknowledgedAndNotPlacedAgain(t *testing.T) {
	s := newScript(t, nil)
	target := s.writable(512)
	s.write(0, 0, 0, 512, 256)
	s.write(2, 1, 0, 512, 256)
	s.poll()
	for _, psn := range []int{0, 2} {
		copy(target, "the application has it now")
		if got := s.write(psn, uint32(psn/2), 0, 512, 256); got != metaroce.VerdictDuplicate {
			t.Errorf("psn %d: %s", psn, got)
		}
		if got := s.one(mr0.TypeACK); got.ACKH.Trigger != mr0.ACKTriggerDuplicate {
			t.Errorf("trigger is %s", got.ACKH.Trigger)
		}
	}
	if !bytes.HasPrefix(target, []byte("the application")) {
		t.Error("placed again")
	}
	if got := s.c.InboundPath(0).PacketCount; got != 4 {
		t.Errorf("packet_count is %d, want 4: duplicates count", got)
	}
}

// echo_timestamp is that of the packet that triggered the ACK, be it a duplicate.
func TestACKEchoesThePacketThatTriggeredIt(t *testing.T) {
	s := newScript(t, nil)
	s.writable(256)
	for range 3 {
		s.now += 50 * us
		s.write(0, 0, 0, 256, 256, withFlags(mr0.FlagAR))
		if got := s.one(mr0.TypeACK).ACKH; got.EchoTimestamp != uint32(s.now) || got.ACKDelay != 0 {
			t.Errorf("echoes %d after %d ns, the packet said %d", got.EchoTimestamp, got.ACKDelay, uint32(s.now))
		}
	}
}

// Bytes that come again by another path, with a psn of their own, are not placed again either.
func TestBytesOfAnotherPathAreNotPlacedAgain(t *testing.T) {
	s := newScript(t, nil)
	target := s.writable(512)
	s.write(0, 0, 0, 512, 256)
	copy(target, "the application has it now")
	if got := s.write(0, 0, 0, 512, 256, onPath(1), withFlags(mr0.FlagRTX)); got != metaroce.VerdictAccepted {
		t.Errorf("%s", got)
	}
	s.write(1, 0, 256, 512, 256)
	s.write(1, 0, 0, 512, 256, onPath(1), withFlags(mr0.FlagRTX)) // the message is complete by now
	if !bytes.HasPrefix(target, []byte("the application")) {
		t.Error("placed again")
	}
	if a, b := s.c.InboundPath(0).CumulativePSN, s.c.InboundPath(1).CumulativePSN; a != 5002 || b != 5002+mr0.PathPSNStride {
		t.Errorf("next psns are %d and %d", a, b)
	}
}

func TestPSNBeyondTheWindowIsDropped(t *testing.T) {
	s := newScript(t, nil)
	s.writable(512)
	if got := s.write(257, 0, 0, 512, 256); got != metaroce.VerdictBeyondWindow {
		t.Errorf("cumulative_psn + 257: %s", got)
	}
	s.none()
	if got := s.write(256, 0, 0, 512, 256); got != metaroce.VerdictAccepted {
		t.Errorf("cumulative_psn + 256: %s", got)
	}
	got := s.one(mr0.TypeACK)
	if diff := cmp.Diff([]int{256}, s.sackOf(got)); diff != "" || got.ACKH.PacketCount != 1 {
		t.Errorf("packet_count %d; %s", got.ACKH.PacketCount, diff)
	}
}

// The cumulative psn and the SACK of a path, and that neither goes back.
func TestCumulativePSNAndSACK(t *testing.T) {
	s := newScript(t, func(_ *metaroce.Config, _, peer *mr0.CONN) { peer.InitialPSN = 0xfffffffe })
	s.writable(4096)
	number := uint32(0)
	for _, x := range []struct {
		psn  int
		next int
		sack []int
	}{
		{1, 0, []int{1}},
		{3, 0, []int{1, 3}},
		{0, 2, []int{3}},
		{66, 2, []int{3, 66}},
		{2, 4, []int{66}},
	} {
		s.write(x.psn, uint32(x.psn), 0, 512, 256, withFlags(mr0.FlagAR))
		got := s.one(mr0.TypeACK)
		if next := int(got.ACKH.CumulativePSN - s.peer.InitialPSN); next != x.next {
			t.Errorf("after psn %d: next is %d, want %d", x.psn, next, x.next)
		}
		if diff := cmp.Diff(x.sack, s.sackOf(got)); diff != "" {
			t.Errorf("after psn %d: %s", x.psn, diff)
		}
		if number++; got.CH.PSN != number {
			t.Errorf("number of the ACK is %d, want %d", got.CH.PSN, number)
		}
	}
}

// What makes an ACK go out at once, and what the others wait for.
func TestACKTriggers(t *testing.T) {
	s := newScript(t, nil)
	s.writable(1 << 16)
	const long = 1 << 15
	psn := 0
	next := func(how ...as) metaroce.Verdict {
		v := s.write(psn, 0, uint32(256*psn), long, 256, how...)
		psn++
		return v
	}
	trigger := func(want mr0.ACKTrigger) emitted {
		t.Helper()
		got := s.one(mr0.TypeACK)
		if got.ACKH.Trigger != want {
			t.Errorf("trigger is %s, want %s", got.ACKH.Trigger, want)
		}
		return got
	}
	for range 15 {
		next()
		s.none()
	}
	next()
	trigger(mr0.ACKTriggerCoalesced)

	next(withFlags(mr0.FlagAR))
	trigger(mr0.ACKTriggerRequested)

	psn++
	next()
	trigger(mr0.ACKTriggerGap)
	next() // behind the same gap
	s.none()

	next(withCE)
	trigger(mr0.ACKTriggerCEChange)
	next(withCE)
	s.none()
	next()
	if got := trigger(mr0.ACKTriggerCEChange); got.ACKH.CECount != 2 || got.ACKH.PacketCount != uint32(psn-1) {
		t.Errorf("ce_count %d, packet_count %d", got.ACKH.CECount, got.ACKH.PacketCount)
	}

	s.write(psn, 1, 256, 512, 256)
	trigger(mr0.ACKTriggerMessageEnd)
	s.write(psn+1, 1, 0, 512, 256) // its last byte to land, without LAST
	trigger(mr0.ACKTriggerMessageEnd)
	s.write(psn, 1, 256, 512, 256)
	trigger(mr0.ACKTriggerDuplicate)
	psn += 2

	next()
	arrived := s.now
	out := s.advance(19 * us)
	if len(out) > 0 {
		t.Errorf("sent %s before ack_timer", names(out))
	}
	s.now = arrived + 23*us
	if got := trigger(mr0.ACKTriggerTimer); got.ACKH.EchoTimestamp != uint32(arrived) || got.ACKH.ACKDelay != uint32(23*us) {
		t.Errorf("echo_timestamp %d, ack_delay %d", got.ACKH.EchoTimestamp, got.ACKH.ACKDelay)
	}
	if out := s.advance(time.Second); len(out) > 0 {
		t.Errorf("sent %s afterwards", names(out))
	}
}

// Completions are handed up in msn order within a stream; streams do not wait for each other.
func TestCompletionsAreInOrderWithinAStream(t *testing.T) {
	s := newScript(t, nil)
	s.writable(4096)
	imm := func(p *mr0.Packet, _ *metaroce.Datagram) {
		p.CH.Flags |= mr0.FlagIMM
		p.IMMH.Immediate = p.DH.MSN + 100*uint32(p.DH.StreamID)
	}
	s.write(0, 2, 0, 4, 4, imm)
	s.write(1, 1, 0, 4, 4, imm)
	if done := s.completions(); len(done) != 0 {
		t.Fatalf("handed up before message 0: %+v", done)
	}
	s.write(2, 0, 0, 4, 4, onStream(3), imm)
	if done := s.completions(); len(done) != 1 || done[0].Immediate != 300 {
		t.Errorf("stream 3: %+v", done)
	}
	s.write(3, 0, 0, 4, 4, imm)
	var got []uint32
	for _, done := range s.completions() {
		got = append(got, done.Immediate)
		if !done.Received || !done.HasImmediate || done.StreamID != 1 {
			t.Errorf("%+v", done)
		}
	}
	if diff := cmp.Diff([]uint32{100, 101, 102}, got); diff != "" {
		t.Error(diff)
	}
}

// Own completions wait for older ones of their stream, too.
func TestOwnCompletionsAreInOrder(t *testing.T) {
	s := newScript(t, narrow(8))
	s.work(1)
	s.work(1)
	out := s.poll()
	s.ack(out[1].CH.PathID, 1, 1, s.now, nil)
	if done := s.completions(); len(done) != 0 {
		t.Fatalf("completed before message 0: %+v", done)
	}
	s.ack(out[0].CH.PathID, 1, 1, s.now, nil)
	if done := s.completions(); len(done) != 2 || done[0].MSN != 0 || done[1].MSN != 1 {
		t.Errorf("%+v", done)
	}
}

// A message is complete when all its bytes have landed, and not before.
func TestMessageIsCompleteWhenAllBytesHaveLanded(t *testing.T) {
	s := newScript(t, nil)
	stream, err := s.c.Stream(1)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.PostReceive(55, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	for i, offset := range []uint32{512, 0, 256} {
		if done := s.completions(); len(done) != 0 {
			t.Errorf("complete after %d packets: %+v", i, done)
		}
		p := s.data(mr0.TypeSend, i, 0, offset, 700, min(256, 700-int(offset)))
		s.feed(p, make([]byte, min(256, 700-int(offset))))
	}
	if done := s.completions(); len(done) != 1 || done[0].ID != 55 || done[0].Length != 700 || done[0].Operation != metaroce.OperationSend {
		t.Errorf("%+v", done)
	}
}

// That one before it is complete does not complete a message of which bytes miss.
func TestUnfinishedMessageStaysBehindAFinishedOne(t *testing.T) {
	s := newScript(t, nil)
	stream, err := s.c.Stream(1)
	if err != nil {
		t.Fatal(err)
	}
	send := func(psn int, msn, offset uint32) {
		p := s.data(mr0.TypeSend, psn, msn, offset, 512, 256)
		p.SETH.ReceiveIndex = msn
		s.feed(p, make([]byte, 256))
	}
	for id := range uint64(2) {
		if err := stream.PostReceive(id, make([]byte, 512)); err != nil {
			t.Fatal(err)
		}
	}
	send(2, 1, 0)
	send(0, 0, 0)
	send(1, 0, 256)
	if done := s.completions(); len(done) != 1 || done[0].ID != 0 {
		t.Errorf("%+v", done)
	}
	send(3, 1, 256)
	if done := s.completions(); len(done) != 1 || done[0].ID != 1 {
		t.Errorf("%+v", done)
	}
}

// A receiver that has no room for a message beyond the oldest drops it as if it had been lost, and takes the oldest.
func TestOldestMessageAlwaysHasRoom(t *testing.T) {
	s := newScript(t, func(c *metaroce.Config, _, _ *mr0.CONN) { c.MaxInboundMessages = 1 })
	s.writable(4096)
	if got := s.write(0, 1, 0, 4, 4); got != metaroce.VerdictAccepted {
		t.Fatal(got)
	}
	s.poll()
	if got := s.write(1, 2, 0, 4, 4); got != metaroce.VerdictNoRoom {
		t.Errorf("a second one ahead: %s", got)
	}
	if got := s.write(2, 0, 0, 4, 4); got != metaroce.VerdictAccepted {
		t.Errorf("the oldest: %s", got)
	}
	if got := s.one(mr0.TypeACK); s.sackOf(got)[0] != 2 {
		t.Errorf("what was dropped is acknowledged")
	}
	if got := s.write(1, 2, 0, 4, 4, withFlags(mr0.FlagRTX)); got != metaroce.VerdictAccepted {
		t.Errorf("sent again: %s", got)
	}
}
