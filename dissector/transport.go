package dissector

import (
	"encoding/binary"
	"math"

	"github.com/rocelens/rocelens/dissector/infiniband"
)

const (
	icrcLength = 4
	grhLength  = 40
	lrhLength  = 8

	// shortestTransport is what any packet with a base transport header has at least.
	shortestTransport = infiniband.BTHLength + icrcLength
)

// headerLengths is the size of all headers of an opcode, BTH included; 0 marks an unknown opcode.
var headerLengths = func() (lengths [256]uint8) {
	for i := range lengths {
		if set, known := infiniband.Opcode(i).Headers(); known {
			lengths[i] = uint8(set.Length())
		}
	}
	return lengths
}()

// roceV1 reads the GRH that starts a RoCEv1 packet (IBTA volume 1, annex A16).
func (d *decoder) roceV1() error {
	if err := d.grh(); err != nil {
		return err
	}
	d.shorten(int(d.p.Layers[d.p.LayerCount-1].Offset) + int(d.p.Network.TotalLength))
	return d.afterGRH(ProtocolRoCEv1)
}

// grh reads a global route header (IBTA volume 1, section 8.3).
func (d *decoder) grh() error {
	if !d.has(grhLength) {
		return d.short(LayerGRH, grhLength)
	}
	b := d.data[d.off : d.off+grhLength]
	word := binary.BigEndian.Uint32(b)
	if word>>28 != 6 {
		return d.fail(ErrMalformed, LayerGRH, ReasonGRHVersion)
	}
	d.p.Network.setIPv6(b, word)
	d.p.Network.TotalLength = grhLength + uint32(binary.BigEndian.Uint16(b[4:]))
	d.wrote |= wroteNetwork
	if !d.push(LayerGRH, grhLength) {
		return d.full(LayerGRH)
	}
	return nil
}

func (d *decoder) afterGRH(protocol Protocol) error {
	if d.p.Network.Protocol != protocolIBTransport {
		d.p.Protocol = protocol
		return d.fail(ErrUnsupported, LayerUnknown, ReasonIBRaw)
	}
	return d.transport(protocol)
}

// lrh reads the local route header that starts a native InfiniBand packet (IBTA volume 1, section 7.7). Its
// length field ends before the variant CRC.
func (d *decoder) lrh() error {
	const nextTransport, nextGRH = 2, 3
	if !d.has(lrhLength) {
		return d.short(LayerLRH, lrhLength)
	}
	start := d.off
	b := d.data[start : start+lrhLength]
	next := b[1] & 3
	words := int(binary.BigEndian.Uint16(b[4:]) & 0x7ff)
	d.p.LRH = LRH{
		VirtualLane:    b[0] >> 4,
		ServiceLevel:   b[1] >> 4,
		SourceLID:      binary.BigEndian.Uint16(b[6:]),
		DestinationLID: binary.BigEndian.Uint16(b[2:]),
	}
	d.p.Network = IP{}
	d.wrote |= wroteNetwork
	d.p.Protocol = ProtocolInfiniBand
	if !d.push(LayerLRH, lrhLength) {
		return d.full(LayerLRH)
	}
	d.shorten(start + 4*words)
	switch next {
	case nextTransport:
		return d.transport(ProtocolInfiniBand)
	case nextGRH:
		if err := d.grh(); err != nil {
			return err
		}
		return d.afterGRH(ProtocolInfiniBand)
	}
	return d.fail(ErrUnsupported, LayerUnknown, ReasonIBRaw)
}

// transport reads a base transport header, the extended headers that its opcode has, and finds payload, pad
// and ICRC.
func (d *decoder) transport(protocol Protocol) error {
	p := d.p
	start := d.off
	if d.end-start < shortestTransport && (protocol != ProtocolRoCEv2 || !p.Network.Fragment) {
		return d.tooShortForTransport(protocol)
	}
	if !d.has(infiniband.BTHLength) {
		p.Protocol = protocol
		return d.short(LayerBTH, infiniband.BTHLength)
	}
	b := d.data[start : start+infiniband.BTHLength]
	p.setBTH(b)
	p.Has = infiniband.HasBTH
	p.Protocol = protocol
	d.wrote |= wroteBTH
	if d.end <= math.MaxUint16 && !p.Network.Fragment { // of a fragment nobody knows where pad and ICRC begin
		p.ICRCOffset = uint16(d.end - icrcLength)
	}
	if !d.push(LayerBTH, infiniband.BTHLength) {
		return d.full(LayerBTH)
	}
	h := &p.BTH
	need := int(headerLengths[h.Opcode])
	if h.TransportVersion != 0 || need == 0 || !plausible(p) || d.end-start < need+int(h.PadCount)+icrcLength {
		if err := d.doubtful(start, need); err != nil {
			return err
		}
	}
	set, _ := h.Opcode.Headers()
	switch set {
	case infiniband.HasBTH:
	case infiniband.HasBTH | infiniband.HasRETH:
		if !d.has(infiniband.RETHLength) {
			return d.short(LayerRETH, infiniband.RETHLength)
		}
		p.setRETH(d.data[d.off:])
		p.Has = set
		if !d.push(LayerRETH, infiniband.RETHLength) {
			return d.full(LayerRETH)
		}
	case infiniband.HasBTH | infiniband.HasAETH:
		if !d.has(infiniband.AETHLength) {
			return d.short(LayerAETH, infiniband.AETHLength)
		}
		p.setAETH(d.data[d.off:])
		p.Has = set
		if !d.push(LayerAETH, infiniband.AETHLength) {
			return d.full(LayerAETH)
		}
	default:
		if err := d.extended(set &^ infiniband.HasBTH); err != nil {
			return err
		}
	}
	return d.tail()
}

