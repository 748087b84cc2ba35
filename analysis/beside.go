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
	0x88e7: "provider backbone bridging",
	0x88f7: "PTP",
	0x8903: "FabricPath",
	0x8906: "FCoE",
	0x8914: "FIP",
	0x8926: "VN-Tag",
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
	dissector.ProtocolMRC:      "unsupported: MRC",
	dissector.ProtocolUET:      "unsupported: UET",
	dissector.ProtocolVeRoCE:   "unsupported: veRoCE",
	dissector.ProtocolIWARP:    "unsupported: iWARP",
	dissector.ProtocolMetaRoCE: "MetaRoCE",
}

// Link types without Ethernet or IP that users do open, by the names of the tcpdump registry.
var linkTypeNames = map[uint16]string{
	105: "IEEE802_11",
	127: "IEEE802_11_RADIOTAP",
	187: "BLUETOOTH_HCI_H4",
	189: "USB_LINUX",
	192: "PPI",
	201: "BLUETOOTH_HCI_H4_WITH_PHDR",
	220: "USB_LINUX_MMAPPED",
	242: "IPOIB",
	247: "INFINIBAND",
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
	besideCut
	besideMalformed
	besideFragment
	besideLinkType
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
	if p.Fault.Reason == dissector.ReasonFragment {
		return besideKey{besideFragment, 0}
	}
	if p.Network.Version != 0 {
		switch p.Network.Protocol {
		case protocolTCP:
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
	return classifyLink(p)
}

// classifyLink names a frame in which no IP header was reached.
func classifyLink(p *dissector.Packet) besideKey {
	switch r := p.Fault.Reason; r { //nolint:exhaustive // the others come behind an IP header
	case dissector.ReasonEtherType, dissector.ReasonEncrypted, dissector.ReasonVendorTag, dissector.ReasonMACControl:
		if innermost(p) == dissector.LayerGRE {
			return besideKey{besideReason, uint16(dissector.ReasonTunnelPayload)}
		}
		if p.Ethernet.EtherType != 0 {
			return besideKey{besideEtherType, p.Ethernet.EtherType}
		}
	case dissector.ReasonLinkType:
		return besideKey{besideLinkType, uint16(p.Meta.LinkType)}
	case dissector.ReasonLLC, dissector.ReasonTunnelPayload, dissector.ReasonTunnelVersion, dissector.ReasonERFType:
		return besideKey{besideReason, uint16(r)}
	case dissector.ReasonCut:
		return besideKey{besideCut, 0}
	case dissector.ReasonTooShort, dissector.ReasonIPVersion, dissector.ReasonIPHeaderLength, dissector.ReasonIPTotalLength, dissector.ReasonMPLSStack:
		return besideKey{besideMalformed, 0}
	}
	return besideKey{}
}

// innermost is the last header that was read.
func innermost(p *dissector.Packet) dissector.LayerType {
	for i := int(p.LayerCount) - 1; i >= 0; i-- {
		if t := p.Layers[i].Type; t != dissector.LayerPayload && t != dissector.LayerUnknown {
			return t
		}
	}
	return dissector.LayerNone
}

var reasonNames = map[dissector.Reason]string{
	dissector.ReasonLLC:           "802.3 frames",
	dissector.ReasonTunnelPayload: "tunnels of something that is not decoded",
	dissector.ReasonTunnelVersion: "tunnels of a version that is not decoded",
	dissector.ReasonERFType:       "ERF records that are not decoded",
	dissector.ReasonNotRoCE:       "UDP port 4791 without RoCE",
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
		return reasonNames[dissector.Reason(k.number)]
	case besideCut:
		return "cut too short to tell"
	case besideMalformed:
		return "malformed"
	case besideFragment:
		return "IP fragments after the first"
	case besideLinkType:
		if name := linkTypeNames[k.number]; name != "" {
			return fmt.Sprintf("unsupported: linktype %d (%s)", k.number, name)
		}
		return fmt.Sprintf("unsupported: linktype %d", k.number)
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
