package tree

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

// Line is a packet in a list of packets.
type Line struct {
	Source      string `json:"source"`      // innermost address: IP, GID, or MAC when there is none
	Destination string `json:"destination"` // likewise
	Protocol    string `json:"protocol"`    // "RoCEv2", "RoCEv1", "MetaRoCE, profile mr0", "InfiniBand", "CNP", "PFC", "TCP", "ARP" ...
	Info        string `json:"info"`        // "RC RDMA WRITE First PSN=0x000064 (100) QP=0x000011 len=1024 [ECN CE]"
}

// Summary puts a packet into one line. Like [Build] it takes what Decode filled in and returned.
func Summary(p *dissector.Packet, err error) Line {
	line := Line{Protocol: protocolName(p)}
	line.Source, line.Destination = endpoints(p)
	var info strings.Builder
	switch {
	case p.Protocol == dissector.ProtocolPause:
		line.Protocol, line.Info = pauseSummary(&p.Pause)
		return line
	case p.Has&infiniband.HasBTH != 0:
		transportSummary(&info, p)
	case p.Protocol == dissector.ProtocolMetaRoCE && p.MetaRoCE.Decoded() != nil:
		metaRoCESummary(&info, p.MetaRoCE.Decoded())
	case errors.Is(err, dissector.ErrNotRDMA):
		line.Protocol, line.Info = otherSummary(p, err)
		return line
	default:
		info.WriteString(line.Protocol)
	}
	if p.BTH.Opcode.IsCNP() && p.Has&infiniband.HasBTH != 0 {
		line.Protocol = "CNP"
	}
	if p.Network.ECN == dissector.ECNCE && p.Network.Version != 0 {
		info.WriteString(" [ECN CE]")
	}
	info.WriteString(tunnelText(p))
	if p.Network.Fragment && p.Has&infiniband.HasBTH != 0 {
		info.WriteString(" [first fragment]")
	}
	switch {
	case errors.Is(err, dissector.ErrTruncated):
		info.WriteString(" [" + faultText(p) + "]")
	case errors.Is(err, dissector.ErrMalformed):
		info.WriteString(" [malformed: " + faultText(p) + "]")
	case errors.Is(err, dissector.ErrUnsupported):
		text := "unsupported: " + faultText(p)
		if p.Has&infiniband.HasBTH == 0 && p.Fault.Layer != dissector.LayerMetaRoCE { // there is nothing else to say
			info.Reset()
			info.WriteString(text + tunnelText(p))
		} else {
			info.WriteString(" [" + text + "]")
		}
	}
	line.Info = strings.TrimSpace(info.String())
	return line
}

func tunnelText(p *dissector.Packet) string {
	if p.Tunnel.Type == dissector.LayerNone {
		return ""
	}
	switch p.Tunnel.Type {
	case dissector.LayerIPv4, dissector.LayerIPv6, dissector.LayerSRv6, dissector.LayerEthernet, dissector.LayerERSPAN1:
		return fmt.Sprintf(" [%s tunnel]", p.Tunnel.Type) // which have no number
	case dissector.LayerGRE:
		if p.Tunnel.ID == 0 { // most have no key
			return " [GRE]"
		}
	default:
	}
	return fmt.Sprintf(" [%s %d]", p.Tunnel.Type, p.Tunnel.ID)
}

// protocolName names a packet's protocol, or the last layer that was read.
func protocolName(p *dissector.Packet) string {
	switch p.Protocol {
	case dissector.ProtocolRoCEv1:
		return "RoCEv1"
	case dissector.ProtocolRoCEv2:
		return "RoCEv2"
	case dissector.ProtocolInfiniBand:
		return "InfiniBand"
	case dissector.ProtocolMetaRoCE:
		return metaRoCEName(p)
	case dissector.ProtocolMRC:
		return "MRC"
	case dissector.ProtocolUET:
		return "UET"
	case dissector.ProtocolVeRoCE:
		return "veRoCE"
	case dissector.ProtocolIWARP:
		return "iWARP"
	case dissector.ProtocolPause:
		return "pause"
	case dissector.ProtocolOther:
	}
	if n := int(min(p.LayerCount, dissector.MaxLayers)); n > 0 {
		return p.Layers[n-1].Type.String()
	}
	return "unknown"
}

// endpoints are the innermost addresses of the packet.
func endpoints(p *dissector.Packet) (source, destination string) {
	if p.Network.Version != 0 {
		return p.Network.Source.String(), p.Network.Destination.String()
	}
	if p.Protocol == dissector.ProtocolInfiniBand {
		return fmt.Sprintf("LID %d", p.LRH.SourceLID), fmt.Sprintf("LID %d", p.LRH.DestinationLID)
	}
	link := dissector.LayerNone
	for _, l := range p.Layers[:min(p.LayerCount, dissector.MaxLayers)] {
		switch l.Type {
		case dissector.LayerEthernet, dissector.LayerSLL, dissector.LayerSLL2:
			link = l.Type
		case dissector.LayerIPv4, dissector.LayerIPv6:
			link = dissector.LayerNone // of a tunnel, which the packet has left behind
		default:
		}
	}
	switch {
	case link == dissector.LayerEthernet:
		return macText(p.Ethernet.Source[:]), macText(p.Ethernet.Destination[:])
	case link != dissector.LayerNone && p.Ethernet.Source != [6]byte{}:
		return macText(p.Ethernet.Source[:]), ""
	case p.Tunnel.Outer.Version != 0: // what it carries was not read
		return p.Tunnel.Outer.Source.String(), p.Tunnel.Outer.Destination.String()
	}
	return "", ""
}