// setBTH reads a base transport header where it is to be kept. The decoders of package infiniband make a
// value and copy it, which costs a nanosecond or two that this path does not have; so with the next two.
func (p *Packet) setBTH(b []byte) {
	_ = b[infiniband.BTHLength-1]
	h := &p.BTH
	h.Opcode = infiniband.Opcode(b[0])
	h.SolicitedEvent = b[1]&0x80 != 0
	h.MigrationRequest = b[1]&0x40 != 0
	h.PadCount = b[1] >> 4 & 3
	h.TransportVersion = b[1] & 0xf
	h.PartitionKey = binary.BigEndian.Uint16(b[2:])
	h.FECN = b[4]&0x80 != 0
	h.BECN = b[4]&0x40 != 0
	h.Reserved6 = b[4] & 0x3f
	h.DestinationQP = binary.BigEndian.Uint32(b[4:]) & 0xffffff
	h.AckRequest = b[8]&0x80 != 0
	h.Reserved7 = b[8] & 0x7f
	h.PSN = binary.BigEndian.Uint32(b[8:]) & 0xffffff
}

func (p *Packet) setRETH(b []byte) {
	_ = b[infiniband.RETHLength-1]
	p.RETH.VirtualAddress = binary.BigEndian.Uint64(b)
	p.RETH.RemoteKey = binary.BigEndian.Uint32(b[8:])
	p.RETH.DMALength = binary.BigEndian.Uint32(b[12:])
}

func (p *Packet) setAETH(b []byte) {
	word := binary.BigEndian.Uint32(b)
	p.AETH.Syndrome = infiniband.Syndrome(word >> 24)
	p.AETH.MSN = word & 0xffffff
}

func (d *decoder) tooShortForTransport(protocol Protocol) error {
	if protocol == ProtocolRoCEv2 { // the port alone does not make it RoCE
		return d.fail(ErrNotRDMA, LayerUDP, ReasonNotRoCE)
	}
	d.p.Protocol = protocol
	return d.fail(ErrMalformed, LayerBTH, ReasonTooShort)
}

// plausible tells whether the fields that a sender of RoCEv2 leaves no choice in look like its own. A valid
// P_Key has a base other than 0. A datagram from a well-known port is more likely an answer to somebody
// whose port is 4791 by chance, unless the P_Key is the default one, which few protocols would have there.
func plausible(p *Packet) bool {
	const baseKey = 0x7fff
	key := p.BTH.PartitionKey & baseKey
	if key == baseKey {
		return p.BTH.Reserved7 == 0
	}
	return p.Protocol != ProtocolRoCEv2 || (key != 0 && p.BTH.Reserved7 == 0 && !wellKnown(p.UDP.SourcePort))
}

// doubtful decides about a packet whose base transport header does not look right. UDP port 4791 is no proof
// of RoCE, a right ICRC is; where none can be computed the other fields must do. It answers nil when the
// packet is to be decoded after all.
func (d *decoder) doubtful(start, need int) error {
	p := d.p
	opcode := p.BTH.Opcode
	vendor := opcode >= firstVendorOpcode && p.Protocol == ProtocolRoCEv2
	if p.Protocol == ProtocolRoCEv2 {
		p.CapturedEnd = uint16(min(len(d.data), math.MaxUint16))
		state := VerifyICRC(p)
		looksRight := p.BTH.TransportVersion == 0 && plausible(p)
		if state != ICRCGood && (!looksRight || (state == ICRCBad && !vendor)) {
			return d.notRoCE(start)
		}
	}
	switch {
	case p.BTH.TransportVersion != 0:
		return d.failAt(start, ErrUnsupported, LayerBTH, ReasonTransportHeader)
	case vendor:
		p.Protocol = ProtocolMRC
		return d.failAt(start, ErrUnsupported, LayerBTH, ReasonMRC)
	case need == 0:
		return d.failAt(start, ErrUnsupported, LayerBTH, ReasonOpcode)
	case p.Network.Fragment && p.Protocol == ProtocolRoCEv2:
		return nil
	case d.end-start < need+icrcLength:
		return d.failAt(start+infiniband.BTHLength, ErrMalformed, LayerBTH, ReasonTooShort)
	case d.end-start < need+int(p.BTH.PadCount)+icrcLength:
		return d.failAt(start, ErrMalformed, LayerBTH, ReasonPad)
	}
	return nil
}

