package metaroce_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/metaroce"
)

// work posts a WRITE of so many full packets.
func (s *script) work(packets int) {
	s.t.Helper()
	s.post(metaroce.WorkRequest{ID: uint64(packets), Data: make([]byte, 256*packets), RKey: 1})
}

func paths(out []emitted) []uint8 {
	var list []uint8
	for _, x := range out {
		list = append(list, x.CH.PathID)
	}
	return list
}

// psns counts from each path's first.
func (s *script) psns(out []emitted) []int {
	var list []int
	for _, x := range out {
		list = append(list, int(x.CH.PSN-mr0.PathInitialPSN(s.local.InitialPSN, int(x.CH.PathID))))
	}
	return list
}

func narrow(window int) func(c *metaroce.Config, local, peer *mr0.CONN) {
	return func(c *metaroce.Config, _, _ *mr0.CONN) { c.InitialWindow = window }
}

func onePath(window int) func(c *metaroce.Config, local, peer *mr0.CONN) {
	return func(c *metaroce.Config, local, _ *mr0.CONN) { c.InitialWindow, local.PathCount = window, 1 }
}

// The sender sprays packet by packet: lowest inflight/window first, ties by the lower srtt, then by the lower path id.
func TestSprayTakesTheEmptiestThenTheFastestPath(t *testing.T) {
	s := newScript(t, func(c *metaroce.Config, local, _ *mr0.CONN) { c.InitialWindow, local.PathCount = 4, 3 })
	s.work(3)
	if diff := cmp.Diff([]uint8{0, 1, 2}, paths(s.poll())); diff != "" {
		t.Errorf("all equal, so by path id: %s", diff)
	}
	sent := s.now
	s.now += 10 * us
	s.ack(2, 1, 1, sent, nil)
	s.now += 10 * us
	s.ack(1, 1, 1, sent, nil)
	s.now += 10 * us
	s.ack(0, 1, 1, sent, nil)
	s.work(3)
	if diff := cmp.Diff([]uint8{2, 1, 0}, paths(s.poll())); diff != "" {
		t.Errorf("all empty, so by srtt: %s", diff)
	}
	sent = s.now
	s.now += 40 * us
	s.ack(1, 2, 2, sent, nil) // path 1 is empty and now slower than both
	s.work(1)
	if diff := cmp.Diff([]uint8{1}, paths(s.poll())); diff != "" {
		t.Errorf("the emptiest: %s", diff)
	}
	s.ack(0, 2, 2, sent, nil, func(a *mr0.ACKH) { a.CECount = 1 }) // halves path 0's window
	s.ack(2, 2, 2, sent, nil)
	s.ack(1, 3, 3, sent, nil)
	s.work(7)
	got := map[uint8]int{}
	for _, path := range paths(s.poll()) {
		got[path]++
	}
	if got[0] >= got[1] || got[0] >= got[2] {
		t.Errorf("path 0 with half a window got as much as the others: %v", got)
	}
}

func TestWindowClosesAndOpensWithACKs(t *testing.T) {
	s := newScript(t, narrow(3))
	s.work(100)
	if out := s.poll(); len(out) != 6 {
		t.Fatalf("%d packets in two windows of 3", len(out))
	}
	s.ack(1, 1, 2, 0, nil)
	if diff := cmp.Diff([]uint8{1, 1}, paths(s.poll())[:2]); diff != "" {
		t.Error(diff)
	}
}

// At most max_window packets are in flight a path, the smaller of both ends' and never more than 256.
func TestAtMostMaxWindowInFlight(t *testing.T) {
	for _, x := range []struct {
		initial int
		peer    uint16
		want    int
	}{{1000, 256, 256}, {1000, 20, 20}} {
		s := newScript(t, func(c *metaroce.Config, local, peer *mr0.CONN) {
			c.InitialWindow, local.PathCount, peer.MaxWindow = x.initial, 1, x.peer
		})
		s.work(600)
		if out := s.poll(); len(out) != x.want {
			t.Errorf("%d packets in flight, want %d", len(out), x.want)
		}
		// With the first one missing nothing new is let out: the peer could not track it.
		beyond := make([]int, 0, x.want)
		for i := 1; i < x.want; i++ {
			beyond = append(beyond, i)
		}
		s.ack(0, 1, 0, s.now, beyond)
		if diff := cmp.Diff([]int{0}, s.psns(s.poll())); diff != "" {
			t.Error(diff)
		}
	}
}