// transportSummary tells what a packet with a base transport header does.
func transportSummary(info *strings.Builder, p *dissector.Packet) {
	h := &p.BTH
	fmt.Fprintf(info, "%s PSN=0x%06x (%d) QP=0x%06x", h.Opcode, h.PSN, h.PSN, h.DestinationQP)
	if p.Has&infiniband.HasDETH != 0 {
		fmt.Fprintf(info, " SrcQP=0x%06x", p.DETH.SourceQP)
	}
	switch {
	case p.Has&infiniband.HasRETH != 0 && h.Opcode.IsReadRequest():
		fmt.Fprintf(info, " DMA=%d", p.RETH.DMALength)
	case p.Has&infiniband.HasRETH != 0 && h.Opcode.IsFirst() && p.PayloadOffset != 0:
		fmt.Fprintf(info, " len=%d of DMA=%d", p.PayloadLength, p.RETH.DMALength)
	case h.Opcode.CarriesPayload():
		if n, known := payloadLength(p); known {
			fmt.Fprintf(info, " len=%d", n)
		}
	}
	if p.Has&infiniband.HasAETH != 0 {
		fmt.Fprintf(info, " MSN=%d %s", p.AETH.MSN, p.AETH.Syndrome)
	}
	if p.Has&infiniband.HasImmDt != 0 {
		fmt.Fprintf(info, " imm=0x%08x", p.ImmDt.Data)
	}
	if p.Has&infiniband.HasIETH != 0 {
		fmt.Fprintf(info, " invalidate R_Key=0x%08x", p.IETH.RemoteKey)
	}
	if text := applicationSummary(p); text != "" {
		info.WriteString(" " + text)
	}
	if h.AckRequest {
		info.WriteString(" [ack request]")
	}
	if text := madSummary(p.Payload()); text != "" && p.Has&infiniband.HasDETH != 0 && h.DestinationQP == infiniband.GeneralServicesQP {
		info.WriteString(" " + text)
	}
}

// payloadLength is how long the payload was on the wire. Where the capture cut a header, the opcode and the lengths of IP say
// it still; of headers that are not decoded nobody knows.
func payloadLength(p *dissector.Packet) (n int, known bool) {
	if p.PayloadOffset != 0 {
		return int(p.PayloadLength), true
	}
	if p.Fault.Reason != dissector.ReasonCut || p.ICRCOffset == 0 {
		return 0, false
	}
	headers, _ := p.BTH.Opcode.Headers()
	for _, l := range p.Layers[:min(p.LayerCount, dissector.MaxLayers)] {
		if l.Type == dissector.LayerBTH {
			n = int(p.ICRCOffset) - int(p.BTH.PadCount) - int(l.Offset) - headers.Length()
		}
	}
	return n, n >= 0
}

func pauseSummary(p *dissector.Pause) (protocol, info string) {
	const pfc = 0x0101
	if p.Opcode != pfc {
		if p.Quanta[0] == 0 {
			return "pause", "resume"
		}
		return "pause", fmt.Sprintf("pause for %d quanta", p.Quanta[0])
	}
	var text []string
	for class, quanta := range p.Quanta {
		if p.ClassEnable>>class&1 == 0 {
			continue
		}
		if quanta == 0 {
			text = append(text, fmt.Sprintf("class %d resume", class))
		} else {
			text = append(text, fmt.Sprintf("class %d pause for %d quanta", class, quanta))
		}
	}
	if text == nil {
		return "PFC", "no class"
	}
	return "PFC", strings.Join(text, ", ")
}

// otherSummary takes protocol and text of a packet that is not RDMA from its tree.
func otherSummary(p *dissector.Packet, err error) (protocol, info string) {
	var last *Node
	for _, n := range Build(p, err).Children[1:] {
		const limit = 0xffff // of the bytes that are looked at
		switch n.Field {
		case "tcp.payload", "icmp.data", "eth.fcs", "eth.padding", "eth.trailer":
		default:
			if n.Offset < limit {
				last = n
			}
		}
	}
	if last == nil {
		return "unknown", "empty frame"
	}
	switch last.Field {
	case "udp.payload":
		name := strings.TrimSuffix(last.Name, " payload")
		return name, fmt.Sprintf("port %d > port %d, %s", p.UDP.SourcePort, p.UDP.DestinationPort, last.Meaning)
	case "data":
		if last.Name == "Not decoded" {
			why := p.Fault.Reason.String()
			if p.Fault.Reason == dissector.ReasonEtherType && p.Network.Version == 0 {
				why += fmt.Sprintf(" 0x%04x", p.Ethernet.EtherType)
			}
			return protocolName(p), why + ", " + last.Meaning
		}
	}
	return last.Name, last.Meaning
}
