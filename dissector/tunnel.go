package dissector

import "encoding/binary"

// enter notes a tunnel: the outermost IP header is kept, and what was innermost so far is cleared, since
// the inner packet may have no IP header of its own. What a mirror said of its copy holds for all in the copy. It answers false when there are too many.
func (d *decoder) enter(layer LayerType, id uint32) bool {
	t := &d.p.Tunnel
	if t.Depth >= MaxDepth {
		return false
	}
	if t.Outer.Version == 0 && d.wrote&wroteNetwork != 0 {
		t.Outer = d.p.Network
	}
	t.Type = layer
	t.Depth++
	t.ID = id
	t.OuterID = 0
	d.p.Network = IP{}
	d.p.UDP = UDP{}
	d.wrote |= wroteNetwork | wroteUDP
	return true
}

func (d *decoder) tooDeep(layer LayerType) error {
	return d.fail(ErrUnsupported, layer, ReasonTooManyTunnels)
}

// vxlan reads a VXLAN header (RFC 7348) and the Ethernet frame behind it. The generic protocol extension
// (draft-ietf-nvo3-vxlan-gpe), on a port of its own, names other payloads.
func (d *decoder) vxlan(extended bool) error {
	const (
		length           = 8
		validID          = 0x08
		validNext        = 0x04
		nextIPv4         = 1
		nextIPv6         = 2
		nextEthernet     = 3
		nextWhenNotNamed = nextEthernet
	)
	if !d.has(length) {
		if d.off+length > d.end {
			return d.fail(ErrNotRDMA, LayerUDP, ReasonUDPPort)
		}
		return d.short(LayerVXLAN, length)
	}
	b := d.data[d.off : d.off+length]
	if b[0]&validID == 0 {
		return d.fail(ErrNotRDMA, LayerUDP, ReasonUDPPort)
	}
	next := uint8(nextWhenNotNamed)
	if extended && b[0]&validNext != 0 {
		next = b[3]
	}
	id := binary.BigEndian.Uint32(b[4:]) >> 8
	if !d.push(LayerVXLAN, length) {
		return d.full(LayerVXLAN)
	}
	if !d.enter(LayerVXLAN, id) {
		return d.tooDeep(LayerVXLAN)
	}
	switch next {
	case nextIPv4:
		return d.ipv4()
	case nextIPv6:
		return d.ipv6()
	case nextEthernet:
		return d.ethernet()
	}
	return d.fail(ErrUnsupported, LayerUnknown, ReasonTunnelPayload)
}

// geneve reads a GENEVE header with its options (RFC 8926).
func (d *decoder) geneve() error {
	const length = 8
	if !d.has(length) {
		if d.off+length > d.end {
			return d.fail(ErrNotRDMA, LayerUDP, ReasonUDPPort)
		}
		return d.short(LayerGENEVE, length)
	}
	b := d.data[d.off : d.off+length]
	if b[0]>>6 != 0 {
		return d.fail(ErrUnsupported, LayerGENEVE, ReasonTunnelVersion)
	}
	whole := length + int(b[0]&0x3f)*4
	if !d.has(whole) {
		return d.short(LayerGENEVE, whole)
	}
	carried := binary.BigEndian.Uint16(b[2:])
	id := binary.BigEndian.Uint32(b[4:]) >> 8
	if !d.push(LayerGENEVE, whole) {
		return d.full(LayerGENEVE)
	}
	if !d.enter(LayerGENEVE, id) {
		return d.tooDeep(LayerGENEVE)
	}
	return d.bridged(carried)
}

// bridged goes on with the ethertype that a tunnel names.
func (d *decoder) bridged(carried uint16) error {
	if carried == etherTypeTEB {
		return d.ethernet()
	}
	if carried < minEtherType { // GRE numbers some protocols of its own there
		return d.fail(ErrNotRDMA, LayerUnknown, ReasonEtherType)
	}
	return d.etherType(carried)
}

// GRE flags (RFC 1701, RFC 2784, RFC 2890).
const (
	greChecksum = 0x8000
	greRouting  = 0x4000
	greKey      = 0x2000
	greSequence = 0x1000
	greVersion  = 0x0007
)

// gre reads a GRE header with whatever its flags announce. ERSPAN type I has no flag and no header of its
// own; type II has sequence numbers.
func (d *decoder) gre() error {
	const length = 4
	if !d.has(length) {
		return d.short(LayerGRE, length)
	}
	flags := binary.BigEndian.Uint16(d.data[d.off:])
	carried := binary.BigEndian.Uint16(d.data[d.off+2:])
	if flags&greVersion != 0 {
		return d.fail(ErrUnsupported, LayerGRE, ReasonTunnelVersion) // 1 is PPTP's
	}
	n := length
	if flags&(greChecksum|greRouting) != 0 {
		n += 4
	}
	var key uint32
	if flags&greKey != 0 {
		if !d.has(n + 4) {
			return d.short(LayerGRE, n+4)
		}
		key = binary.BigEndian.Uint32(d.data[d.off+n:])
		n += 4
	}
	if flags&greSequence != 0 {
		n += 4
	}
	if flags&greRouting != 0 {
		for {
			if !d.has(n + 4) {
				return d.short(LayerGRE, n+4)
			}
			entry := int(d.data[d.off+n+3])
			n += 4 + entry
			if entry == 0 {
				break
			}
		}
	}
	if !d.has(n) {
		return d.short(LayerGRE, n)
	}
	if !d.push(LayerGRE, n) {
		return d.full(LayerGRE)
	}
	switch carried {
	case etherTypeERSPAN:
		if flags&greSequence == 0 {
			if !d.enter(LayerERSPAN1, 0) {
				return d.tooDeep(LayerERSPAN1)
			}
			d.p.Tunnel.Mirror = true
			return d.ethernet()
		}
		return d.erspan()
	case etherTypeERSPAN3:
		return d.erspan()
	}
	if !d.enter(LayerGRE, key) {
		return d.tooDeep(LayerGRE)
	}
	return d.bridged(carried)
}