// srtt and rttvar are those of RFC 6298 on now - echo_timestamp - ack_delay.
func TestRoundTripIsMeasuredAsRFC6298Says(t *testing.T) {
	s := newScript(t, onePath(8))
	s.work(3)
	s.poll()
	sent := s.now
	s.now += 100 * us
	s.ack(0, 1, 1, sent, nil, func(a *mr0.ACKH) { a.ACKDelay = uint32(20 * us) })
	if got := s.c.Path(0); got.SRTT != 80*us || got.RTTVar != 40*us {
		t.Errorf("first sample of 80 us: %v %v", got.SRTT, got.RTTVar)
	}
	s.now += 60 * us
	s.ack(0, 2, 2, sent, nil)
	if got := s.c.Path(0); got.SRTT != 90*us || got.RTTVar != 50*us {
		t.Errorf("second sample of 160 us: %v %v, want 90 us and 50 us", got.SRTT, got.RTTVar)
	}
	if got := s.c.Path(0).RTO; got != time.Millisecond {
		t.Errorf("RTO is %v, want rto_min", got)
	}
}

func TestMarkHalvesTheWindowOnceARoundTrip(t *testing.T) {
	s := newScript(t, onePath(32))
	s.work(200)
	s.poll()
	sent := s.now
	s.now += 100 * us
	ce := func(n uint32) func(a *mr0.ACKH) { return func(a *mr0.ACKH) { a.CECount = n } }
	s.ack(0, 1, 1, sent, nil, ce(1))
	if got := s.c.Path(0).Window; got != 16 {
		t.Errorf("window is %v after a mark, want 16", got)
	}
	s.now += 50 * us
	s.ack(0, 2, 2, sent+50*us, nil, ce(2))
	if got := s.c.Path(0).Window; got != 16 {
		t.Errorf("window is %v after a second mark in the same round trip, want 16", got)
	}
	s.now += 60 * us
	s.ack(0, 3, 3, sent+110*us, nil, ce(3))
	if got := s.c.Path(0).Window; got != 8 {
		t.Errorf("window is %v after a mark in the next round trip, want 8", got)
	}
	for i := range 10 {
		s.now += 200 * us
		s.ack(0, uint32(4+i), 4+i, s.now-100*us, nil, ce(uint32(4+i)))
	}
	if got := s.c.Path(0).Window; got != 1 {
		t.Errorf("window is %v after marks in ten round trips, want min_window", got)
	}
}

func TestRoundTripWithoutMarkAddsToTheWindow(t *testing.T) {
	s := newScript(t, onePath(32))
	s.work(200)
	s.poll()
	sent := s.now
	roundTrip := func(a *mr0.ACKH) { a.ACKDelay = uint32(s.now - sent - 100*us) }
	s.now += 50 * us
	for i := range 6 { // two ACKs a round trip
		s.now += 50 * us
		s.ack(0, uint32(1+i), 1+i, sent, nil, roundTrip)
	}
	if got := s.c.Path(0).Window; got != 34 {
		t.Errorf("window is %v after 250 us of ACKs at a round trip of 100 us, want 34", got)
	}
	s.now += 50 * us
	s.ack(0, 7, 7, sent, nil, roundTrip, func(a *mr0.ACKH) { a.CECount = 1 })
	if got := s.c.Path(0).Window; got != 17 {
		t.Errorf("window is %v after a mark, want 17", got)
	}
}

