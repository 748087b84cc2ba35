package filter

import (
	"bytes"
	"errors"
	"net/netip"
	"regexp"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/tree"
)

// expression is a part of a compiled filter.
type expression interface {
	match(s *subject) bool
}

type (
	either   struct{ left, right expression }
	both     struct{ left, right expression }
	negation struct{ operand expression }
	protocol func(*dissector.Packet) bool

	// field asks whether the packet has one of the fields.
	field struct {
		names   []string
		kind    Kind
		content bool    // its bytes are asked for
		part    *part   // of its bytes, or nil for the whole
		sliced  Kind    // what it is part of
		mask    *uint64 // of its bits, or nil for all
	}
	comparison struct {
		field    field
		operator string
		value    value
	}
	within struct {
		field    field
		from, to value
	}
	anyOf []expression
	oneOf struct{ left, right expression }

	// masked asks whether one of some bits is set.
	masked struct{ field field }
	// inside asks for bytes somewhere in the field.
	inside struct {
		field field
		bytes []byte
	}
	pattern struct {
		field      field
		expression *regexp.Regexp
	}
)

func (e either) match(s *subject) bool   { return e.left.match(s) || e.right.match(s) }
func (e both) match(s *subject) bool     { return e.left.match(s) && e.right.match(s) }
func (e negation) match(s *subject) bool { return !e.operand.match(s) }
func (e protocol) match(s *subject) bool { return e(s.packet) }

func (e field) match(s *subject) bool {
	return s.any(e, func(*value) bool { return true })
}

func (e comparison) match(s *subject) bool {
	return s.any(e.field, func(v *value) bool {
		switch e.operator {
		case "<":
			return v.number < e.value.number
		case "<=":
			return v.number <= e.value.number
		case ">":
			return v.number > e.value.number
		case ">=":
			return v.number >= e.value.number
		}
		return equal(e.field.kind, v, &e.value)
	})
}

func (e within) match(s *subject) bool {
	return s.any(e.field, func(v *value) bool {
		if e.field.kind == KindAddress {
			a, from, to := v.prefix.Addr(), e.from.prefix.Addr(), e.to.prefix.Addr()
			return a.BitLen() == from.BitLen() && from.Compare(a) <= 0 && a.Compare(to) <= 0
		}
		return v.number >= e.from.number && v.number <= e.to.number
	})
}

func (e oneOf) match(s *subject) bool { return e.left.match(s) != e.right.match(s) }

func (e masked) match(s *subject) bool {
	return s.any(e.field, func(v *value) bool { return v.number != 0 })
}

func (e inside) match(s *subject) bool {
	return s.any(e.field, func(v *value) bool { return bytes.Contains(v.content(e.field.kind), e.bytes) })
}

func (e pattern) match(s *subject) bool {
	return s.any(e.field, func(v *value) bool { return e.expression.Match(v.content(e.field.kind)) })
}

func (e anyOf) match(s *subject) bool {
	for _, part := range e {
		if part.match(s) {
			return true
		}
	}
	return false
}

// subject is the packet that is being asked about; its tree is made when a question needs it.
type subject struct {
	packet *dissector.Packet
	err    error
	root   *tree.Node

	comments []string // about it, from the capture
}

// fieldComment has values that are no part of the packet.
const fieldComment = "frame.comment"

// any tells whether the packet has one of the fields with a value for which test holds.
func (s *subject) any(f field, test func(*value) bool) bool {
	kind := f.kind
	if f.part != nil {
		kind = f.sliced
	}
	if f.part != nil || f.mask != nil {
		whole := test
		test = func(v *value) bool {
			part := *v
			if f.mask != nil {
				part.number &= *f.mask
			}
			if f.part != nil {
				cut, ok := f.part.of(v.content(kind))
				if !ok {
					return false
				}
				part.bytes = cut
			}
			return whole(&part)
		}
	}
	for _, name := range f.names {
		if name == fieldComment {
			for _, text := range s.comments {
				if test(&value{text: text}) {
					return true
				}
			}
			continue
		}
		if kind == KindPresence && f.content {
			if s.inTree(name, kind, test) {
				return true
			}
			continue
		}
		if v, present, known := s.direct(name); known {
			if present && test(&v) {
				return true
			}
			continue
		}
		if s.inTree(name, kind, test) {
			return true
		}
	}
	return false
}

func (s *subject) inTree(name string, kind Kind, test func(*value) bool) bool {
	if s.root == nil {
		s.root = tree.Build(s.packet, s.err)
	}
	found := false
	s.root.Walk(func(n *tree.Node) bool {
		if n.Field != name {
			return true
		}
		v, ok := value{}, kind == KindPresence
		if ok {
			v.bytes = s.packet.Data[min(n.Offset, len(s.packet.Data)):]
		} else {
			v, ok = fromTree(kind, n.Value)
		}
		found = ok && test(&v)
		return !found
	})
	return found
}

