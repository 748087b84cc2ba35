package metaroce_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/metaroce"
)

const ms = time.Millisecond

// times are when packets left, since a time.
func times(out []emitted, since time.Duration) []time.Duration {
	var list []time.Duration
	for _, x := range out {
		list = append(list, time.Duration(x.DH.Timestamp-uint32(since)))
	}
	return list
}

// The timer of a path is srtt + 4 rttvar within its bounds, and doubles.
func TestRetransmissionTimerDoubles(t *testing.T) {
	s := newScript(t, func(c *metaroce.Config, local, _ *mr0.CONN) { local.PathCount, c.PathFailedAfter = 1, 10 })
	s.work(1)
	s.poll()
	s.now += 2 * ms
	s.ack(0, 1, 1, s.now-2*ms, nil) // srtt 2 ms, rttvar 1 ms
	if got := s.c.Path(0).RTO; got != 6*ms {
		t.Errorf("RTO is %v, want 6 ms", got)
	}
	s.work(1)
	s.poll()
	begin := s.now
	out := s.advance(400 * ms)
	if diff := cmp.Diff([]time.Duration{6 * ms, 18 * ms, 42 * ms, 90 * ms, 186 * ms, 286 * ms, 386 * ms}, times(out, begin)); diff != "" {
		t.Errorf("doubling up to rto_max: %s", diff)
	}
	for _, x := range out {
		if x.CH.PSN != 1001 || x.CH.Flags&mr0.FlagRTX == 0 {
			t.Errorf("sent psn %d, %s", x.CH.PSN, x.CH.Flags)
		}
	}
	s.ack(0, 2, 2, s.now-1*ms, nil)
	if got := s.c.Path(0).RTO; got > 10*ms {
		t.Errorf("RTO is %v after an ACK", got)
	}
	if out := s.advance(ms * 500); len(out) > 0 {
		t.Errorf("sent %s with nothing outstanding", names(out))
	}
}

// The timer itself cuts nothing, what is found lost behind the packet that it sent again does.
func TestTimeoutCutsOnlyByWhatIsFoundLost(t *testing.T) {
	for packets, want := range map[int]float64{1: 8, 3: 4} {
		s := newScript(t, onePath(8))
		s.work(packets)
		s.poll()
		if out := s.advance(10 * ms); len(out) != 1 { // rto_initial
			t.Fatalf("sent %s", names(out))
		}
		if got := s.c.Path(0); got.Window != 8 || got.Timeouts != 1 {
			t.Errorf("window is %v after %d timeouts, want 8 after one", got.Window, got.Timeouts)
		}
		s.now += 50 * us
		s.ack(0, 1, 1, s.now-50*us, nil)
		if got := s.c.Path(0).Window; got != want {
			t.Errorf("window is %v when the first of %d packets has arrived, want %v", got, packets, want)
		}
	}
}

// Timeouts are in a row only if nothing was acknowledged between them.
func TestACKBetweenTimeoutsSavesThePath(t *testing.T) {
	s := newScript(t, onePath(16))
	s.work(6)
	s.poll()
	for i := range 3 {
		s.advance(30 * ms) // two timeouts, of 10 and 20 ms
		if got := s.c.Path(0); got.Timeouts != 2 || got.Failed {
			t.Fatalf("round %d: %+v", i, got)
		}
		s.ack(0, uint32(1+i), 1+i, 0, nil, func(a *mr0.ACKH) { a.ACKDelay = uint32(s.now) })
		if got := s.c.Path(0).Timeouts; got != 0 {
			t.Errorf("%d timeouts in a row after an ACK", got)
		}
	}
}

// fail lets path 0 time out until it is failed; path 1 stays well.
func (s *script) fail() []emitted {
	s.t.Helper()
	s.work(4) // psns 0 and 1 of both paths
	s.poll()
	sent := s.now
	s.now += 100 * us
	s.ack(1, 1, 2, sent, nil)
	s.work(1) // the emptier path 1
	if diff := cmp.Diff([]uint8{1}, paths(s.poll())); diff != "" {
		s.t.Fatal(diff)
	}
	s.now += 100 * us
	s.ack(1, 2, 3, s.now-100*us, nil)
	return s.advance(70*ms - 100*us) // 10 + 20 + 40 ms after the first was sent
}

