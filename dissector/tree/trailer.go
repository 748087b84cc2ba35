package tree

import (
	"bytes"
	"fmt"

	"github.com/rocelens/rocelens/dissector"
)

// packetEnd is the offset in the frame of the first byte behind the innermost packet, by the lengths in its
// headers. Where Decode came to the end of the packet, it lists what follows itself.
func (b *builder) packetEnd() int {
	const arp, fixed = 0x0806, 8
	if at := b.at; b.next.known && b.next.etherType == arp && at+fixed <= b.frameEnd() {
		hardware, protocol := int(b.p.Data[at+4]), int(b.p.Data[at+5]) // the lengths of its addresses
		return min(at+fixed+2*(hardware+protocol), b.frameEnd())
	}
	if end := int(b.p.CapturedEnd); b.err != nil && end != 0 && end < b.frameEnd() {
		return end
	}
	return b.frameEnd()
}

// frameEnd is the offset of the frame check sequence, or of the end of what was captured.
func (b *builder) frameEnd() int {
	captured := len(b.p.Data)
	if wire := int(b.p.Meta.OriginalLength); wire != 0 {
		return min(captured, max(max(wire, captured)-int(b.p.Meta.FCSLength), 0))
	}
	return captured
}

// behindPacket covers what follows the innermost packet in its frame.
func (b *builder) behindPacket() {
	const limit = 0xffff // of what a layer can say
	if at, end := b.at, b.frameEnd(); at < end && end <= limit {
		b.append(b.trailer(dissector.Layer{Offset: uint16(at), Length: uint16(end - at)}))
	}
	if at, end := b.at, len(b.p.Data); b.p.Meta.FCSLength != 0 && at < end && end <= limit {
		b.append(b.bytes("Frame check sequence", "eth.fcs", dissector.Layer{Offset: uint16(at), Length: uint16(end - at)}))
	}
	b.upTo(len(b.p.Data))
}

// trailer is what follows the packet in its frame: the variant CRC of native InfiniBand, the padding of a frame
// that would be shorter than Ethernet allows (IEEE 802.3 clause 3.2.8), or something else.
func (b *builder) trailer(l dissector.Layer) *Node {
	const variantCRC = 2
	if b.p.Protocol == dissector.ProtocolInfiniBand && l.Length == variantCRC {
		g := b.group("VCRC", "infiniband.variant.crc", l)
		g.node.Value = g.value(0, variantCRC)
		g.node.Meaning = fmt.Sprintf("0x%04x", g.node.Value)
		return g.node
	}
	n := b.bytes("Trailer", "eth.trailer", l)
	if v, ok := n.Value.([]byte); ok && b.fillsEthernet(l) && len(bytes.Trim(v, "\x00")) == 0 {
		n.Name, n.Field = "Padding", "eth.padding"
	}
	return n
}

// fillsEthernet tells whether an Ethernet frame, the whole one or one in a tunnel or record, is no longer than
// Ethernet's shortest with these bytes.
func (b *builder) fillsEthernet(l dissector.Layer) bool {
	const shortest = 60 // without the frame check sequence
	for _, e := range b.layers {
		if e.Type == dissector.LayerEthernet && l.End()-int(e.Offset) <= shortest {
			return true
		}
	}
	return false
}