// erspan reads an ERSPAN header of type II or III (draft-foschiano-erspan): a copy of a frame that a switch
// mirrors.
func (d *decoder) erspan() error {
	const (
		version2, length2 = 1, 8
		version3, length3 = 2, 12
		platformLength    = 8
		frameEthernet     = 0
		frameIP           = 2
	)
	if !d.has(length2) {
		if d.has(1) && d.data[d.off]>>4 == version3 {
			return d.short(LayerERSPAN3, length3)
		}
		return d.short(LayerERSPAN2, length2)
	}
	b := d.data[d.off:]
	first, second := binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	vlan, session, truncated := uint32(first&0xfff), uint32(second&0x3ff), second&0x400 != 0
	switch first >> 12 {
	case version2:
		if !d.push(LayerERSPAN2, length2) {
			return d.full(LayerERSPAN2)
		}
		if !d.enter(LayerERSPAN2, session) {
			return d.tooDeep(LayerERSPAN2)
		}
		t := &d.p.Tunnel
		t.Mirror, t.OuterID, t.Truncated, t.Timestamp, t.Egress = true, vlan, truncated, 0, false
		return d.ethernet()
	case version3:
	default:
		return d.fail(ErrUnsupported, LayerERSPAN2, ReasonTunnelVersion)
	}
	if !d.has(length3) {
		return d.short(LayerERSPAN3, length3)
	}
	stamp, last := binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint16(b[10:])
	frame := last >> 10 & 0x1f
	n := length3
	if last&1 != 0 {
		n += platformLength
	}
	if !d.has(n) {
		return d.short(LayerERSPAN3, n)
	}
	if !d.push(LayerERSPAN3, n) {
		return d.full(LayerERSPAN3)
	}
	if !d.enter(LayerERSPAN3, session) {
		return d.tooDeep(LayerERSPAN3)
	}
	t := &d.p.Tunnel
	t.Mirror, t.OuterID, t.Truncated, t.Timestamp, t.Egress = true, vlan, truncated, stamp, last&0x8 != 0
	switch frame {
	case frameEthernet:
		return d.ethernet()
	case frameIP:
		return d.rawIP()
	}
	return d.fail(ErrUnsupported, LayerERSPAN3, ReasonTunnelPayload)
}

// mpls reads a label stack (RFC 3032) and what follows it.
func (d *decoder) mpls() error {
	const length, bottom = 4, 0x100
	outermost := uint32(0)
	for first := true; ; first = false {
		if !d.has(length) {
			if d.off+length > d.end {
				return d.fail(ErrMalformed, LayerMPLS, ReasonMPLSStack)
			}
			return d.short(LayerMPLS, length)
		}
		entry := binary.BigEndian.Uint32(d.data[d.off:])
		if !d.push(LayerMPLS, length) {
			return d.full(LayerMPLS)
		}
		if first {
			outermost = entry >> 12
		}
		if entry&bottom != 0 {
			break
		}
	}
	if !d.enter(LayerMPLS, outermost) {
		return d.tooDeep(LayerMPLS)
	}
	return d.labelled()
}

// labelled goes on behind a label stack, which does not say what it carries. The first nibble tells IP and the control
// word of an Ethernet pseudowire (RFC 4928, section 3; RFC 4448, section 4.6). A pseudowire may be without one, and
// then the frame's own ethertype vouches for it.
func (d *decoder) labelled() error {
	const controlWord = 4
	if !d.has(1) {
		return d.short(LayerUnknown, 1)
	}
	switch d.data[d.off] >> 4 {
	case 4:
		if header := int(d.data[d.off]&0xf) * 4; !d.bare(0) || header >= ipv4Length && d.carries(2, header, 0) {
			return d.ipv4()
		}
	case 6:
		if !d.bare(0) || d.carries(4, 0, ipv6Length) {
			return d.ipv6()
		}
	case 0:
		if !d.bare(0) || d.bare(controlWord) {
			if !d.has(controlWord) {
				return d.short(LayerUnknown, controlWord)
			}
			if !d.push(LayerMPLS, controlWord) {
				return d.full(LayerMPLS)
			}
		}
	default:
		if !d.bare(0) {
			return d.fail(ErrUnsupported, LayerUnknown, ReasonTunnelPayload)
		}
	}
	return d.ethernet()
}

// carries tells whether the length that stands at a place in the next header is no less than it should be, and fits
// with more bytes into what is left of the packet.
func (d *decoder) carries(at, least, more int) bool {
	if !d.has(at + 2) {
		return false
	}
	n := int(binary.BigEndian.Uint16(d.data[d.off+at:]))
	return n >= least && n+more <= d.end-d.off
}

// bare tells whether n bytes from here an Ethernet header stands whose ethertype can lead to RDMA.
func (d *decoder) bare(n int) bool {
	if !d.has(n + ethernetLength) {
		return false
	}
	switch t := binary.BigEndian.Uint16(d.data[d.off+n+ethernetLength-2:]); t {
	case etherTypeIPv4, etherTypeIPv6, EtherTypeRoCEv1, etherTypeMPLS:
		return true
	default:
		return isVLAN(t)
	}
}