// firstVendorOpcode starts the manufacturer specific opcodes, which MRC uses in UDP.
const firstVendorOpcode = 0xc0

func (d *decoder) failAt(offset int, err error, layer LayerType, reason Reason) error {
	d.off = offset
	return d.fail(err, layer, reason)
}

// notRoCE takes the base transport header back.
func (d *decoder) notRoCE(start int) error {
	p := d.p
	p.LayerCount--
	p.Layers[p.LayerCount] = Layer{}
	p.BTH = infiniband.BTH{}
	p.Has = 0
	p.ICRCOffset = 0
	p.Protocol = ProtocolOther
	return d.failAt(start, ErrNotRDMA, LayerUDP, ReasonNotRoCE)
}

// extended reads a set of extended headers in their order on the wire.
func (d *decoder) extended(set infiniband.HeaderSet) error {
	p := d.p
	for _, header := range infiniband.WireOrder {
		if set&header == 0 {
			continue
		}
		var (
			layer LayerType
			n     int
			err   error
			b     = d.data[min(d.off, len(d.data)):]
		)
		switch header {
		case infiniband.HasRDETH:
			layer, n = LayerRDETH, infiniband.RDETHLength
			_, err = p.RDETH.Decode(b)
			if err == nil && p.RDETH.Reserved != 0 {
				p.RDETH = infiniband.RDETH{}
				return d.fail(ErrUnsupported, LayerRDETH, ReasonNotRD)
			}
		case infiniband.HasDETH:
			layer, n = LayerDETH, infiniband.DETHLength
			_, err = p.DETH.Decode(b)
		case infiniband.HasXRCETH:
			layer, n = LayerXRCETH, infiniband.XRCETHLength
			_, err = p.XRCETH.Decode(b)
		case infiniband.HasRETH:
			layer, n = LayerRETH, infiniband.RETHLength
			_, err = p.RETH.Decode(b)
		case infiniband.HasAtomicETH:
			layer, n = LayerAtomicETH, infiniband.AtomicETHLength
			_, err = p.AtomicETH.Decode(b)
		case infiniband.HasAETH:
			layer, n = LayerAETH, infiniband.AETHLength
			_, err = p.AETH.Decode(b)
		case infiniband.HasAtomicAckETH:
			layer, n = LayerAtomicAckETH, infiniband.AtomicAckETHLength
			_, err = p.AtomicAckETH.Decode(b)
		case infiniband.HasImmDt:
			layer, n = LayerImmDt, infiniband.ImmDtLength
			_, err = p.ImmDt.Decode(b)
		case infiniband.HasIETH:
			layer, n = LayerIETH, infiniband.IETHLength
			_, err = p.IETH.Decode(b)
		case infiniband.HasFETH:
			layer, n = LayerFETH, infiniband.FETHLength
			_, err = p.FETH.Decode(b)
		case infiniband.HasCNP:
			layer, n = LayerCNP, infiniband.CNPLength
			if len(b) < n {
				err = infiniband.ErrTruncated
			}
		default: // HasBTH, which is no extended header
		}
		if err != nil {
			return d.short(layer, n)
		}
		if !d.push(layer, n) {
			return d.full(layer)
		}
		p.Has |= header
	}
	return nil
}

// tail finds payload, pad, ICRC and what follows the packet.
func (d *decoder) tail() error {
	p := d.p
	if d.end > math.MaxUint16 {
		return d.fail(ErrUnsupported, LayerPayload, ReasonTooLong)
	}
	payloadEnd := d.end
	pad := int(p.BTH.PadCount)
	if p.ICRCOffset != 0 {
		payloadEnd -= icrcLength + pad
	}
	start := d.off
	p.PayloadOffset = uint16(start)
	p.PayloadLength = uint16(max(payloadEnd-start, 0))
	layer := LayerPayload
	if p.Has&infiniband.HasDETH != 0 && p.BTH.DestinationQP <= 1 && p.BTH.Opcode.Service() == infiniband.ServiceUD {
		layer = LayerMAD
	}
	ok := true
	if n := min(payloadEnd, len(d.data)) - start; n > 0 {
		ok = d.push(layer, n)
	}
	if p.ICRCOffset != 0 && d.end <= len(d.data) {
		if pad != 0 {
			ok = ok && d.push(LayerPad, pad)
		}
		ok = ok && d.push(LayerICRC, icrcLength)
	}
	if !ok || !d.trailer() {
		return d.full(layer)
	}
	return nil
}

// trailer notes the bytes of the frame behind the packet: Ethernet padding, variant CRC, FCS.
func (d *decoder) trailer() bool {
	ok := true
	if d.off < d.captured && d.off >= d.end {
		ok = d.push(LayerTrailer, min(d.captured-d.off, math.MaxUint16))
	}
	if n := len(d.p.Data) - d.captured; n > 0 {
		d.off = d.captured
		ok = ok && d.push(LayerFCS, n)
	}
	return ok
}