// direct answers for common fields from the packet, without its tree. known is false when it cannot.
func (s *subject) direct(name string) (v value, present, known bool) {
	p := s.packet
	switch name {
	case "frame.number":
		return value{number: p.Meta.Number}, true, true
	case "frame.len":
		return value{number: uint64(p.Meta.OriginalLength)}, p.Meta.OriginalLength != 0, true
	case "frame.cap_len":
		return value{number: uint64(len(p.Data))}, true, true
	}
	// Of a packet with an error, the tree shows the fields of the header that was cut, too.
	if s.err != nil && !errors.Is(s.err, dissector.ErrNotRDMA) {
		return value{}, false, false
	}
	if v, present, known = transportField(p, name); known {
		return v, present, true
	}
	if v, present, known = metaRoCEField(p, name); known {
		return v, present, true
	}
	if s.err != nil || p.Tunnel.Type != dissector.LayerNone {
		return value{}, false, false
	}
	return networkField(p, name)
}

func transportField(p *dissector.Packet, name string) (v value, present, known bool) {
	bth, aeth := p.Has&infiniband.HasBTH != 0, p.Has&infiniband.HasAETH != 0
	reth, deth := p.Has&infiniband.HasRETH != 0, p.Has&infiniband.HasDETH != 0
	switch name {
	case "infiniband.bth":
		return value{}, bth, true
	case "infiniband.aeth":
		return value{}, aeth, true
	case "infiniband.reth":
		return value{}, reth, true
	case "infiniband.deth":
		return value{}, deth, true
	case "infiniband.bth.opcode":
		return value{number: uint64(p.BTH.Opcode)}, bth, true
	case "infiniband.bth.destqp":
		return value{number: uint64(p.BTH.DestinationQP)}, bth, true
	case "infiniband.bth.psn":
		return value{number: uint64(p.BTH.PSN)}, bth, true
	case "infiniband.bth.p_key":
		return value{number: uint64(p.BTH.PartitionKey)}, bth, true
	case "infiniband.bth.padcnt":
		return value{number: uint64(p.BTH.PadCount)}, bth, true
	case "infiniband.bth.se":
		return flag(p.BTH.SolicitedEvent), bth, true
	case "infiniband.bth.a":
		return flag(p.BTH.AckRequest), bth, true
	case "infiniband.bth.fecn":
		return flag(p.BTH.FECN), bth, true
	case "infiniband.bth.becn":
		return flag(p.BTH.BECN), bth, true
	case "infiniband.aeth.syndrome":
		return value{number: uint64(p.AETH.Syndrome)}, aeth, true
	case "infiniband.aeth.msn":
		return value{number: uint64(p.AETH.MSN)}, aeth, true
	case "infiniband.deth.srcqp":
		return value{number: uint64(p.DETH.SourceQP)}, deth, true
	case "infiniband.deth.q_key":
		return value{number: uint64(p.DETH.QueueKey)}, deth, true
	case "infiniband.reth.dmalen":
		return value{number: uint64(p.RETH.DMALength)}, reth, true
	case "infiniband.reth.va": // the AtomicETH has one, too
		if p.Has&infiniband.HasAtomicETH != 0 {
			return value{number: p.AtomicETH.VirtualAddress}, true, true
		}
		return value{number: p.RETH.VirtualAddress}, reth, true
	case "infiniband.reth.r_key":
		if p.Has&infiniband.HasAtomicETH != 0 {
			return value{number: uint64(p.AtomicETH.RemoteKey)}, true, true
		}
		return value{number: uint64(p.RETH.RemoteKey)}, reth, true
	case "infiniband.immdt":
		return value{number: uint64(p.ImmDt.Data)}, p.Has&infiniband.HasImmDt != 0, true
	case "infiniband.ieth":
		return value{number: uint64(p.IETH.RemoteKey)}, p.Has&infiniband.HasIETH != 0, true
	}
	return value{}, false, false
}

// networkField answers for the headers below the transport of a packet outside of tunnels, which has one of each.
func networkField(p *dissector.Packet, name string) (v value, present, known bool) {
	v4 := p.Network.Version == 4
	udp := p.Protocol == dissector.ProtocolRoCEv2 || p.Protocol == dissector.ProtocolMetaRoCE
	v6 := p.Network.Version == 6 && udp
	switch name {
	case "ip.src":
		return address(p.Network.Source), v4, true
	case "ip.dst":
		return address(p.Network.Destination), v4, true
	case "ipv6.src":
		return address(p.Network.Source), v6, true
	case "ipv6.dst":
		return address(p.Network.Destination), v6, true
	case "ip.dsfield.dscp":
		return value{number: uint64(p.Network.DSCP)}, v4, true
	case "ip.dsfield.ecn":
		return value{number: uint64(p.Network.ECN)}, v4, true
	case "udp.srcport":
		return value{number: uint64(p.UDP.SourcePort)}, udp, true
	case "udp.dstport":
		return value{number: uint64(p.UDP.DestinationPort)}, udp, true
	}
	return value{}, false, false
}

func flag(set bool) value {
	if set {
		return value{number: 1}
	}
	return value{}
}

func address(a dissector.Address) value {
	addr := a.Addr()
	return value{prefix: netip.PrefixFrom(addr, addr.BitLen())}
}
