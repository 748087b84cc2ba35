package tree

import (
	"errors"
	"fmt"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

// upTo covers the bytes before an offset that no layer has.
func (b *builder) upTo(end int) {
	end = min(end, len(b.p.Data))
	if b.at >= end {
		return
	}
	if b.at < int(b.p.Fault.Offset) && int(b.p.Fault.Offset) < end && isFault(b.err) {
		b.upTo(int(b.p.Fault.Offset))
	}
	rest := dissector.Layer{Offset: uint16(min(b.at, 0xffff)), Length: uint16(min(end-b.at, 0xffff))}
	if b.at > 0xffff { // a layer's offset cannot say it
		b.append(&Node{
			Name: "Not decoded", Field: "data", Value: b.p.Data[b.at:end], Meaning: byteCount(end - b.at), Offset: b.at, Length: end - b.at,
		})
		return
	}
	b.append(b.unlisted(rest))
	b.upTo(end)
}

// unlisted names bytes that Decode left alone: those behind a fault, those of another protocol, and the
// end of a packet that the capture cut before its ICRC.
func (b *builder) unlisted(rest dissector.Layer) *Node {
	if isFault(b.err) && !b.faulted && int(rest.Offset) == int(b.p.Fault.Offset) {
		return b.faulty(rest)
	}
	if errors.Is(b.err, dissector.ErrNotRDMA) {
		return b.other(rest)
	}
	if at := int(b.p.ICRCOffset); at != 0 && b.err == nil {
		pad := at - int(b.p.BTH.PadCount)
		switch off := int(rest.Offset); {
		case off >= at && off < at+infiniband.ICRCLength:
			rest.Length = uint16(min(int(rest.Length), at+infiniband.ICRCLength-off))
			g := b.group("ICRC", b.icrcField(), rest)
			g.node.Meaning = fmt.Sprintf("%d of 4 bytes captured", rest.Length)
			b.icrcVerdict(g)
			return g.node
		case off >= pad && off < at:
			rest.Length = uint16(min(int(rest.Length), at-off))
			return b.bytes("Pad", "infiniband.pad", rest)
		}
	}
	return b.bytes("Not decoded", "data", rest)
}

// faulty makes the node of a header that could not be read: what there is of its fields, and why not more.
func (b *builder) faulty(rest dissector.Layer) *Node {
	b.faulted = true
	why := b.faultNode(int(rest.Offset))
	if b.partlyReadable() {
		rest.Type = b.p.Fault.Layer
		n := b.layer(rest)
		if errors.Is(b.err, dissector.ErrTruncated) {
			name := rest.Type.String()
			switch rest.Type {
			case dissector.LayerMetaRoCE:
				name = metaRoCEName(b.p)
			case dissector.LayerUnknown, dissector.LayerIPv6Extension, dissector.LayerSRv6:
				name = n.Name
			default:
			}
			why.Meaning = fmt.Sprintf("%s cut by the capture after %s", name, byteCount(n.Length))
			why.Value = why.Meaning
		}
		n.Severity = why.Severity
		n.Children = append([]*Node{why}, n.Children...)
		return n
	}
	n := b.bytes("Not decoded", "data", rest)
	if name := b.neighbour(); name != "" {
		n.Name = name
		switch b.lastType() {
		case dissector.LayerTCP:
			n.Field = "tcp.payload"
		case dissector.LayerUDP:
			n.Field = "udp.payload"
		default: // MRC, behind its BTH
		}
	}
	n.Severity = why.Severity
	n.Children = []*Node{why}
	return n
}

// partlyReadable tells whether the fields of the header at fault can be shown as far as they are there.
func (b *builder) partlyReadable() bool {
	f := b.p.Fault
	signed := f.Layer == dissector.LayerUnknown && b.next.isIP && b.next.protocol == protocolAH
	switch {
	case !fixedLayer(f.Layer) && !signed:
		return false
	case errors.Is(b.err, dissector.ErrTruncated):
		return true
	}
	// Where BTH or UDP are too short for what follows, they themselves were read.
	tooShort := f.Reason == dissector.ReasonTooShort && (b.lastType() != f.Layer || b.another())
	return tooShort || f.Reason == dissector.ReasonMACControl
}

// another tells whether the header at fault follows one of its own kind in which it can be.
func (b *builder) another() bool {
	switch b.p.Fault.Layer {
	case dissector.LayerEthernet, dissector.LayerVLAN, dissector.LayerIPv4, dissector.LayerIPv6, dissector.LayerIPv6Extension:
		return int(b.p.Fault.Offset) >= b.layers[len(b.layers)-1].End()
	default:
		return false
	}
}

// fixedLayer tells whether the fields of a header can be shown one by one although its end is missing.
func fixedLayer(t dissector.LayerType) bool {
	switch t {
	case dissector.LayerEthernet, dissector.LayerVLAN, dissector.LayerLLC, dissector.LayerMACControl, dissector.LayerSLL,
		dissector.LayerSLL2, dissector.LayerERF, dissector.LayerIPv4, dissector.LayerIPv6, dissector.LayerUDP, dissector.LayerTCP,
		dissector.LayerVXLAN, dissector.LayerGENEVE, dissector.LayerGRE, dissector.LayerERSPAN2, dissector.LayerERSPAN3,
		dissector.LayerGRH, dissector.LayerLRH, dissector.LayerBTH, dissector.LayerRDETH, dissector.LayerDETH,
		dissector.LayerXRCETH, dissector.LayerRETH, dissector.LayerAtomicETH, dissector.LayerAETH, dissector.LayerAtomicAckETH,
		dissector.LayerFETH, dissector.LayerCNP, dissector.LayerMetaRoCE, dissector.LayerMPLS, dissector.LayerIPv6Extension, dissector.LayerSRv6:
		return true
	case dissector.LayerNone, dissector.LayerNull, dissector.LayerFragment,
		dissector.LayerICMP, dissector.LayerERSPAN1, dissector.LayerImmDt, dissector.LayerIETH,
		dissector.LayerMAD, dissector.LayerPayload, dissector.LayerPad, dissector.LayerICRC, dissector.LayerTrailer,
		dissector.LayerFCS, dissector.LayerUnknown:
	}
	return false
}

// faultNode says what is wrong with the packet, at an offset.
func (b *builder) faultNode(offset int) *Node {
	n := &Node{Offset: offset, Meaning: faultText(b.p)}
	switch {
	case errors.Is(b.err, dissector.ErrTruncated):
		n.Name, n.Field, n.Severity = "Truncated", "rocelens.truncated", SeverityWarning
	case errors.Is(b.err, dissector.ErrMalformed):
		n.Name, n.Field, n.Severity = "Malformed", "rocelens.malformed", SeverityError
	default:
		n.Name, n.Field, n.Severity = "Unsupported", "rocelens.unsupported", SeverityNote
	}
	n.Value = n.Meaning
	return n
}

// faultText words a fault: the layer, where the reason does not speak for itself, and the reason.
func faultText(p *dissector.Packet) string {
	switch p.Fault.Reason {
	case dissector.ReasonLinkType:
		return fmt.Sprintf("%s %d", p.Fault.Reason, p.Meta.LinkType)
	case dissector.ReasonMRC, dissector.ReasonMACControl:
		return p.Fault.Reason.String()
	default:
	}
	switch p.Fault.Layer {
	case dissector.LayerNone, dissector.LayerUnknown, dissector.LayerPayload, dissector.LayerFragment:
		return p.Fault.Reason.String()
	case dissector.LayerMetaRoCE:
		return metaRoCEFault(p)
	default:
		return p.Fault.Layer.String() + ": " + p.Fault.Reason.String()
	}
}

// faultAfter puts the fault into a layer that was read and is itself what is wrong.
func (b *builder) faultAfter(i int) {
	l := b.layers[i]
	if !isFault(b.err) || b.faulted || len(b.root.Children) == 0 {
		return
	}
	within := int(b.p.Fault.Offset) >= int(l.Offset) && int(b.p.Fault.Offset) < l.End()
	lastOfItsKind := i == len(b.layers)-1 && l.Type == b.p.Fault.Layer
	// The next header of the same kind, of which there is a part, gets a node of its own.
	tooShort := b.p.Fault.Reason == dissector.ReasonTooShort && b.another()
	another := (tooShort || errors.Is(b.err, dissector.ErrTruncated)) && int(b.p.Fault.Offset) >= l.End() && int(b.p.Fault.Offset) < len(b.p.Data)
	if !within && (!lastOfItsKind || another) {
		return
	}
	b.faulted = true
	n := b.root.Children[len(b.root.Children)-1]
	why := b.faultNode(int(b.p.Fault.Offset))
	n.Severity = why.Severity
	if v, ok := n.Value.([]byte); ok && len(v) > 0 && n.Length > 0 {
		n.Children = append(n.Children, why)
		return
	}
	n.Children = append([]*Node{why}, n.Children...)
}

// faultAtEnd adds the fault of a packet that ends where the next header should start.
func (b *builder) faultAtEnd() {
	if isFault(b.err) && !b.faulted {
		b.faulted = true
		b.append(b.faultNode(min(int(b.p.Fault.Offset), len(b.p.Data))))
	}
}

// neighbour names a protocol of RDMA that is recognised and not decoded.
func (b *builder) neighbour() string {
	switch b.p.Protocol {
	case dissector.ProtocolMRC:
		return "MRC"
	case dissector.ProtocolUET:
		return "UET"
	case dissector.ProtocolVeRoCE:
		return "veRoCE"
	case dissector.ProtocolIWARP:
		return "iWARP"
	case dissector.ProtocolMetaRoCE:
		return metaRoCEName(b.p)
	case dissector.ProtocolOther, dissector.ProtocolRoCEv1, dissector.ProtocolRoCEv2, dissector.ProtocolInfiniBand,
		dissector.ProtocolPause:
	}
	return ""
}

// other names the bytes of a packet that is not RDMA by what the last header announces.
func (b *builder) other(rest dissector.Layer) *Node {
	const arp, icmp, icmpv6 = 0x0806, 1, 58
	announced := b.next
	b.next = next{}
	switch {
	case announced.isIP && (announced.protocol == icmp || announced.protocol == icmpv6) && b.last(dissector.LayerICMP) < 0:
		b.next = announced
		return b.icmp(rest)
	case announced.isIP && b.lastType() == dissector.LayerTCP:
		return b.bytes("TCP payload", "tcp.payload", rest)
	case b.lastType() == dissector.LayerICMP:
		return b.bytes("ICMP data", "icmp.data", rest)
	case announced.isIP && announced.protocol == protocolTCP:
		return b.tcp(rest)
	case announced.isIP:
		if name := ipProtocolName(announced.protocol); name != "" {
			return b.bytes(name, "data", rest)
		}
	case announced.port != 0 || b.lastType() == dissector.LayerUDP:
		n := b.bytes("UDP payload", "udp.payload", rest)
		switch b.p.Fault.Reason {
		case dissector.ReasonNotRoCE:
			n.Meaning += ", " + b.p.Fault.Reason.String()
			n.Severity = SeverityNote
			return n
		case dissector.ReasonNotMetaRoCE: // the port is a dynamic one: nothing to worry about
			n.Meaning += ", " + b.p.Fault.Reason.String()
			return n
		default:
		}
		if name := udpName(announced.port, announced.source); name != "" {
			n.Name = name
		}
		return n
	case announced.etherType == arp:
		return b.arp(rest)
	case announced.known:
		if name := etherTypeName(announced.etherType); name != "" {
			return b.bytes(name, "data", rest)
		}
	}
	return b.bytes("Not decoded", "data", rest)
}

func (b *builder) lastType() dissector.LayerType {
	if len(b.layers) == 0 {
		return dissector.LayerNone
	}
	return b.layers[len(b.layers)-1].Type
}

// udpName names what a UDP datagram carries by either port. One from a server's port is an answer to somebody whose own
// port means nothing.
func udpName(destination, source uint64) string {
	const firstDynamic = 1024
	if name := udpPortName(source); name != "" && source < firstDynamic {
		return name
	}
	if name := udpPortName(destination); name != "" && destination != dissector.PortRoCEv2 {
		return name
	}
	if source == dissector.PortRoCEv2 {
		return ""
	}
	return udpPortName(source)
}
