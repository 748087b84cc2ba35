package analysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rocelens/rocelens/dissector"
)

// Beside is a kind of packet that was seen beside RDMA: what a capture without RDMA holds instead.
type Beside struct {
	Name    string `json:"name"`
	Packets uint64 `json:"packets"`
}

// maxBeside bounds the kinds that are told apart; the rest is "other".
const maxBeside = 64

// Ethertypes that networks of RDMA hosts are full of.
var etherTypeNames = map[uint16]string{
	0x0806: "ARP",
	0x22f0: "AVTP",
	0x8808: "MAC control",
	0x8809: "LACP",
	0x8863: "PPPoE",
	0x8864: "PPPoE",
	0x888e: "EAPOL",
	0x88cc: "LLDP",
	0x88e5: "MACsec",
	0x88f7: "PTP",
	0x8906: "FCoE",
	0x8914: "FIP",
}

// Named UDP ports whose presence explains an absence of RoCE.
var udpPortNames = map[uint16]string{
	53:   "DNS",
	67:   "DHCP",
	68:   "DHCP",
	319:  "PTP",
	320:  "PTP",
	546:  "DHCPv6",
	547:  "DHCPv6",
	4739: "IPFIX",
	5353: "mDNS",
	6343: "sFlow",
}

var protocolNames = map[dissector.Protocol]string{
	dissector.ProtocolPause:    "pause frames",
	dissector.ProtocolMRC:      "MRC",
	dissector.ProtocolUET:      "UET",
	dissector.ProtocolVeRoCE:   "veRoCE",
	dissector.ProtocolIWARP:    "iWARP",
	dissector.ProtocolMetaRoCE: "MetaRoCE",
}

// besideKey tells kinds apart without building their names: one map access a packet.
type besideKey struct {
	kind   besideKind
	number uint16
}

type besideKind uint8

const (
	besideOther besideKind = iota
	besideProtocol
	besideTCP
	besideUDP
	besideICMP
	besideIP
	besideEtherType
	besideReason
)

type besideCounts map[besideKey]uint64

func (b besideCounts) add(p *dissector.Packet) {
	key := classify(p)
	if _, known := b[key]; !known && len(b) >= maxBeside {
		key = besideKey{}
	}
	b[key]++
}

func classify(p *dissector.Packet) besideKey {
	if _, named := protocolNames[p.Protocol]; named {
		return besideKey{besideProtocol, uint16(p.Protocol)}
	}
	if p.Network.Version != 0 {
		switch p.Network.Protocol {
		case 6:
			return besideKey{besideTCP, 0}
		case 17:
			if p.Fault.Reason == dissector.ReasonNotRoCE {
				return besideKey{besideReason, uint16(p.Fault.Reason)}
			}
			for _, port := range [...]uint16{p.UDP.DestinationPort, p.UDP.SourcePort} {
				if _, named := udpPortNames[port]; named {
					return besideKey{besideUDP, port}
				}
			}
			return besideKey{besideUDP, 0}
		case 1, 58:
			return besideKey{besideICMP, 0}
		}
		return besideKey{besideIP, uint16(p.Network.Protocol)}
	}
	if p.Fault.Reason == dissector.ReasonEtherType && p.Ethernet.EtherType != 0 {
		return besideKey{besideEtherType, p.Ethernet.EtherType}
	}
	if p.Fault.Reason == dissector.ReasonLinkType {
		return besideKey{besideReason, uint16(p.Fault.Reason)}
	}
	return besideKey{}
}

func (k besideKey) name() string {
	switch k.kind {
	case besideProtocol:
		return protocolNames[dissector.Protocol(k.number)]
	case besideTCP:
		return "TCP"
	case besideUDP:
		if name := udpPortNames[k.number]; name != "" {
			return name
		}
		return "UDP"
	case besideICMP:
		return "ICMP"
	case besideIP:
		return fmt.Sprintf("IP protocol %d", k.number)
	case besideEtherType:
		if name := etherTypeNames[k.number]; name != "" {
			return name
		}
		return fmt.Sprintf("ethertype 0x%04x", k.number)
	case besideReason:
		if dissector.Reason(k.number) == dissector.ReasonLinkType {
			return "link types that are not decoded"
		}
		return "UDP port 4791 without RoCE"
	case besideOther:
	}
	return "other"
}

// list is the counts by name, most frequent first.
func (b besideCounts) list() []Beside {
	byName := make(map[string]uint64, len(b))
	for key, n := range b {
		byName[key.name()] += n
	}
	out := make([]Beside, 0, len(byName))
	for name, n := range byName {
		out = append(out, Beside{Name: name, Packets: n})
	}
	slices.SortFunc(out, func(x, y Beside) int {
		if x.Packets != y.Packets {
			if x.Packets > y.Packets {
				return -1
			}
			return 1
		}
		return strings.Compare(x.Name, y.Name)
	})
	return out
}
