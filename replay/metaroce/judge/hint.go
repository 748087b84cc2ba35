package judge

import (
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/finding"
)

// told is how many hints of a receiver are remembered.
const told = 32

// rate is what a sender is granted, and what it makes of it.
type rate struct {
	recent [told]uint32
	hints  uint64
	last   uint32

	begun    bool
	start    uint32 // timestamp at which the span begins
	time     int64
	number   uint64
	bytes    uint64
	most     uint32 // highest hint that may hold in the span
	previous uint32 // and in the one before
	hinted   uint64 // hints before the span
	settled  int    // spans in which hints came, one after the other
}

// hint takes the grant of an ACK.
func (c *Connection) hint(d, r *lane, e *event) {
	a := &e.m.ACKH
	b := &d.rate
	if r.hasConn && r.conn.LinkRate > 0 {
		if limit := float64(r.conn.LinkRate) * c.parameters.HintTarget; float64(a.RateHint) > limit+1 {
			c.diverges(finding.MetaRoCEHintRange, r, int(e.m.CH.PathID), e, r.setup.number, "at most link_rate × hint_target", "more",
				"The ACK grants %d Mbit/s; the receiver shares out %.0f.", a.RateHint, limit)
		} else {
			c.conforms(finding.MetaRoCEHintRange)
		}
	}
	if a.Trigger == mr0.ACKTriggerWindowUpdate && b.hints >= told {
		same := true
		for _, before := range b.recent {
			change := float64(a.RateHint) - float64(before)
			same = same && max(change, -change) <= 0.9*c.parameters.HintTolerance*float64(before)
		}
		c.weigh(d, clueHintAnnounced, int(e.m.CH.PathID), e, same, 0, e.number)
	}
	b.recent[b.hints%told] = a.RateHint
	b.hints++
	b.last = a.RateHint
	b.most = max(b.most, a.RateHint)
}

// pace counts what a sender sends, by its own clock, over spans of many round trips.
func (c *Connection) pace(d *lane, e *event, again bool) {
	b := &d.rate
	if b.hints == 0 || !e.timed || again {
		return
	}
	roundTrip, ok := c.roundTripAtMost(d)
	if !ok {
		return
	}
	span := min(max(8*roundTrip, 200_000), 50_000_000)
	after, near := elapsed(b.start, e.m.DH.Timestamp, b.time, e.time)
	if !b.begun || !near || after > 4*span {
		*b = rate{
			recent: b.recent, hints: b.hints, last: b.last, begun: true, start: e.m.DH.Timestamp, time: e.time, number: e.number,
			most: b.last, hinted: b.hints,
		}
		return
	}
	if after < span {
		b.bytes += uint64(e.packet.Network.TotalLength)
		return
	}
	if b.hints == b.hinted {
		b.settled = 0
	} else {
		b.settled++
	}
	if limit := max(b.most, b.previous); b.settled > 2 && limit != mr0.ACKHRateHintNoLimit {
		sent := float64(b.bytes) * 8000 / float64(after)
		c.weigh(d, clueHintExceeded, -1, e, sent > 1.25*(1+c.parameters.HintTolerance)*float64(limit), 0, b.number, e.number)
	}
	b.previous, b.most, b.hinted = b.most, b.last, b.hints
	b.start, b.time, b.number, b.bytes = e.m.DH.Timestamp, e.time, e.number, uint64(e.packet.Network.TotalLength)
}
