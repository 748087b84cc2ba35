package metaroce_test

import (
	"math"
	"testing"
	"time"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/metaroce"
)

// receiver is an endpoint with an inbound rate of 100 Gbit/s, to which several peers send.
func receiver(t *testing.T, peers int) (*script, []*metaroce.Connection) {
	t.Helper()
	s := &script{t: t, memory: metaroce.Regions{}, now: time.Millisecond}
	config := s.config()
	config.LinkRate = 100_000
	s.start(config)
	s.writable(1 << 24)
	s.peer = mr0.CONN{SourceConnID: 0xb, PathCount: 1, PlaneCount: 1, MTU: 256, InitialPSN: 5000, StreamCount: 8, MaxWindow: 256}
	var list []*metaroce.Connection
	for i := range peers {
		local, peer := s.peer, s.peer
		local.SourceConnID, peer.SourceConnID = uint32(1+i), uint32(101+i)
		c, err := s.e.Resume(local, peer, addressB)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	return s, list
}

// offer lets peers send at rates in Mbit/s for a time, in packets of 256 bytes of payload with AR, and returns the
// last hint that each was given.
func (s *script) offer(d time.Duration, psn []int, rates ...float64) []uint32 {
	s.t.Helper()
	hints := make([]uint32, len(rates))
	next := make([]time.Duration, len(rates))
	const bits = 8 * (256 + 48 + 4 + 28)
	for end := s.now + d; s.now < end; s.now += us / 10 {
		for i, rate := range rates {
			for rate > 0 && next[i] <= s.now {
				next[i] = max(next[i], s.now-us) + time.Duration(bits*1000/rate)
				s.write(psn[i], 0, 256*uint32(psn[i]), 1<<31, 256, withFlags(mr0.FlagAR), func(p *mr0.Packet, _ *metaroce.Datagram) {
					p.CH.DestConnID = uint32(1 + i)
				})
				psn[i]++
			}
		}
		for _, x := range s.poll() {
			if x.CH.Type == mr0.TypeACK {
				hints[x.CH.DestConnID-101] = x.ACKH.RateHint
			}
		}
	}
	return hints
}

func near(t *testing.T, what string, got uint32, want, tolerance float64) {
	t.Helper()
	if math.Abs(float64(got)-want) > tolerance*want {
		t.Errorf("%s: hint is %d Mbit/s, want about %.0f", what, got, want)
	}
}

// Every ACK carries the share of the inbound rate: hint_target × link_rate, divided among the active senders.
func TestRateHintIsTheFairShare(t *testing.T) {
	s, _ := receiver(t, 4)
	psn := make([]int, 4)
	near(t, "alone", s.offer(400*us, psn, 95_000)[0], 95_000, 0.02)
	for i, hint := range s.offer(400*us, psn, 24_000, 24_000, 24_000, 24_000) {
		if i > 0 {
			near(t, "one of four", hint, 95_000/4, 0.1)
		}
	}
}

// A sender that becomes active gets its share in its very first ACK.
func TestNewSenderGetsItsShareAtOnce(t *testing.T) {
	s, _ := receiver(t, 2)
	psn := make([]int, 2)
	s.offer(300*us, psn, 95_000, 0)
	hints := s.offer(us, psn, 95_000, 50_000)
	near(t, "the new one", hints[1], 95_000/2, 0.01)
	near(t, "the old one", hints[0], 95_000/2, 0.01)
}

// One that uses less than its share frees the rest for those that would use more; one that sent nothing within
// hint_active_window frees all.
func TestModestAndSilentSendersFreeTheirShares(t *testing.T) {
	s, _ := receiver(t, 3)
	psn := make([]int, 3)
	hints := s.offer(900*us, psn, 5_000, 45_000, 45_000)
	near(t, "greedy beside a modest one", hints[1], (95_000-5_500)/2, 0.06)
	hints = s.offer(600*us, psn, 0, 47_500, 47_500)
	near(t, "after it fell silent", hints[1], 95_000/2, 0.06)
}

// A share that changed by more than hint_tolerance is announced without waiting for a packet.
func TestChangedShareIsAnnounced(t *testing.T) {
	s, _ := receiver(t, 2)
	psn := make([]int, 2)
	s.offer(300*us, psn, 47_000, 47_000)
	// The first goes on, the second falls silent, and the first one's ACKs all wait for ack_every.
	announced := uint32(0)
	for range 500 {
		s.now += us
		for _, x := range s.poll() {
			if x.CH.DestConnID == 101 && x.ACKH.Trigger == mr0.ACKTriggerWindowUpdate {
				announced = x.ACKH.RateHint
			}
		}
		if s.now%(20*us) == 0 {
			s.write(psn[0], 0, 256*uint32(psn[0]), 1<<31, 256, func(p *mr0.Packet, _ *metaroce.Datagram) {
				p.CH.DestConnID = 1
			})
			psn[0]++
		}
	}
	near(t, "announced", announced, 95_000, 0.1)
}

func TestUnknownLinkRateMeansNoLimit(t *testing.T) {
	s := newScript(t, nil)
	s.writable(256)
	s.write(0, 0, 0, 4, 4)
	if got := s.one(mr0.TypeACK); got.ACKH.RateHint != mr0.ACKHRateHintNoLimit {
		t.Errorf("%d", got.ACKH.RateHint)
	}
}

// The connection's window is capped by rate_hint × srtt, the least over its paths.
func TestHintCapsTheWindow(t *testing.T) {
	s := newScript(t, narrow(256))
	s.work(2)
	out := s.poll()
	sent := s.now
	hint := func(a *mr0.ACKH) { a.RateHint = 1000 }
	s.now += 100 * us
	s.ack(0, 1, 1, sent, nil, hint)
	s.now += 100 * us
	s.ack(1, 1, 1, sent, nil, hint)
	s.work(200)
	s.now += time.Second // no debts
	s.poll()
	capped := 1000 * 100 / 8 // bytes: Mbit/s × us / 8
	packet := len(out[0].Datagram.Payload) + 28
	if got := s.c.InFlight(); got > capped+packet {
		t.Errorf("%d bytes in flight, the cap is %d", got, capped)
	}
	s.advance(100 * us)
	if got := s.c.InFlight(); got < capped || got > capped+packet {
		t.Errorf("%d bytes in flight after a round trip, the cap is %d", got, capped)
	}
}

// Over one srtt a sender sends at most (1 + hint_tolerance) × hint, from the hint on, whatever the windows allow.
func TestSendingRateStaysWithinTheHint(t *testing.T) {
	s := newScript(t, narrow(256))
	s.work(2)
	out := s.poll()
	sent := s.now
	s.now += 400 * us
	const rate = 2000 // Mbit/s: 100,000 bytes in a round trip of 400 us
	hint := func(a *mr0.ACKH) { a.RateHint = rate }
	s.ack(0, 1, 1, sent, nil, hint)
	s.ack(1, 1, 1, sent, nil, hint)
	s.work(100_000)
	type departure struct {
		at    time.Duration
		bytes int
	}
	var log []departure
	next := [2]int{1, 1}
	number := [2]uint32{1, 1}
	var flying []emitted
	for range 4000 {
		s.now += us
		for _, x := range s.poll() {
			log = append(log, departure{s.now, len(x.Datagram.Payload) + 28})
			flying = append(flying, x)
		}
		for len(flying) > 0 && uint32(s.now)-flying[0].DH.Timestamp >= uint32(400*us) {
			path := flying[0].CH.PathID
			next[path]++
			number[path]++
			s.ack(path, number[path], next[path], time.Duration(flying[0].DH.Timestamp), nil, hint)
			flying = flying[1:]
		}
	}
	packet := float64(len(out[0].Datagram.Payload) + 28)
	limit := 1.1*rate*400/8 + packet
	sum, from, most := 0, 0, 0
	total := 0
	for _, d := range log {
		sum += d.bytes
		total += d.bytes
		for log[from].at <= d.at-400*us {
			sum -= log[from].bytes
			from++
		}
		most = max(most, sum)
	}
	if float64(most) > limit {
		t.Errorf("%d bytes within a round trip, the limit is %.0f", most, limit)
	}
	if mean := float64(total) * 8 / 4000; mean < 0.85*rate {
		t.Errorf("mean rate is %.0f Mbit/s, which makes little of a hint of %d", mean, rate)
	}
}

// ACKs that come in bunches, sooner than the round trip was, open the whole window at once: what leaves over one srtt
// stays within the hint and its tolerance all the same.
func TestBunchedACKsDoNotBreakTheHint(t *testing.T) {
	s := newScript(t, onePath(256))
	s.work(1)
	packet := len(s.one(mr0.TypeWrite).Datagram.Payload) + 28
	const rate, srtt, apart = 1000, 400 * us, 350 * us // 50,000 bytes in a round trip
	sent, number := 1, uint32(0)
	ack := func() {
		number++
		s.ack(0, number, sent, s.now-srtt, nil, func(a *mr0.ACKH) { a.RateHint = rate })
	}
	s.now += srtt
	ack()
	s.work(10_000)
	var log []time.Duration
	begin := s.now
	for s.now < begin+20*apart {
		for range s.poll() {
			log = append(log, s.now)
			sent++
		}
		s.now += us
		if (s.now-begin)%apart == 0 {
			ack()
		}
	}
	most, from := 0, 0
	for i, at := range log {
		for log[from] <= at-srtt {
			from++
		}
		most = max(most, i-from+1)
	}
	if limit := 1.1*rate*400/8 + float64(packet); float64(most*packet) > limit {
		t.Errorf("%d bytes within a round trip, the limit is %.0f", most*packet, limit)
	}
	if mean := float64(len(log)*packet) * 8 * float64(us) / float64(s.now-begin); mean < 0.95*rate {
		t.Errorf("mean rate is %.0f Mbit/s of %d", mean, rate)
	}
}

// A hint counts from the moment it comes: within two round trips the rate is the new one.
func TestSenderComesWithinTheHintInTwoRoundTrips(t *testing.T) {
	s := newScript(t, nil)
	s.work(100_000)
	s.poll() // two windows of 32
	sent := s.now
	s.now += 100 * us
	for i := range 2 {
		s.ack(uint8(i), 1, 32, sent, nil, func(a *mr0.ACKH) { a.RateHint = 1000 })
	}
	bytes := 0
	for range 200 {
		for _, x := range s.poll() {
			bytes += len(x.Datagram.Payload) + 28
		}
		s.now += us
	}
	if limit := 1.1*1000*200/8 + 400; float64(bytes) > limit {
		t.Errorf("%d bytes in the two round trips after the hint, the limit is %.0f", bytes, limit)
	}
}
