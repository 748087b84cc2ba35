package metaroce

import (
	"time"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// expirePath does what is due on a path.
func (c *Connection) expirePath(now time.Duration, p *path) {
	if p.refusedAt <= now {
		c.retryRefused(now, p)
	}
	if p.rtoAt <= now {
		c.timeout(now, p)
	}
	if p.probeAt <= now {
		p.probeAt = Never
		p.probeDue = true
		if p.probeSent != Never {
			c.repath(p) // the new way is broken, too
		}
	}
	if p.tailAt <= now {
		p.tailAt = Never
		if p.inflight > 0 && p.span() < c.maxSpan {
			c.tailPaths.add(p.id)
		}
	}
	c.arm(min(p.refusedAt, p.rtoAt, p.probeAt, p.tailAt))
}

// watchTail sets the time after which a path with nothing behind its last packet sends a PROBE: two round trips, of the
// path or if unknown of the best, and the receiver's timer, doubling.
func (c *Connection) watchTail(now time.Duration, p *path) {
	if !c.endpoint.config.TailProbe || p.failed || c.minSRTT == 0 {
		return
	}
	p.tailAt = Never
	if p.inflight > 0 && p.tails < 8 {
		wait := 3 * c.minSRTT
		if p.measured {
			wait = max(2*p.srtt, p.srtt+4*p.rttvar)
		}
		p.tailAt = now + (wait+c.endpoint.config.ACKTimer)<<p.tails
		c.arm(p.tailAt)
	}
}

// probeTail sends a PROBE behind the last packet of a path: its ACK tells what of it was lost.
func (c *Connection) probeTail(now time.Duration, p *path, scratch []byte) (Datagram, bool) {
	p.tails++
	psn := p.next
	*p.append() = slot{}
	return c.transmit(now, p, psn, mr0.FlagAR, scratch)
}

// retryRefused sends again what a receiver that was not ready has refused, when it asked to wait until now.
func (c *Connection) retryRefused(now time.Duration, p *path) {
	p.refusedAt = Never
	if p.failed || p.refused == 0 {
		return
	}
	for psn := p.una; psn != p.next; psn++ {
		s := p.slot(psn)
		switch {
		case s.state != slotRefused:
		case s.at <= now:
			c.lose(p, s)
		default:
			p.refusedAt = min(p.refusedAt, s.at)
		}
	}
}

// timeout is the retransmission timer of a path: the oldest packet in flight is sent again, and the time doubles. What
// it acknowledges tells what else was lost.
func (c *Connection) timeout(now time.Duration, p *path) {
	p.rtoAt = Never
	if p.inflight == 0 {
		return
	}
	c.statistics.Timeouts++
	p.timeouts++
	if p.timeouts >= c.endpoint.config.PathFailedAfter {
		c.fail(now, p)
		return
	}
	psn := p.una
	for p.slot(psn).state != slotSent {
		psn++
	}
	c.lose(p, p.slot(psn))
	p.backoff++
	p.rtoAt = now + p.rto(&c.endpoint.config.Parameters)
}

// fail gives up a path: its bytes go out on the others, it takes a new source port and sends PROBEs. Its outstanding
// psns stay: PROBEs take their places.
func (c *Connection) fail(now time.Duration, p *path) {
	p.failed, p.measured = true, false
	p.rtoAt, p.refusedAt, p.tailAt = Never, Never, Never
	c.tailPaths.remove(p.id)
	p.probeAt, p.probeSent, p.probeDue = Never, Never, true
	for psn := p.una; psn != p.next; psn++ {
		s := p.slot(psn)
		if s.state == slotAcked {
			continue
		}
		c.leave(p, s)
		s.state = slotLost
		p.lost++
		if s.message != nil {
			c.moved.push(segment{message: s.message, packet: s.packet})
			s.message = nil
		}
	}
	c.lostPaths.remove(p.id)
	c.statistics.PathFailures++
	if c.failed++; c.failed == len(c.paths) {
		c.failedAt = now
		c.arm(now + c.endpoint.config.ConnectionTimeout)
	}
	c.updateSRTT(now)
	c.endpoint.report(Event{Kind: EventPathFailed, Connection: c, Path: p.id})
	c.repath(p)
}

// restore takes a failed path back. Little is known of its new way.
func (c *Connection) restore(now time.Duration, p *path) {
	p.failed = false
	p.probeAt, p.probeSent, p.probeDue = Never, Never, false
	p.backoff, p.timeouts = 0, 0
	p.window = min(p.window, float64(c.endpoint.config.InitialWindow))
	p.roundStart, p.cutUntil, p.roundMarked = now, now, false
	c.failed--
	c.failedAt = Never
	if p.lost > 0 {
		c.lostPaths.add(p.id)
	}
	c.endpoint.report(Event{Kind: EventPathRestored, Connection: c, Path: p.id})
}

// repath gives a path a new source port.
func (c *Connection) repath(p *path) {
	e := c.endpoint
	own := e.config.Planes[p.plane]
	previous := p.sourcePort
	p.sourcePort = e.config.SourcePorts.Acquire(own, previous)
	e.config.SourcePorts.Release(own, previous)
	c.statistics.Repaths++
	e.report(Event{Kind: EventRepath, Connection: c, Path: p.id})
}
