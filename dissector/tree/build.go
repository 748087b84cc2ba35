package tree

import (
	"errors"
	"fmt"
	"time"

	"github.com/rocelens/rocelens/dissector"
)

// Build makes the tree of a packet. It takes what [dissector.Decode] filled in and what it returned, and
// keeps parts of the frame by reference. The root stands for the frame; its first child tells what the
// capture knows about it, and the others, headers outermost first, cover all of its bytes.
func Build(p *dissector.Packet, err error) *Node {
	b := &builder{p: p, err: err, layers: p.Layers[:min(int(p.LayerCount), dissector.MaxLayers)]}
	b.root = &Node{
		Name:     fmt.Sprintf("Frame %d", p.Meta.Number),
		Field:    "frame",
		Meaning:  frameSize(p),
		Length:   len(p.Data),
		Children: []*Node{b.capture()},
	}
	for i, l := range b.layers {
		b.upTo(int(l.Offset))
		if n := b.layer(l); n != nil {
			b.append(n)
		}
		b.faultAfter(i)
	}
	b.upTo(b.packetEnd())
	b.faultAtEnd()
	b.behindPacket()
	b.missingEnd()
	fill(b.root, p.Data)
	return b.root
}

// AddComments puts what people wrote into the capture about the packet beside what the capture knows of it. The
// comments are no part of the frame, so that no display filter asks for them.
func AddComments(root *Node, comments []string) {
	for _, text := range comments {
		n := &Node{Name: "Comment", Field: "frame.comment", Value: text}
		root.Children[0].Children = append(root.Children[0].Children, n)
	}
}

func frameSize(p *dissector.Packet) string {
	if p.Meta.OriginalLength == 0 {
		return byteCount(len(p.Data)) + " captured"
	}
	return fmt.Sprintf("%s on the wire, %d captured", byteCount(int(p.Meta.OriginalLength)), len(p.Data))
}

// builder makes one tree.
type builder struct {
	p      *dissector.Packet
	err    error
	root   *Node
	layers []dissector.Layer

	at       int  // first byte that no node covers
	faulted  bool // the fault has its node
	next     next // what the last header says of what follows
	stackEnd int  // offset behind the last MPLS label stack, 0 when there is none
}

// next is what a header announces as its payload.
type next struct {
	known     bool
	isIP      bool   // protocol is set
	etherType uint64 // otherwise
	protocol  uint64
	port      uint64 // UDP destination
	source    uint64 // UDP source
}

// group starts the node of a layer.
func (b *builder) group(name, field string, l dissector.Layer) *group {
	return newGroup(name, field, b.p.Data, int(l.Offset), int(l.Length))
}

func (b *builder) append(n *Node) {
	b.root.Children = append(b.root.Children, n)
	if n.Length > 0 {
		b.at = max(b.at, n.Offset+n.Length)
	}
}

// capture tells what the capture, not the frame, knows.
func (b *builder) capture() *Node {
	m := &b.p.Meta
	n := &Node{Name: "Capture"}
	add := func(name, field string, value uint64, meaning string) {
		n.Children = append(n.Children, &Node{Name: name, Field: field, Value: value, Meaning: meaning})
	}
	add("Number", "frame.number", m.Number, "")
	if m.HasTime {
		n.Children = append(n.Children, &Node{
			Name: "Time", Field: "frame.time_epoch", Value: epoch(m.Time),
			Meaning: time.Unix(0, m.Time).UTC().Format("2006-01-02 15:04:05.000000000 UTC"),
		})
	}
	if m.OriginalLength != 0 {
		add("Length on the wire", "frame.len", uint64(m.OriginalLength), "")
	}
	add("Captured length", "frame.cap_len", uint64(len(b.p.Data)), "")
	add("Interface", "frame.interface_id", uint64(m.Interface), "")
	add("Link type", "frame.link_type", uint64(m.LinkType), linkTypeName(m.LinkType))
	return n
}

// epoch writes nanoseconds since the Unix epoch as seconds, in full.
func epoch(ns int64) string {
	const second = int64(time.Second)
	seconds, fraction := ns/second, ns%second
	if fraction < 0 {
		seconds, fraction = seconds-1, fraction+second
	}
	return fmt.Sprintf("%d.%09d", seconds, fraction)
}

