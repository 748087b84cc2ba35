package dissector

import "encoding/binary"

// Ethertypes (IEEE registration authority).
const (
	etherTypeIPv4       = 0x0800
	etherTypeTEB        = 0x6558 // transparent Ethernet bridging, RFC 7637
	etherTypeVLAN       = 0x8100
	etherTypeIPv6       = 0x86dd
	etherTypeMPLS       = 0x8847
	etherTypeMPLSMulti  = 0x8848
	etherTypeQinQ       = 0x88a8
	etherTypeERSPAN     = 0x88be // types I and II
	etherTypeMACsec     = 0x88e5
	etherTypeBackbone   = 0x88e7
	etherTypeVNTag      = 0x8926
	etherTypeFabricPath = 0x8903
	etherTypeOldQinQ    = 0x9100
	etherTypeOldQinQ2   = 0x9200
	etherTypeERSPAN3    = 0x22eb

	minEtherType = 0x0600 // below, the field is the length of an 802.3 frame
)

const (
	ethernetLength = 14
	vlanLength     = 4
	snapLength     = 8
	sllLength      = 16
	sll2Length     = 20
	nullLength     = 4
)

// ethernet reads an Ethernet header (IEEE 802.3 clause 3).
func (d *decoder) ethernet() error {
	if !d.has(ethernetLength) {
		return d.short(LayerEthernet, ethernetLength)
	}
	b := d.data[d.off : d.off+ethernetLength]
	etherType := binary.BigEndian.Uint16(b[12:])
	e := &d.p.Ethernet
	copy(e.Destination[:], b[0:6])
	copy(e.Source[:], b[6:12])
	e.EtherType = etherType
	e.VLANCount = 0
	e.VLAN = [2]uint16{}
	d.wrote |= wroteEthernet
	if !d.push(LayerEthernet, ethernetLength) {
		return d.full(LayerEthernet)
	}
	if etherType == etherTypeIPv4 {
		return d.ipv4()
	}
	return d.etherType(etherType)
}

// etherType goes on with what an ethertype announces, be it in Ethernet, SLL, SNAP, GRE or GENEVE.
func (d *decoder) etherType(t uint16) error {
	for isVLAN(t) {
		if !d.has(vlanLength) {
			return d.short(LayerVLAN, vlanLength)
		}
		tci := binary.BigEndian.Uint16(d.data[d.off:])
		t = binary.BigEndian.Uint16(d.data[d.off+2:])
		if !d.push(LayerVLAN, vlanLength) {
			return d.full(LayerVLAN)
		}
		e := &d.p.Ethernet
		if d.wrote&wroteEthernet == 0 { // a tag in GRE over raw IP
			*e = Ethernet{}
			d.wrote |= wroteEthernet
		}
		if int(e.VLANCount) < len(e.VLAN) {
			e.VLAN[e.VLANCount] = tci
		}
		e.VLANCount++
		e.EtherType = t
	}
	switch t {
	case etherTypeIPv4:
		return d.ipv4()
	case etherTypeIPv6:
		return d.ipv6()
	case EtherTypeRoCEv1:
		return d.roceV1()
	case EtherTypeMACControl:
		return d.macControl()
	case etherTypeMPLS, etherTypeMPLSMulti:
		return d.mpls()
	case etherTypeMACsec:
		return d.fail(ErrUnsupported, LayerUnknown, ReasonEncrypted)
	case etherTypeVNTag, etherTypeFabricPath, etherTypeBackbone:
		return d.fail(ErrUnsupported, LayerUnknown, ReasonVendorTag)
	}
	if t < minEtherType {
		return d.llc(int(t))
	}
	return d.fail(ErrNotRDMA, LayerUnknown, ReasonEtherType)
}

func isVLAN(t uint16) bool {
	switch t {
	case etherTypeVLAN, etherTypeQinQ, etherTypeOldQinQ, etherTypeOldQinQ2:
		return true
	}
	return false
}