// After path_failed_after timeouts in a row the path is failed: outstanding bytes go out on other paths with new psns
// and RTX, it takes a new source port and sends PROBEs.
func TestPathFailureMovesItsBytesAndProbes(t *testing.T) {
	s := newScript(t, nil)
	before := s.c.Path(0).SourcePort
	out := s.fail()
	if len(out) != 5 {
		t.Fatalf("sent %s", names(out))
	}
	for i, x := range out[:2] { // the two timeouts before
		if x.CH.PathID != 0 || x.CH.PSN != 1000 || x.CH.Type != mr0.TypeWrite {
			t.Errorf("timeout %d: %s psn %d on path %d", i, x.CH.Type, x.CH.PSN, x.CH.PathID)
		}
	}
	probe, moved := out[2], out[3:]
	if probe.CH.Type != mr0.TypeProbe || probe.CH.PathID != 0 || probe.CH.Flags&mr0.FlagAR == 0 || probe.Source.Port() == before {
		t.Errorf("third timeout: %s on path %d, %s, from %v", probe.CH.Type, probe.CH.PathID, probe.CH.Flags, probe.Source)
	}
	if diff := cmp.Diff([]int{3, 4}, s.psns(moved)); diff != "" {
		t.Error(diff)
	}
	for i, x := range moved {
		if x.CH.PathID != 1 || x.CH.Flags&mr0.FlagRTX == 0 || x.CH.Type != mr0.TypeWrite || x.DH.MessageOffset != uint32(512*i) {
			t.Errorf("moved packet %d: %s on path %d, %s, offset %d", i, x.CH.Type, x.CH.PathID, x.CH.Flags, x.DH.MessageOffset)
		}
	}
	want := []metaroce.EventKind{metaroce.EventPathFailed, metaroce.EventRepath}
	if diff := cmp.Diff(want, kinds(s.events())); diff != "" {
		t.Error(diff)
	}
	// No application sees it.
	s.now += 100 * us
	s.ack(1, 3, 5, s.now-100*us, nil)
	if done := s.completions(); len(done) != 2 || done[0].Err != nil || done[1].Err != nil {
		t.Errorf("completions are %+v", done)
	}
	// New bytes go by the other path.
	s.work(3)
	if diff := cmp.Diff([]uint8{1, 1, 1}, paths(s.poll())); diff != "" {
		t.Error(diff)
	}
}

// PROBEs come every rto_max until one is acknowledged; each that was in vain takes another source port.
func TestProbesEveryRTOMaxUntilAcknowledged(t *testing.T) {
	s := newScript(t, nil)
	first := s.fail()[2]
	s.ack(1, 3, 5, s.now, nil)
	begin := time.Duration(first.DH.Timestamp)
	out := s.advance(250 * ms)
	if diff := cmp.Diff([]time.Duration{100 * ms, 200 * ms}, times(out, begin)); diff != "" {
		t.Fatal(diff)
	}
	port := first.Source.Port()
	for _, x := range out {
		if x.CH.Type != mr0.TypeProbe || x.CH.PSN != 1000 || x.Source.Port() == port {
			t.Errorf("%s psn %d from %v", x.CH.Type, x.CH.PSN, x.Source)
		}
		port = x.Source.Port()
	}
	last := out[1]
	// An ACK that a packet from before the failure has triggered proves nothing.
	s.ack(0, 1, 0, begin-5*ms, []int{1})
	if !s.c.Path(0).Failed {
		t.Error("restored by an old packet")
	}
	s.now += 100 * us
	s.ack(0, 2, 2, time.Duration(last.DH.Timestamp), nil)
	if got := s.c.Path(0); got.Failed || got.InFlight != 0 || got.SourcePort != port {
		t.Errorf("after the ACK of a PROBE: %+v", got)
	}
	if out := s.advance(300 * ms); len(out) > 0 {
		t.Errorf("sent %s afterwards", names(out))
	}
	s.work(2)
	if out := s.poll(); len(paths(out)) != 2 || paths(out)[0] == paths(out)[1] {
		t.Errorf("paths %v after it was restored", paths(out))
	}
}

// The psns whose bytes have gone to another path are filled by PROBEs when the path is there again, so that its
// sequence goes on.
func TestRestoredPathFillsItsSequenceWithProbes(t *testing.T) {
	s := newScript(t, nil)
	probe := s.fail()[2]
	s.ack(1, 3, 5, s.now, nil)
	s.now += 100 * us
	s.ack(0, 1, 1, time.Duration(probe.DH.Timestamp), nil)
	out := s.poll()
	if diff := cmp.Diff([]int{1}, s.psns(out)); diff != "" || out[0].CH.Type != mr0.TypeProbe || out[0].CH.Flags&mr0.FlagRTX == 0 {
		t.Errorf("sent %s; %s", names(out), diff)
	}
}

