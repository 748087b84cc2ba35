// Code generated from the profile mr0. DO NOT EDIT.

package mr0

import "github.com/rocelens/rocelens/dissector/metaroce"

// Validate checks a packet to be sent as Decode checks one that came in, but for its lengths. It sets Fault, and
// answers nil or [metaroce.ErrMalformed].
func (p *Packet) Validate() error {
	p.Fault = metaroce.Fault{}
	switch {
	case p.CH.Version != Version:
		return p.fault(0, metaroce.ReasonVersion)
	case !p.CH.Type.Known():
		return p.fault(1, metaroce.ReasonType)
	case p.CH.PayloadLength != 0 && !p.CH.Type.BearsPayload():
		return p.fault(3, metaroce.ReasonPayload)
	}
	return p.check(&shapes[p.CH.Type])
}

// check looks at what the headers say beside version, type and lengths.
func (p *Packet) check(s *shape) error {
	if p.CH.Flags&FlagIMM != 0 && (!s.optional || p.CH.Flags&FlagLast == 0) {
		return p.fault(2, metaroce.ReasonFlag)
	}
	if !s.sequenced && (p.CH.PathID > 127) {
		return p.fault(5, metaroce.ReasonRange)
	}
	if s.headers&HasDH != 0 {
		if err := p.checkMessage(); err != nil {
			return err
		}
	}
	if s.headers&HasCONN != 0 {
		if err := p.checkCONN(); err != nil {
			return err
		}
	}
	return nil
}

// checkMessage looks at the place of the packet in its message.
func (p *Packet) checkMessage() error {
	h := &p.DH
	end := uint64(h.MessageOffset) + uint64(p.CH.PayloadLength)
	if (h.MessageOffset == 0) != (p.CH.Flags&FlagFirst != 0) {
		return p.fault(2, metaroce.ReasonFirst)
	}
	if end > uint64(h.MessageLength) {
		return p.fault(29, metaroce.ReasonOffset)
	}
	if (end == uint64(h.MessageLength)) != (p.CH.Flags&FlagLast != 0) && p.CH.Type != TypeReadReq {
		return p.fault(2, metaroce.ReasonLast)
	}
	return nil
}

func (p *Packet) checkCONN() error {
	switch {
	case p.CONN.PathCount < 1 || p.CONN.PathCount > 128:
		return p.fault(10, metaroce.ReasonRange)
	case p.CONN.PlaneCount < 1:
		return p.fault(11, metaroce.ReasonRange)
	case p.CONN.MTU != 256 && p.CONN.MTU != 512 && p.CONN.MTU != 1024 && p.CONN.MTU != 2048 && p.CONN.MTU != 4096 && p.CONN.MTU != 8192:
		return p.fault(12, metaroce.ReasonRange)
	case p.CONN.MaxWindow > 256:
		return p.fault(16, metaroce.ReasonRange)
	}
	return nil
}

// PSNDistance is how far b lies ahead of a by serial-number arithmetic (RFC 1982) over the 32 bits of a path
// sequence number: positive when b is later, negative when it is earlier.
func PSNDistance(a, b uint32) int32 {
	return int32((b-a)<<(32-32)) >> (32 - 32)
}

// PSNBefore tells whether a is earlier than b.
func PSNBefore(a, b uint32) bool { return PSNDistance(a, b) > 0 }

// PSNAdd is the path sequence number n steps after psn, or before it when n is negative.
func PSNAdd(psn uint32, n int) uint32 { return (psn + uint32(n)) & (1<<32 - 1) }

// PathPSNStride is how far the first path sequence numbers of neighbouring paths lie apart.
const PathPSNStride = 1048576

// PathInitialPSN is the first path sequence number of a path, given that of path 0.
func PathInitialPSN(initial uint32, path int) uint32 { return PSNAdd(initial, path*PathPSNStride) }
