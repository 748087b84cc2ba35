package filter

import (
	"slices"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

// Kind is what a field holds, and so what it can be compared with.
type Kind uint8

// Kinds of fields.
const (
	KindPresence Kind = iota // a header or protocol: there or not
	KindNumber
	KindFlag
	KindText
	KindMAC
	KindAddress
	KindBytes
	KindTime // seconds since the Unix epoch, or a date and time of day in UTC
)

// expects says in words what a field of the kind is compared with.
func (k Kind) expects() string {
	switch k {
	case KindPresence:
		return "nothing: it is there or not"
	case KindNumber:
		return "a number, decimal or 0x…"
	case KindFlag:
		return "true or false"
	case KindText:
		return "text in quotation marks"
	case KindMAC:
		return "an Ethernet address such as 02:00:00:00:00:01"
	case KindAddress:
		return "an IP address or a prefix such as 10.0.0.0/8"
	case KindBytes:
		return "bytes in hexadecimal such as 00:1f"
	case KindTime:
		return "seconds since 1970 such as 1700000000.25, or UTC such as \"2026-03-01 09:00:00\""
	}
	return "a value"
}

// ordered tells whether values of the kind can be less or greater.
func (k Kind) ordered() bool { return k == KindNumber || k == KindTime }

// ranged tells whether a set may have ranges of them.
func (k Kind) ranged() bool { return k.ordered() || k == KindAddress }

// hasBytes tells whether values of the kind are known as the bytes that they are.
func (k Kind) hasBytes() bool { return k == KindBytes || k == KindMAC || k == KindPresence }

// Field is a name that filters know.
type Field struct {
	Name string
	Kind Kind
}

// Fields lists every name that a filter may have, in alphabetical order.
func Fields() []Field {
	all := make([]Field, 0, len(fields)+len(protocols)+len(aliases))
	for name, kind := range fields {
		all = append(all, Field{name, kind})
	}
	for name := range protocols {
		all = append(all, Field{name, KindPresence})
	}
	for name, of := range aliases {
		all = append(all, Field{name, fields[of[0]]})
	}
	slices.SortFunc(all, func(a, b Field) int {
		switch {
		case a.Name < b.Name:
			return -1
		case a.Name > b.Name:
			return 1
		}
		return 0
	})
	return all
}

// aliases are names for two fields at once, or other names for one.
var aliases = map[string][]string{
	"eth.addr":   {"eth.src", "eth.dst"},
	"frame.time": {"frame.time_epoch"},
	"ip.addr":    {"ip.src", "ip.dst"},
	"ipv6.addr":  {"ipv6.src", "ipv6.dst"},
	"udp.port":   {"udp.srcport", "udp.dstport"},
	"tcp.port":   {"tcp.srcport", "tcp.dstport"},
}

// protocols are names that are answered by the packet itself. Those that the tree uses as well mean the same
// there.
var protocols = map[string]func(*dissector.Packet) bool{
	"roce":   func(p *dissector.Packet) bool { return p.Protocol.IsRoCE() },
	"rocev1": func(p *dissector.Packet) bool { return p.Protocol == dissector.ProtocolRoCEv1 },
	"rocev2": func(p *dissector.Packet) bool { return p.Protocol == dissector.ProtocolRoCEv2 },
	"infiniband": func(p *dissector.Packet) bool {
		return p.Protocol == dissector.ProtocolInfiniBand || p.Protocol.IsRoCE()
	},
	"mrc":      func(p *dissector.Packet) bool { return p.Protocol == dissector.ProtocolMRC },
	"uet":      func(p *dissector.Packet) bool { return p.Protocol == dissector.ProtocolUET },
	"veroce":   func(p *dissector.Packet) bool { return p.Protocol == dissector.ProtocolVeRoCE },
	"iwarp":    func(p *dissector.Packet) bool { return p.Protocol == dissector.ProtocolIWARP },
	"metaroce": func(p *dissector.Packet) bool { return p.Protocol == dissector.ProtocolMetaRoCE },
	"cnp":      func(p *dissector.Packet) bool { return p.Has&infiniband.HasBTH != 0 && p.BTH.Opcode.IsCNP() },
	"pause": func(p *dissector.Packet) bool {
		return p.Protocol == dissector.ProtocolPause && p.Pause.Opcode == pauseOpcode
	},
	"pfc": func(p *dissector.Packet) bool {
		return p.Protocol == dissector.ProtocolPause && p.Pause.Opcode == pfcOpcode
	},
	"tunnel": func(p *dissector.Packet) bool { return p.Tunnel.Type != dissector.LayerNone },
	"mirror": func(p *dissector.Packet) bool { return p.Tunnel.Mirror },
}

// Opcodes of MAC control frames (IEEE 802.3 annex 31A).
const (
	pauseOpcode = 0x0001
	pfcOpcode   = 0x0101
)
