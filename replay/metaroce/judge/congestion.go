package judge

import (
	"math"

	"github.com/rocelens/rocelens/dissector/metaroce"
)

// congestion bounds the window of a path from above, in rounds of three round trips: one in which ce_count grew has cut
// it once at least by the end of the next, one in which it did not has added to it.
type congestion struct {
	begun   bool
	end     int64   // of the round
	bound   float64 // packets, in this round
	next    float64 // in the next
	grew    int     // ACKs of this round that tell of marks
	cuts    int
	beyond  bool // more were in flight
	packet  uint64
	started uint64

	// Timestamps of every eighth psn, or of the next that was seen: what left less than a round trip ago is in flight,
	// wherever the capture is made.
	stamps [32]uint32
	psns   [32]uint32
	oldest uint32 // block of eight
}

// recent is how many packets of the path have left within the least round trip, the one of the event included.
func (c *Connection) recent(d *lane, p *path, e *event) int32 {
	g := &p.congested
	psn, stamp := e.m.CH.PSN, e.m.DH.Timestamp
	block := psn >> 3
	if i := block & 31; g.psns[i]>>3 != block {
		g.psns[i], g.stamps[i] = psn, stamp
	}
	least := 8 * (d.toReceiver.least + c.toSenderAtLeast(d)) / 10
	if block-g.oldest >= 32 {
		g.oldest = block - 31
	}
	for g.oldest != block {
		i := g.oldest & 31
		if g.psns[i]>>3 == g.oldest && int64(int32(stamp-g.stamps[i])) < least {
			return int32(psn - g.psns[i] + 1)
		}
		g.oldest++
	}
	return 1
}

// congestionACK notes whether ce_count has grown.
func (c *Connection) congestionACK(p *path, before *answer, e *event) {
	if p.congested.grew > 0 || metaroce.Distance(before.header.CECount, e.m.ACKH.CECount) > 0 {
		p.congested.grew++
	}
}

// congestionAt judges how many packets are in flight when a new one leaves.
func (c *Connection) congestionAt(d *lane, p *path, e *event, flying int32) {
	g := &p.congested
	if !e.timed || !g.begun && g.grew == 0 {
		return
	}
	roundTrip, ok := c.roundTripAtMost(d)
	if !ok {
		return
	}
	round := 3 * roundTrip
	flying = max(flying, c.recent(d, p, e))
	if !g.begun {
		window := float64(c.window(d))
		*g = congestion{begun: true, oldest: e.m.CH.PSN >> 3, end: e.time + round, bound: window, next: window, grew: g.grew, started: e.number}
	}
	if e.time >= g.end {
		c.endRound(d, p, e, round)
	}
	if float64(flying) > g.bound+2 && !g.beyond {
		g.beyond, g.packet = true, e.number
	}
}

func (c *Connection) endRound(d *lane, p *path, e *event, round int64) {
	g := &p.congested
	window := float64(c.window(d))
	if g.cuts >= 2 && g.bound < window {
		c.weigh(d, clueCEIgnored, int(p.id), e, g.beyond, 0, g.started, g.packet)
	}
	least := max(d.toReceiver.least+c.toSenderAtLeast(d), 1000)
	gain := float64(c.parameters.AdditiveIncrease) * math.Ceil(float64(round+e.time-g.end)/float64(least)+1)
	g.bound = g.next
	if g.grew >= 2 {
		g.cuts++
		g.next = max(float64(c.parameters.MinWindow), g.next*c.parameters.MultiplicativeDecrease)
	}
	g.next = min(window, g.next+gain)
	g.grew, g.beyond, g.started = 0, false, e.number
	g.end = e.time + round
}