// llc reads an 802.3 frame of the given length: LLC with SNAP leads back to an ethertype (IEEE 802, clause
// 9.2), anything else is not for us.
func (d *decoder) llc(length int) error {
	if d.off+length <= d.end {
		d.shorten(d.off + length)
	}
	if length < snapLength {
		return d.fail(ErrNotRDMA, LayerLLC, ReasonLLC)
	}
	if !d.has(snapLength) {
		return d.short(LayerLLC, snapLength)
	}
	b := d.data[d.off : d.off+snapLength]
	if b[0] != 0xaa || b[1] != 0xaa || b[2] != 0x03 || b[3] != 0 || b[4] != 0 || (b[5] != 0 && b[5] != 0xf8) {
		return d.fail(ErrNotRDMA, LayerLLC, ReasonLLC)
	}
	t := binary.BigEndian.Uint16(b[6:])
	if !d.push(LayerLLC, snapLength) {
		return d.full(LayerLLC)
	}
	if t < minEtherType {
		return d.fail(ErrNotRDMA, LayerLLC, ReasonLLC)
	}
	d.p.Ethernet.EtherType = t
	return d.etherType(t)
}

// sll reads the pseudo header of a Linux cooked capture (LINKTYPE_LINUX_SLL).
func (d *decoder) sll() error {
	if !d.has(sllLength) {
		return d.short(LayerSLL, sllLength)
	}
	b := d.data[d.off : d.off+sllLength]
	return d.cooked(LayerSLL, sllLength, binary.BigEndian.Uint16(b[14:]), binary.BigEndian.Uint16(b[2:]),
		int(binary.BigEndian.Uint16(b[4:])), b[6:14])
}

// sll2 reads the pseudo header of version 2 (LINKTYPE_LINUX_SLL2).
func (d *decoder) sll2() error {
	if !d.has(sll2Length) {
		return d.short(LayerSLL2, sll2Length)
	}
	b := d.data[d.off : d.off+sll2Length]
	return d.cooked(LayerSLL2, sll2Length, binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[8:]), int(b[11]), b[12:20])
}

// cooked goes on behind either pseudo header. The address length counts no bytes of the header, which
// always has eight, so a length above that is no danger.
func (d *decoder) cooked(layer LayerType, length int, protocol, hardware uint16, addressLength int, address []byte) error {
	const (
		hardwareGRE = 778 // ARPHRD_IPGRE: the protocol is GRE's
		protocolLLC = 4   // 802.2 frames without an Ethernet header before them
	)
	d.p.Ethernet = Ethernet{}
	d.wrote |= wroteEthernet
	if addressLength == len(d.p.Ethernet.Source) {
		copy(d.p.Ethernet.Source[:], address)
	}
	d.p.Ethernet.EtherType = protocol
	if !d.push(layer, length) {
		return d.full(layer)
	}
	switch {
	case protocol == protocolLLC:
		return d.llc(d.remaining())
	case hardware == hardwareGRE && protocol == etherTypeTEB:
		return d.ethernet()
	case protocol < minEtherType:
		return d.fail(ErrNotRDMA, LayerUnknown, ReasonEtherType)
	}
	return d.etherType(protocol)
}

// rawIP reads a frame that starts with an IP header of either version.
func (d *decoder) rawIP() error {
	if !d.has(1) {
		return d.short(LayerIPv4, 1)
	}
	switch d.data[d.off] >> 4 {
	case 4:
		return d.ipv4()
	case 6:
		return d.ipv6()
	}
	return d.fail(ErrMalformed, LayerIPv4, ReasonIPVersion)
}

// null reads the address family of a BSD loopback frame: in the byte order of the capturing host for
// LINKTYPE_NULL, big-endian for LINKTYPE_LOOP. The number for IPv6 depends on the system.
func (d *decoder) null() error {
	if !d.has(nullLength) {
		return d.short(LayerNull, nullLength)
	}
	family := binary.BigEndian.Uint32(d.data[d.off:])
	if family > 0xffff {
		family = binary.LittleEndian.Uint32(d.data[d.off:])
	}
	if !d.push(LayerNull, nullLength) {
		return d.full(LayerNull)
	}
	switch family {
	case 2:
		return d.ipv4()
	case 10, 24, 28, 30:
		return d.ipv6()
	}
	return d.fail(ErrNotRDMA, LayerUnknown, ReasonEtherType)
}