// However many round trips add to it, a window is never larger than what the peer can track, so that a cut is felt.
func TestWindowDoesNotGrowBeyondMaxWindow(t *testing.T) {
	s := newScript(t, func(c *metaroce.Config, local, peer *mr0.CONN) {
		c.InitialWindow, local.PathCount, peer.MaxWindow = 18, 1, 20
	})
	s.work(100)
	sent := s.now
	for i := range 10 {
		s.poll()
		s.now += 100 * us
		s.ack(0, uint32(1+i), 1+i, sent, nil, func(a *mr0.ACKH) { a.ACKDelay = uint32(s.now - sent - 100*us) })
	}
	if got := s.c.Path(0).Window; got != 20 {
		t.Errorf("window is %v, want max_window, 20", got)
	}
}

// A cut begins a round trip: the one behind it adds again when nothing is marked in it, and does not when a mark comes
// too early to cut.
func TestRoundTripBehindACutAddsAgain(t *testing.T) {
	s := newScript(t, onePath(32))
	s.work(200)
	s.poll()
	roundTrip := func(a *mr0.ACKH) { a.ACKDelay = uint32(s.now - time.Duration(a.EchoTimestamp) - 100*us) }
	for i, step := range []struct {
		later  time.Duration
		marks  uint32 // ce_count
		window float64
	}{
		{100 * us, 1, 16},
		{50 * us, 1, 16}, // within the round trip
		{50 * us, 1, 17}, // behind it
		{100 * us, 2, 8.5},
		{60 * us, 3, 8.5}, // may not cut yet, but is a mark
		{40 * us, 3, 8.5},
		{100 * us, 3, 9.5},
	} {
		s.now += step.later
		s.ack(0, uint32(1+i), 1+i, time.Millisecond, nil, roundTrip, func(a *mr0.ACKH) { a.CECount = step.marks })
		if got := s.c.Path(0).Window; got != step.window {
			t.Errorf("step %d: window is %v, want %v", i, got, step.window)
		}
	}
}

// ACKs are asked for four times for what is in flight on a path, and when nothing follows.
func TestWhenACKsAreAskedFor(t *testing.T) {
	for _, x := range []struct {
		window, packets int
		want            string
	}{
		{8, 100, "aaaa-a-a"},    // a quarter of those in flight since the last
		{32, 10, "aaaa-a-a-a"},  // the tenth because nothing follows
		{32, 11, "aaaa-a-a--a"}, // the tenth is not asked for then
	} {
		s := newScript(t, onePath(x.window))
		s.work(x.packets)
		asked := []byte{}
		for _, p := range s.poll() {
			if p.CH.Flags&mr0.FlagAR != 0 {
				asked = append(asked, 'a')
			} else {
				asked = append(asked, '-')
			}
		}
		if got := string(asked); got != x.want {
			t.Errorf("%d packets in a window of %d: %s, want %s", x.packets, x.window, got, x.want)
		}
	}
}

func TestLossFoundByAGapCutsTheWindow(t *testing.T) {
	s := newScript(t, onePath(32))
	s.work(32)
	s.poll()
	sent := s.now
	s.now += 100 * us
	s.ack(0, 1, 1, sent, []int{3, 5, 7})
	if got := s.c.Path(0).Window; got != 16 {
		t.Errorf("window is %v, want 16", got)
	}
}

// A gap in the SACK is loss: exactly the missing packets go out again, on their path, with their psn, RTX and a new
// timestamp.
func TestGapIsRetransmittedExactlyAtOnce(t *testing.T) {
	s := newScript(t, onePath(16))
	s.work(8)
	first := s.poll()
	sent := s.now
	s.now += 100 * us
	s.ack(0, 1, 1, sent, []int{3, 4, 6})
	out := s.poll()
	if diff := cmp.Diff([]int{1, 2, 5}, s.psns(out)); diff != "" {
		t.Error(diff)
	}
	for _, x := range out {
		before := first[x.CH.PSN-1000]
		dh := before.DH
		dh.Timestamp = uint32(s.now)
		if x.CH.Flags&mr0.FlagRTX == 0 || x.DH != dh || x.WETH != before.WETH || x.CH.PathID != 0 || x.Source != before.Source {
			t.Errorf("psn %d: %s %+v, was %+v", x.CH.PSN, x.CH.Flags, x.DH, before.DH)
		}
	}
	s.none()
}

