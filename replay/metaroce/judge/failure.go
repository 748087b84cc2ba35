package judge

import (
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/finding"
)

// probing is the latest PROBE at the place of a packet.
type probing struct {
	begun  bool
	psn    uint32
	stamp  uint32
	time   int64
	acks   uint64
	number uint64
}

// probed takes a PROBE with RTX: at the place of a packet whose path has failed, or of one whose bytes need not be
// sent any more.
func (c *Connection) probed(d *lane, p *path, s *slot, e *event) {
	if s.state&seen != 0 && s.kind != mr0.TypeProbe && s.state&asProbe == 0 && !p.probed && d.naks == 0 && s.state&founded != 0 &&
		p.find(p.latestPSN) != nil {
		c.weigh(d, clueProbePort, int(p.id), e, s.port == e.packet.UDP.SourcePort, 0, s.last, e.number)
	}
	if s.kind != mr0.TypeProbe && s.state&seen != 0 {
		p.probed = true
	}
	b := &p.probe
	if b.begun && b.psn == s.psn && b.acks == p.ack.seen && e.timed && p.probed {
		if apart, ok := elapsed(b.stamp, e.m.DH.Timestamp, b.time, e.time); ok && apart > 0 {
			c.weigh(d, clueProbeInterval, int(p.id), e, 10*apart < 9*int64(c.parameters.RTOMax), 0, b.number, e.number)
		}
	}
	*b = probing{begun: true, psn: s.psn, stamp: e.m.DH.Timestamp, time: e.time, acks: p.ack.seen, number: e.number}
}

// movedFrom tells whether bytes under a new psn were sent on another path before, and notes that this one must have
// failed.
func (c *Connection) movedFrom(d *lane, p *path, e *event) bool {
	m := e.m
	d.patience = min(d.patience+512, 128*mostSlots)
	for _, q := range d.paths {
		if q == nil || q == p || !q.begun {
			continue
		}
		if d.patience -= len(q.slots); d.patience < 0 {
			return true // nobody could look for all that a sender that repeats everything sends
		}
		for i := range q.slots {
			s := &q.slots[i]
			if s.state&seen == 0 || s.msn != m.DH.MSN || s.offset != m.DH.MessageOffset || s.stream != m.DH.StreamID || s.kind != m.CH.Type {
				continue
			}
			// When two paths fail one after the other, what was sent later may be seen first.
			if before, ok := elapsed(s.lastTS, m.DH.Timestamp, s.time, e.time); e.timed && ok && before > 0 && s.port == q.port {
				q.moved, q.movedTS, q.movedNumber, q.movedPort, q.movedTime = true, m.DH.Timestamp, e.number, s.port, e.time
			}
			return true
		}
	}
	return false
}

// afterMove judges a first transmission on a path whose bytes went out on another one: it has not failed when it goes
// on with its source port.
func (c *Connection) afterMove(d *lane, p *path, e *event) {
	if !p.moved || !e.timed {
		return
	}
	later, ok := elapsed(p.movedTS, e.m.DH.Timestamp, p.movedTime, e.time)
	if ok && later <= 0 {
		return
	}
	p.moved = false
	if !ok || e.m.CH.Type == mr0.TypeProbe || e.packet.UDP.SourcePort != p.movedPort {
		return
	}
	c.diverges(finding.MetaRoCEMovedWithoutFailure, d, int(p.id), e, p.movedNumber, "retransmissions on the same path", "bytes of the path on another one",
		"Bytes of path %d were sent again on another path, and %d ns later it goes on with source port %d as before.", p.id, later, p.movedPort)
}