// linkTypeName is the tcpdump registry's name of a link type that Decode reads.
func linkTypeName(t dissector.LinkType) string {
	switch t {
	case dissector.LinkTypeNull:
		return "NULL"
	case dissector.LinkTypeEthernet:
		return "ETHERNET"
	case dissector.LinkTypeRaw, dissector.LinkTypeRaw12, dissector.LinkTypeRaw14:
		return "RAW"
	case dissector.LinkTypeLoop:
		return "LOOP"
	case dissector.LinkTypeLinuxSLL:
		return "LINUX_SLL"
	case dissector.LinkTypePPI:
		return "PPI"
	case dissector.LinkTypeERF:
		return "ERF"
	case dissector.LinkTypeIPv4:
		return "IPV4"
	case dissector.LinkTypeIPv6:
		return "IPV6"
	case dissector.LinkTypeSLL2:
		return "LINUX_SLL2"
	}
	return ""
}

// layer makes the node of one layer.
func (b *builder) layer(l dissector.Layer) *Node {
	switch l.Type {
	case dissector.LayerEthernet:
		return b.ethernet(l)
	case dissector.LayerVLAN:
		return b.vlan(l)
	case dissector.LayerLLC:
		return b.llc(l)
	case dissector.LayerMACControl:
		return b.macControl(l)
	case dissector.LayerSLL:
		return b.sll(l)
	case dissector.LayerSLL2:
		return b.sll2(l)
	case dissector.LayerERF:
		return b.erf(l)
	case dissector.LayerNull:
		return b.null(l)
	case dissector.LayerMPLS:
		return b.mpls(l)
	case dissector.LayerIPv4:
		return b.ipv4(l)
	case dissector.LayerIPv6:
		return b.ipv6(l)
	case dissector.LayerIPv6Extension, dissector.LayerSRv6:
		return b.ipv6Extension(l)
	case dissector.LayerUDP:
		return b.udp(l)
	case dissector.LayerTCP:
		return b.tcp(l)
	case dissector.LayerICMP:
		return b.icmp(l)
	case dissector.LayerVXLAN:
		return b.vxlan(l)
	case dissector.LayerGENEVE:
		return b.geneve(l)
	case dissector.LayerGRE:
		return b.gre(l)
	case dissector.LayerERSPAN1:
		return b.erspan1(l)
	case dissector.LayerERSPAN2:
		return b.erspan2(l)
	case dissector.LayerERSPAN3:
		return b.erspan3(l)
	case dissector.LayerGRH:
		return b.grh(l)
	case dissector.LayerLRH:
		return b.lrh(l)
	case dissector.LayerBTH:
		return b.bth(l)
	case dissector.LayerRDETH:
		return b.rdeth(l)
	case dissector.LayerDETH:
		return b.deth(l)
	case dissector.LayerXRCETH:
		return b.xrceth(l)
	case dissector.LayerRETH:
		return b.reth(l)
	case dissector.LayerAtomicETH:
		return b.atomicETH(l)
	case dissector.LayerAETH:
		return b.aeth(l)
	case dissector.LayerAtomicAckETH:
		return b.atomicAckETH(l)
	case dissector.LayerImmDt:
		return b.word("ImmDt", "infiniband.immdt", l)
	case dissector.LayerIETH:
		return b.word("IETH", "infiniband.ieth", l)
	case dissector.LayerFETH:
		return b.feth(l)
	case dissector.LayerCNP:
		return b.cnp(l)
	case dissector.LayerMAD:
		return b.mad(l)
	case dissector.LayerPayload:
		return b.payload(l)
	case dissector.LayerPad:
		return b.bytes("Pad", "infiniband.pad", l)
	case dissector.LayerICRC:
		return b.icrc(l)
	case dissector.LayerTrailer:
		return b.trailer(l)
	case dissector.LayerFCS:
		return b.bytes("Frame check sequence", "eth.fcs", l)
	case dissector.LayerFragment:
		return b.bytes("Fragment", "data", l)
	case dissector.LayerUnknown:
		if b.next.isIP && b.next.protocol == protocolAH {
			return b.authentication(l)
		}
	case dissector.LayerMetaRoCE:
		return b.metaRoCE(l)
	case dissector.LayerNone:
	}
	return b.bytes(l.Type.String(), "data", l)
}

const protocolAH = 51

// isFault tells whether the error is more than "not RDMA".
func isFault(err error) bool { return err != nil && !errors.Is(err, dissector.ErrNotRDMA) }
