package tree

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"github.com/rocelens/rocelens/dissector"
)

// bytes is a run of bytes that is one field.
func (b *builder) bytes(name, field string, l dissector.Layer) *Node {
	g := b.group(name, field, l)
	g.node.Value = g.data
	g.node.Meaning = byteCount(len(g.data))
	return g.node
}

func byteCount(n int) string {
	if n == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", n)
}

func (b *builder) payload(l dissector.Layer) *Node {
	n := b.bytes("Payload", b.payloadField(), l)
	b.cutPayload(n)
	b.application(n, l)
	return n
}

// cutPayload notes that the capture has only a part of the payload.
func (b *builder) cutPayload(n *Node) {
	if wire := int(b.p.PayloadLength); n.Length < wire {
		n.Meaning = fmt.Sprintf("%d of %s captured", n.Length, byteCount(wire))
		n.Severity = SeverityNote
	}
}

// missingEnd stands for a payload and an ICRC of which the capture has nothing.
func (b *builder) missingEnd() {
	if !b.p.IsRDMA() && b.p.Protocol != dissector.ProtocolMetaRoCE || b.err != nil {
		return
	}
	if b.p.PayloadLength > 0 && b.last(dissector.LayerPayload) < 0 && b.last(dissector.LayerMAD) < 0 {
		n := &Node{Name: "Payload", Field: b.payloadField(), Offset: len(b.p.Data)}
		b.cutPayload(n)
		b.append(n)
	}
	if b.last(dissector.LayerICRC) >= 0 {
		return
	}
	for _, c := range b.root.Children {
		if c.Field == b.icrcField() {
			return
		}
	}
	g := newGroup("ICRC", b.icrcField(), b.p.Data, len(b.p.Data), 0)
	g.node.Meaning = "not there"
	b.icrcVerdict(g)
	b.append(g.node)
}

// icrcField is the name of the field that holds the invariant CRC.
func (b *builder) icrcField() string {
	if packet := b.p.MetaRoCE.Decoded(); packet != nil {
		return packet.Profile().Filter + ".icrc"
	}
	return "infiniband.invariant.crc"
}

// payloadField is the name of the field that holds the transport payload.
func (b *builder) payloadField() string {
	if packet := b.p.MetaRoCE.Decoded(); packet != nil {
		return packet.Profile().Filter + ".payload"
	}
	return "infiniband.payload"
}

// icrc shows the invariant CRC as it stands on the wire, least significant byte first, with the verdict.
func (b *builder) icrc(l dissector.Layer) *Node {
	g := b.group("ICRC", b.icrcField(), l)
	g.node.Value = g.value(0, len(g.data))
	g.node.Meaning = fmt.Sprintf("0x%0*x", 2*len(g.data), g.node.Value)
	b.icrcVerdict(g)
	return g.node
}

// icrcVerdict adds what comes out when the CRC is computed.
func (b *builder) icrcVerdict(g *group) {
	field := b.icrcField() + ".status"
	verdict := func(status, why string) *Node {
		g.node.Meaning += ", " + why
		return g.computed("Status", field, status, why)
	}
	switch dissector.VerifyICRC(b.p) {
	case dissector.ICRCGood:
		verdict("good", "right")
	case dissector.ICRCBad:
		why := "wrong"
		if port, ok := dissector.FindRewrittenPort(b.p); ok {
			why = fmt.Sprintf("wrong; it would be right for UDP source port %d", port)
		}
		verdict("bad", why).Severity = SeverityError
		g.node.Severity = SeverityError
		if computed, ok := b.computedICRC(); ok {
			g.computed("Computed", b.icrcField()+".computed", uint64(computed), fmt.Sprintf("0x%08x", computed))
		}
	case dissector.ICRCNotChecked, dissector.ICRCUndetermined:
		verdict("undetermined", "cannot tell: "+b.whyUndetermined())
	}
}

// computedICRC is the value that should stand on the wire, its first byte in the highest eight bits.
func (b *builder) computedICRC() (uint32, bool) {
	before := 0 // layers before the BTH that are covered
	switch b.p.Protocol {
	case dissector.ProtocolRoCEv2, dissector.ProtocolMRC:
		before = 2
	case dissector.ProtocolRoCEv1:
		before = 1
	case dissector.ProtocolInfiniBand:
		return b.computedFrom(b.last(dissector.LayerLRH))
	case dissector.ProtocolMetaRoCE:
		computed, ok := dissector.ComputeMetaRoCEICRC(b.p)
		return bits.ReverseBytes32(computed), ok
	case dissector.ProtocolOther, dissector.ProtocolUET, dissector.ProtocolVeRoCE,
		dissector.ProtocolIWARP, dissector.ProtocolPause:
		return 0, false
	}
	return b.computedFrom(b.last(dissector.LayerBTH) - before)
}

func (b *builder) computedFrom(layer int) (uint32, bool) {
	if layer < 0 {
		return 0, false
	}
	start, end := int(b.p.Layers[layer].Offset), int(b.p.ICRCOffset)
	if start > end || end > len(b.p.Data) {
		return 0, false
	}
	computed, ok := dissector.ComputeICRC(b.p.Protocol, b.p.Data[start:end])
	return bits.ReverseBytes32(computed), ok
}

// last is the index of the last layer of a type, or -1.
func (b *builder) last(t dissector.LayerType) int {
	for i, l := range slices.Backward(b.layers) {
		if l.Type == t {
			return i
		}
	}
	return -1
}

// whyUndetermined says why there is no verdict on the ICRC.
func (b *builder) whyUndetermined() string {
	const size = 4
	at := int(b.p.ICRCOffset)
	switch {
	case b.p.Network.Fragment:
		return "fragment of a datagram"
	case at == 0:
		return "the packet was not decoded up to its end"
	case at+size > len(b.p.Data):
		return "cut by the capture"
	case at+size > int(b.p.CapturedEnd):
		return "a header around the packet ends before it"
	case b.p.Network.Version == 6 && b.p.Network.Options:
		return "IPv6 extension headers"
	case binary.BigEndian.Uint32(b.p.Data[at:]) == 0:
		return "zero, captured before the NIC filled it in"
	case b.p.Network.Options:
		return "IPv4 options, which routers may change"
	case b.p.Tunnel.Truncated:
		return "the switch says that it cut its copy"
	case b.lengthless():
		return "the length in the IP header is zero, captured before the NIC filled it in"
	}
	return "a covered field may have been rewritten"
}

// lengthless tells whether the innermost IP header leaves its length out.
func (b *builder) lengthless() bool {
	const lengthOfIPv4, lengthOfIPv6 = 2, 4
	if i := b.last(dissector.LayerIPv4); b.p.Network.Version == 4 && i >= 0 {
		return binary.BigEndian.Uint16(b.p.Data[int(b.layers[i].Offset)+lengthOfIPv4:]) == 0
	}
	i := b.last(dissector.LayerIPv6)
	return i >= 0 && binary.BigEndian.Uint16(b.p.Data[int(b.layers[i].Offset)+lengthOfIPv6:]) == 0
}
