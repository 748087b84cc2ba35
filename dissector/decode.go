package dissector

import (
	"math"

	"github.com/rocelens/rocelens/dissector/infiniband"
)

// Decode reads one frame into out and overwrites all of it. The Packet keeps data by reference.
//
// The error is nil when every header was read in full, even if the capture cut the payload behind them,
// and then Protocol says of what: RoCE, or a pause frame. Otherwise it is one of [ErrTruncated],
// [ErrMalformed], [ErrUnsupported] and [ErrNotRDMA], out.Fault has the place, and out has what was read
// before it. The lengths of IP and UDP decide where a packet ends, not the length of the frame, so that
// Ethernet padding never becomes payload; an IP length beyond the frame is taken for a cut copy.
func Decode(data []byte, meta Meta, out *Packet) error {
	stale := out.Protocol == ProtocolMetaRoCE
	before := begin(out)
	out.Meta = meta
	out.Data = data
	if meta.LinkType == LinkTypeEthernet && meta.FCSLength == 0 && quick(data, out) {
		clearLayers(out, before)
		if now := out.Protocol == ProtocolMetaRoCE; now != stale {
			if now {
				out.BTH = infiniband.BTH{}
			} else {
				out.MetaRoCE = MetaRoCE{}
			}
		}
		return nil
	}
	return decodeAll(out, before)
}

// decodeAll walks a frame of any kind, given Meta and Data.
func decodeAll(out *Packet, before uint8) error {
	d := decoder{p: out, data: out.Data, end: math.MaxInt32}
	if wire := int(out.Meta.OriginalLength); wire != 0 {
		d.end = max(wire, len(out.Data)) - int(out.Meta.FCSLength)
		if d.end < len(out.Data) {
			d.data = out.Data[:max(d.end, 0)]
		}
	}
	d.captured = len(d.data)
	err := d.link(out.Meta.LinkType)
	out.CapturedEnd = uint16(min(len(d.data), math.MaxUint16))
	clearLayers(out, before)
	if d.wrote != wroteUsual {
		d.clearUnwritten()
	}
	if out.Protocol != ProtocolMetaRoCE && out.MetaRoCE.Profile != MetaRoCENone {
		out.MetaRoCE = MetaRoCE{}
	}
	return err
}

// clearLayers clears the layers of an earlier Decode behind those of this one.
func clearLayers(p *Packet, before uint8) {
	for i := p.LayerCount; i < before; i++ {
		p.Layers[i] = Layer{}
	}
}

// link reads the first header of the frame and all that follow.
func (d *decoder) link(t LinkType) error {
	switch t {
	case LinkTypeEthernet:
		return d.ethernet()
	case LinkTypeLinuxSLL:
		return d.sll()
	case LinkTypeSLL2:
		return d.sll2()
	case LinkTypeRaw, LinkTypeRaw12, LinkTypeRaw14:
		return d.rawIP()
	case LinkTypeIPv4:
		return d.ipv4()
	case LinkTypeIPv6:
		return d.ipv6()
	case LinkTypeNull, LinkTypeLoop:
		return d.null()
	case LinkTypeERF:
		return d.erf()
	case LinkTypePPI:
	}
	return d.fail(ErrUnsupported, LayerNone, ReasonLinkType)
}

// begin clears what the walk over a frame does not overwrite but only adds to, and tells how many layers an
// earlier Decode left. Clearing by need costs a third of clearing the whole struct.
func begin(p *Packet) (layers uint8) {
	layers = min(p.LayerCount, MaxLayers)
	p.LayerCount = 0
	p.Protocol = ProtocolOther
	p.Fault = Fault{}
	p.LRH = LRH{}
	if p.Tunnel.Type != LayerNone {
		p.Tunnel = Tunnel{}
	}
	if p.Pause.Opcode != 0 {
		p.Pause = Pause{}
	}
	if p.Has&^infiniband.HasBTH != 0 {
		clearExtended(p)
	}
	p.Has = 0
	p.PayloadOffset, p.PayloadLength, p.ICRCOffset = 0, 0, 0
	return layers
}

func clearExtended(p *Packet) {
	p.RDETH = infiniband.RDETH{}
	p.DETH = infiniband.DETH{}
	p.XRCETH = infiniband.XRCETH{}
	p.RETH = infiniband.RETH{}
	p.AtomicETH = infiniband.AtomicETH{}
	p.AETH = infiniband.AETH{}
	p.AtomicAckETH = infiniband.AtomicAckETH{}
	p.ImmDt = infiniband.ImmDt{}
	p.IETH = infiniband.IETH{}
	p.FETH = infiniband.FETH{}
}

// written is a set of the structs of a Packet that the walk over a frame has overwritten.
type written uint8

const (
	wroteEthernet written = 1 << iota
	wroteNetwork
	wroteUDP
	wroteBTH

	wroteUsual = wroteEthernet | wroteNetwork | wroteUDP | wroteBTH
)

// clearUnwritten clears what an earlier Decode left in places that this walk did not come to.
func (d *decoder) clearUnwritten() {
	p := d.p
	if d.wrote&wroteEthernet == 0 {
		p.Ethernet = Ethernet{}
	}
	if d.wrote&wroteNetwork == 0 {
		p.Network = IP{}
	}
	if d.wrote&wroteUDP == 0 {
		p.UDP = UDP{}
	}
	if d.wrote&wroteBTH == 0 {
		p.BTH = infiniband.BTH{}
	}
}

// decoder walks one frame. Every method reads the header at off, notes it and goes on to the next; the
// number of layers bounds how deep that goes.
type decoder struct {
	p        *Packet
	data     []byte // what was captured of the packet, as far as the lengths read so far let it go
	off      int    // of the next header
	end      int    // of the packet by the lengths read so far; may lie behind data
	captured int    // bytes of the frame without FCS
	wrote    written
}

// fail notes why and where decoding stops, and returns err.
func (d *decoder) fail(err error, layer LayerType, reason Reason) error {
	d.p.Fault = Fault{Layer: layer, Reason: reason, Offset: uint16(min(d.off, math.MaxUint16))}
	return err
}

// has tells whether n more bytes are there.
func (d *decoder) has(n int) bool { return d.off+n <= len(d.data) }

// short says why n bytes were not there: the packet is too short for them, or the capture is.
func (d *decoder) short(layer LayerType, n int) error {
	if d.off+n > d.end {
		if d.wrote&wroteNetwork != 0 && d.p.Network.Fragment { // the next fragment has the rest
			return d.fail(ErrUnsupported, layer, ReasonFragment)
		}
		return d.fail(ErrMalformed, layer, ReasonTooShort)
	}
	return d.fail(ErrTruncated, layer, ReasonCut)
}

// push notes a header of n bytes that was read, and steps over it. It answers false when there is no room.
func (d *decoder) push(layer LayerType, n int) bool {
	i := d.p.LayerCount
	if i >= MaxLayers || d.off > math.MaxUint16 {
		return false
	}
	d.p.Layers[i] = Layer{Type: layer, Offset: uint16(d.off), Length: uint16(n)}
	d.p.LayerCount = i + 1
	d.off += n
	return true
}

// full is the error for a push that found no room.
func (d *decoder) full(layer LayerType) error {
	return d.fail(ErrUnsupported, layer, ReasonTooManyLayers)
}

// shorten ends the packet at end bytes from the start of the frame, which may lie behind what was captured.
func (d *decoder) shorten(end int) {
	d.end = end
	if end < len(d.data) {
		d.data = d.data[:end]
	}
}
