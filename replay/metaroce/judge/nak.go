package judge

import (
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/finding"
)

// refuse takes a NAK of r for data of d.
func (c *Connection) refuse(d, r *lane, e *event) {
	h := &e.m.NAKH
	d.naks++
	if !c.inRange(d, r, e) {
		return
	}
	p := d.path(e.m.CH.PathID)
	if p == nil {
		return
	}
	s := p.find(h.RefusedPSN)
	if s == nil || s.state&seen == 0 || s.kind == mr0.TypeProbe {
		d.refusedForGood(h.Reason, e)
		return
	}
	if s.stream != h.StreamID || s.msn != h.MSN {
		c.diverges(finding.MetaRoCENAKMatch, r, int(p.id), e, s.last, "stream and msn of the packet that is refused", "others",
			"The NAK refuses psn %d of path %d as message %d of stream %d; it bore message %d of stream %d.",
			h.RefusedPSN, p.id, h.MSN, h.StreamID, s.msn, s.stream)
		s.refusedSomehow()
		return
	}
	c.conforms(finding.MetaRoCENAKMatch)
	if !fits(h.Reason, s.kind) || h.Reason == mr0.NAKReasonStreamUnknown && r.hasConn && h.StreamID < r.conn.StreamCount {
		c.diverges(finding.MetaRoCENAKReason, r, int(p.id), e, s.last, "a reason that fits", h.Reason.String(),
			"The NAK refuses a %s of stream %d for %s.", s.kind, s.stream, h.Reason)
		s.refusedSomehow()
		return
	}
	c.conforms(finding.MetaRoCENAKReason)
	d.refusedForGood(h.Reason, e)
	if h.Reason == mr0.NAKReasonReceiverNotReady {
		s.state |= refused | cause
		// Copies of a packet are refused one by one; a sender that waits takes no notice of the later NAKs.
		if s.retryAt == 0 && e.timed {
			s.retryAt = e.time + int64(h.RetryAfter)
		}
	}
}

// refusedSomehow is for a NAK that makes no sense: whatever the sender makes of it, the fault is not its own.
func (s *slot) refusedSomehow() {
	s.state |= refused | cause
	s.retryAt = 0
}

// refusedForGood notes a NAK that ends the connection.
func (d *lane) refusedForGood(r mr0.NAKReason, e *event) {
	switch r {
	case mr0.NAKReasonRemoteAccessError, mr0.NAKReasonInvalidRequest, mr0.NAKReasonRemoteOperationError:
		if d.fatalAt == 0 && e.timed && d.left.at == 0 {
			d.fatalAt, d.fatalNumber = e.time, e.number
		}
	default:
	}
}

// fits tells whether a packet of that type can be refused for that reason.
func fits(r mr0.NAKReason, t mr0.Type) bool {
	switch r {
	case mr0.NAKReasonReceiverNotReady:
		return t == mr0.TypeSend
	case mr0.NAKReasonRemoteAccessError:
		return t == mr0.TypeWrite || t == mr0.TypeReadReq || t == mr0.TypeAtomicReq
	case mr0.NAKReasonRemoteOperationError:
		return t == mr0.TypeReadReq || t == mr0.TypeAtomicReq
	case mr0.NAKReasonStreamUnknown:
		return t != mr0.TypeReadResp && t != mr0.TypeAtomicResp
	case mr0.NAKReasonInvalidRequest:
	}
	return true
}

// retried judges whether a refused packet comes again as late as it should, and tells whether it was refused. Only the first
// time is judged: once two copies are under way, each with its NAK, a copy that follows a NAK may have left before it came.
func (c *Connection) retried(d *lane, p *path, s *slot, e *event) bool {
	if s.state&refused == 0 {
		return false
	}
	first := s.state&retriedOnce == 0
	s.state |= retriedOnce
	if first && s.retryAt != 0 && e.timed && c.beforeTimer(p, s, e) {
		c.weigh(d, clueRetryEarly, int(p.id), e, e.time < s.retryAt, 0, s.last, e.number)
	}
	return true
}

// fatal judges new packets behind a NAK that ends the connection.
func (c *Connection) fatal(d *lane, e *event) {
	if d.fatalAt == 0 || !e.timed {
		return
	}
	patience, _ := c.roundTripAtMost(d)
	if e.time-d.fatalAt > patience+int64(c.parameters.RTOMin) {
		c.weigh(d, clueAfterFatalNAK, int(e.m.CH.PathID), e, true, 0, d.fatalNumber, e.number)
		d.fatalAt = 0
	}
}