// It is not declared lost again before an ACK echoes a timestamp later than the retransmission's.
func TestRetransmissionIsLostAgainOnlyByALaterEcho(t *testing.T) {
	s := newScript(t, onePath(16))
	s.work(6)
	s.poll()
	sent := s.now
	s.now += 100 * us
	s.ack(0, 1, 0, sent, []int{1})
	if diff := cmp.Diff([]int{0}, s.psns(s.poll())); diff != "" {
		t.Fatal(diff)
	}
	again := s.now
	s.now += 50 * us
	s.ack(0, 2, 0, sent, []int{1, 2, 3, 4})
	s.none()
	s.ack(0, 3, 0, again, []int{1, 2, 3, 4, 5})
	s.none()
	s.work(1)
	s.poll()
	later := s.now
	s.now += 50 * us
	s.ack(0, 4, 0, later, []int{1, 2, 3, 4, 5, 6})
	if diff := cmp.Diff([]int{0}, s.psns(s.poll())); diff != "" {
		t.Errorf("a later packet arrived: %s", diff)
	}
}

// What was sent before a packet that has arrived is lost, gap or not: paths are ordered. So the tail behind a
// retransmission comes at once, too.
func TestTailIsFoundLostByTheEchoOfARetransmission(t *testing.T) {
	s := newScript(t, onePath(16))
	s.work(4)
	s.poll()
	out := s.advance(10 * time.Millisecond) // rto_initial: nothing was measured
	if diff := cmp.Diff([]int{0}, s.psns(out)); diff != "" {
		t.Fatal(diff)
	}
	s.now += 50 * us
	s.ack(0, 1, 1, s.now-50*us, nil)
	if diff := cmp.Diff([]int{1, 2, 3}, s.psns(s.poll())); diff != "" {
		t.Error(diff)
	}
}

// An acknowledged psn is never sent again, even when a late ACK does not cover it.
func TestAcknowledgedOnceIsAcknowledgedForEver(t *testing.T) {
	s := newScript(t, onePath(16))
	s.work(6)
	s.poll()
	sent := s.now
	s.now += 100 * us
	s.ack(0, 2, 0, sent, []int{1, 2, 3})
	if diff := cmp.Diff([]int{0}, s.psns(s.poll())); diff != "" {
		t.Fatal(diff)
	}
	s.now += 10 * us
	if got := s.ack(0, 1, 0, sent, []int{1, 3, 5}); got != metaroce.VerdictLate {
		t.Errorf("an ACK with a lower number: %s", got)
	}
	s.none() // 4 will show as a gap in the next ACK in order
	s.ack(0, 3, 0, sent, []int{1, 2, 3, 5})
	if diff := cmp.Diff([]int{4}, s.psns(s.poll())); diff != "" {
		t.Error(diff)
	}
	if got := s.c.Path(0); got.Unacked != 1000 || got.InFlight != 2 {
		t.Errorf("%+v", got)
	}
}

// ACKs for what was never sent are not believed.
func TestACKOfTheUnsentIsInvalid(t *testing.T) {
	s := newScript(t, onePath(16))
	s.work(2)
	s.poll()
	for _, x := range []struct {
		cumulative int
		beyond     []int
	}{{3, nil}, {0, []int{2}}, {-5, []int{200}}} {
		if got := s.ack(0, 9, x.cumulative, s.now, x.beyond); got != metaroce.VerdictInvalid {
			t.Errorf("%+v: %s", x, got)
		}
	}
	if got := s.ack(7, 9, 0, s.now, nil); got != metaroce.VerdictInvalid {
		t.Errorf("path 7: %s", got)
	}
	if got := s.c.Path(0); got.InFlight != 2 {
		t.Errorf("%+v", got)
	}
}
