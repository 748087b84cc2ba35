package dissector

import (
	"encoding/binary"
	"errors"
	"math"
	"net/netip"

	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/metaroce"
)

// metaRoCE is the profile that a UDP destination port is bound to.
func (m *Meta) metaRoCE(port uint16) MetaRoCEProfile {
	own := profileOfPort(port)
	if m.MetaRoCEPort == 0 {
		return own
	}
	bound := max(m.MetaRoCEProfile, MetaRoCENone+1)
	switch {
	case port == m.MetaRoCEPort:
		return bound
	case own == bound: // it has moved away
		return MetaRoCENone
	}
	return own
}

// metaRoCE reads the packet of a MetaRoCE profile. The ports of the profiles are dynamic ones, so that a packet
// whose version, type or lengths are wrong is another program's unless its ICRC is right.
func (d *decoder) metaRoCE(profile MetaRoCEProfile) error {
	p := d.p
	start := d.off
	length := d.end - start
	if p.Network.Fragment {
		length = int(p.UDP.Length) - udpLength
	}
	p.BTH = infiniband.BTH{}
	p.MetaRoCE.use(profile)
	err := p.MetaRoCE.decode(d.data[min(start, len(d.data)):], length)
	p.Protocol = ProtocolMetaRoCE
	if d.end <= math.MaxUint16 && !p.Network.Fragment && length >= icrcLength {
		p.ICRCOffset = uint16(d.end - icrcLength)
	}
	fault := p.MetaRoCE.Fault()
	headers := p.MetaRoCE.headers()
	if d.notMetaRoCE(fault.Reason, headers) {
		p.Protocol = ProtocolOther
		p.ICRCOffset = 0
		return d.fail(ErrNotRDMA, LayerUDP, ReasonNotMetaRoCE)
	}
	if headers > 0 && !d.push(LayerMetaRoCE, headers) {
		return d.full(LayerMetaRoCE)
	}
	switch {
	case err == nil:
		return d.tail()
	case errors.Is(err, metaroce.ErrTruncated) && p.Network.Fragment:
		p.ICRCOffset = 0
		return d.fail(ErrUnsupported, LayerMetaRoCE, ReasonFragment)
	case errors.Is(err, metaroce.ErrTruncated):
		return d.fail(ErrTruncated, LayerMetaRoCE, ReasonCut)
	}
	if fault.Reason.InDoubt() { // where the payload begins is what is in doubt
		d.off = int(p.ICRCOffset)
		if !d.push(LayerICRC, icrcLength) || !d.trailer() {
			return d.full(LayerMetaRoCE)
		}
	} else if err := d.tail(); err != nil {
		return err
	}
	return d.failAt(min(start+int(fault.Offset), len(d.data)), ErrMalformed, LayerMetaRoCE, metaRoCEReasons[fault.Reason])
}

// notMetaRoCE tells whether a packet on the port of a profile is another program's.
func (d *decoder) notMetaRoCE(reason metaroce.Reason, headers int) bool {
	switch {
	case reason.InDoubt():
		d.p.CapturedEnd = uint16(min(len(d.data), math.MaxUint16))
		return VerifyICRC(d.p) != ICRCGood
	case headers == 0: // nothing of it was captured
		return wellKnown(d.p.UDP.SourcePort)
	}
	return false
}

var metaRoCEReasons = [...]Reason{
	metaroce.ReasonVersion:       ReasonMetaRoCEVersion,
	metaroce.ReasonType:          ReasonMetaRoCEType,
	metaroce.ReasonHeaders:       ReasonMetaRoCEHeaders,
	metaroce.ReasonPayloadLength: ReasonMetaRoCEPayloadLength,
	metaroce.ReasonPayload:       ReasonMetaRoCEPayload,
	metaroce.ReasonFlag:          ReasonMetaRoCEFlag,
	metaroce.ReasonFirst:         ReasonMetaRoCEFirst,
	metaroce.ReasonLast:          ReasonMetaRoCELast,
	metaroce.ReasonOffset:        ReasonMetaRoCEOffset,
	metaroce.ReasonRange:         ReasonMetaRoCERange,
}

// verifyMetaRoCE is VerifyICRC for a packet of a MetaRoCE profile.
func verifyMetaRoCE(p *Packet) ICRCState {
	end, udp := int(p.ICRCOffset), p.last(LayerUDP)
	if end == 0 || udp < 0 || end+icrcLength > min(int(p.CapturedEnd), len(p.Data)) || p.Network.Fragment ||
		(p.Network.Version == 6 && p.Network.Options) { // a routing header changes the destination
		return ICRCUndetermined
	}
	computed, ok := ComputeMetaRoCEICRC(p)
	received := binary.LittleEndian.Uint32(p.Data[end:])
	switch {
	case !ok:
		return ICRCUndetermined
	case computed == received:
		return ICRCGood
	case received == 0, p.Network.Options: // not filled in yet; a source route changes the destination
		return ICRCUndetermined
	}
	return ICRCBad
}

// ComputeMetaRoCEICRC is the ICRC that a MetaRoCE packet should have, by its profile's rule. It answers false when
// the packet is none, or was not captured up to there.
func ComputeMetaRoCEICRC(p *Packet) (uint32, bool) {
	end, udp := int(p.ICRCOffset), p.last(LayerUDP)
	if p.Protocol != ProtocolMetaRoCE || udp < 0 || end > len(p.Data) || end < p.Layers[udp].End() {
		return 0, false
	}
	source := netip.AddrPortFrom(p.Network.Source.Addr(), p.UDP.SourcePort)
	destination := netip.AddrPortFrom(p.Network.Destination.Addr(), p.UDP.DestinationPort)
	return p.MetaRoCE.ComputeICRC(p.Data[p.Layers[udp].End():end], source, destination), true
}