// When the peer's path got a new port, the own path that acknowledges it gets one, too: the way back may be broken.
// Little is known of the way of a path that is restored: it begins as a new one does.
func TestRestoredPathBeginsWithTheInitialWindow(t *testing.T) {
	s := newScript(t, onePath(4))
	s.work(100)
	sent := s.now
	for i := range 6 {
		s.poll()
		s.now += 100 * us
		s.ack(0, uint32(1+i), 1+i, sent, nil, func(a *mr0.ACKH) { a.ACKDelay = uint32(s.now - sent - 100*us) })
	}
	if got := s.c.Path(0).Window; got != 9 {
		t.Fatalf("window is %v, want 9", got)
	}
	out := s.advance(8 * ms) // timeouts of 1, 2 and 4 ms
	probe := out[len(out)-1]
	if probe.CH.Type != mr0.TypeProbe || !s.c.Path(0).Failed {
		t.Fatalf("sent %s", names(out))
	}
	s.ack(0, 7, 7, time.Duration(probe.DH.Timestamp), nil)
	if got := s.c.Path(0); got.Failed || got.Window != 4 {
		t.Errorf("%+v", got)
	}
}

func TestWayBackFollowsTheRepath(t *testing.T) {
	s := newScript(t, nil)
	s.writable(1024)
	s.write(0, 0, 0, 4, 4, fromPort(50001))
	before := s.one(mr0.TypeACK).Source.Port()
	s.write(1, 1, 0, 4, 4, fromPort(50002))
	if after := s.one(mr0.TypeACK).Source.Port(); after == before {
		t.Error("the ACK left from the same port")
	}
	if got := s.c.InboundPath(0); got.SourcePort != 50002 || got.CumulativePSN != 5002 {
		t.Errorf("the path is another one now: %+v", got)
	}
}

// The way back stays while something is in flight on it, and a packet that was overtaken does not bring an old port back.
func TestWayBackStays(t *testing.T) {
	s := newScript(t, nil)
	s.writable(1024)
	s.write(0, 0, 0, 4, 4, fromPort(50001))
	s.write(2, 2, 0, 4, 4, fromPort(50002))
	before := s.one(mr0.TypeACK).Source.Port()
	s.write(1, 1, 0, 4, 4, fromPort(50001)) // late
	if got := s.one(mr0.TypeACK).Source.Port(); got != before || s.c.InboundPath(0).SourcePort != 50002 {
		t.Errorf("an overtaken packet moved the way back from %d to %d", before, got)
	}
	s.work(1)
	s.one(mr0.TypeWrite)
	s.write(3, 3, 0, 4, 4, fromPort(50003))
	if got := s.one(mr0.TypeACK).Source.Port(); got != before {
		t.Errorf("the way of a packet in flight moved from %d to %d", before, got)
	}
}

func TestConnectionEndsWhenAllPathsStayFailed(t *testing.T) {
	s := newScript(t, onePath(8))
	s.work(1)
	s.advance(5*time.Second + 100*ms)
	events := s.events()
	last := events[len(events)-1]
	if last.Kind != metaroce.EventDisconnected || last.Disconnect != mr0.DisconnectReasonAllPathsFailed {
		t.Errorf("last event is %+v", last)
	}
	if done := s.completions(); len(done) != 1 || done[0].Err == nil {
		t.Errorf("completions are %+v", done)
	}
}

// With TailProbe a PROBE follows the last packet after two round trips and ack_timer; its ACK shows the gap.
func TestTailProbeShowsALostLastPacket(t *testing.T) {
	s := newScript(t, func(c *metaroce.Config, local, _ *mr0.CONN) { c.TailProbe, local.PathCount = true, 1 })
	s.work(1)
	s.poll()
	s.now += 100 * us
	s.ack(0, 1, 1, s.now-100*us, nil) // srtt 100 us, rttvar 50 us
	s.work(2)
	s.poll()
	begin := s.now
	out := s.advance(330 * us)
	if len(out) != 1 || out[0].CH.Type != mr0.TypeProbe || out[0].CH.PSN != 1003 || out[0].CH.Flags != mr0.FlagAR|mr0.FlagFirst|mr0.FlagLast {
		t.Fatalf("sent %s", names(out))
	}
	if got := times(out, begin)[0]; got != 320*us {
		t.Errorf("after %v, want srtt + 4 rttvar + ack_timer", got)
	}
	s.ack(0, 2, 2, begin+320*us, []int{3})
	if diff := cmp.Diff([]int{2}, s.psns(s.poll())); diff != "" {
		t.Error(diff)
	}
}
