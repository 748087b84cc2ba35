package metaroce

import (
	"time"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// nak is a refusal to be sent.
type nak struct {
	path   uint8
	header mr0.NAKH
}

// refuse answers a packet by a NAK. Its psn counts as missing, so that a lost NAK is repeated when the packet is.
func (c *Connection) refuse(in *mr0.Packet, reason mr0.NAKReason) {
	if c.naks.len() >= maxNAKs {
		return
	}
	h := mr0.NAKH{Reason: reason, StreamID: in.DH.StreamID, MSN: in.DH.MSN, RefusedPSN: in.CH.PSN}
	if reason == mr0.NAKReasonReceiverNotReady {
		h.RetryAfter = uint32(min(c.endpoint.config.RetryAfter, 1<<32-1))
	}
	c.naks.push(nak{path: in.CH.PathID, header: h})
}

func (c *Connection) sendNAK(scratch []byte) Datagram {
	e := c.endpoint
	n := c.naks.pop()
	own := &c.paths[int(n.path)%len(c.paths)]
	source, destination := c.addresses(own)
	e.out.CH = mr0.CH{
		Type: mr0.TypeNAK, DestConnID: c.peer.SourceConnID, PathID: n.path, PlaneID: own.plane,
		PartitionKey: e.config.PartitionKey,
	}
	e.out.NAKH = n.header
	c.statistics.NAKsSent++
	return e.datagram(scratch, nil, source, destination, own.plane)
}

// handleNAK takes a NAK for a packet of an own path.
func (c *Connection) handleNAK(now time.Duration, in *mr0.Packet) Verdict {
	h := &in.NAKH
	if int(in.CH.PathID) >= len(c.paths) {
		return VerdictInvalid
	}
	p := &c.paths[in.CH.PathID]
	if !mr0.PSNBefore(h.RefusedPSN, p.next) {
		return VerdictInvalid
	}
	var s *slot
	var m *message
	if !mr0.PSNBefore(h.RefusedPSN, p.una) {
		s = p.slot(h.RefusedPSN)
		m = s.message
	}
	if m == nil && h.Reason == mr0.NAKReasonRemoteOperationError {
		if stream := c.streams[h.StreamID]; stream != nil { // an atomic that failed when its turn came
			m = stream.find(h.MSN)
		}
	}
	if m == nil || m.complete {
		return VerdictLate // acknowledged since, or its bytes have gone to another path
	}
	if m.stream.id != h.StreamID || m.msn != h.MSN {
		return VerdictInvalid
	}
	c.statistics.NAKs++
	switch h.Reason {
	case mr0.NAKReasonReceiverNotReady:
		if s == nil || s.state == slotRefused {
			return VerdictLate
		}
		c.leave(p, s)
		s.state = slotRefused
		s.at = now + time.Duration(h.RetryAfter)
		p.refused++
		p.timeouts, p.backoff = 0, 0 // the path is well
		p.refusedAt = min(p.refusedAt, s.at)
		c.arm(p.refusedAt)
	case mr0.NAKReasonStreamUnknown:
		c.endStream(m.stream)
	case mr0.NAKReasonRemoteAccessError, mr0.NAKReasonInvalidRequest, mr0.NAKReasonRemoteOperationError:
		c.end(now, mr0.DisconnectReasonError, nakError(h.Reason))
	default:
		return VerdictInvalid
	}
	return VerdictAccepted
}

// endStream completes all requests of a stream that the peer does not know with an error. The psns that bore their
// bytes are filled by PROBEs.
func (c *Connection) endStream(s *Stream) {
	s.err = ErrStreamUnknown
	for i := range c.paths {
		p := &c.paths[i]
		for psn := p.una; psn != p.next; psn++ {
			slot := p.slot(psn)
			if slot.message == nil || slot.message.stream != s || slot.message.answers() {
				continue
			}
			c.endpoint.release(slot.message)
			slot.message = nil
			if slot.state == slotRefused {
				c.lose(p, slot)
			}
		}
	}
	c.moved.keep(func(seg segment) bool {
		if seg.message.stream != s || seg.message.answers() {
			return true
		}
		c.endpoint.release(seg.message)
		return false
	})
	for i := range s.own.len() {
		m := *s.own.at(i)
		if m.asks() && m.next > 0 && !m.complete {
			c.answered(m)
		}
		m.complete = true
		m.err = ErrStreamUnknown
	}
	if s.scheduled {
		s.scheduled = false
		c.sendable.keep(func(other *Stream) bool { return other != s })
	}
	s.unsent = s.own.len()
	s.retire()
	s.unsent = 0
}

// answers tells whether the message answers a READ or an atomic of the peer.
func (m *message) answers() bool { return m.kind == mr0.TypeReadResp || m.kind == mr0.TypeAtomicResp }
