package dissector

import "encoding/binary"

// ERF record types (Endace extensible record format, type field without its top bit).
const (
	erfEthernet          = 2
	erfColorEthernet     = 11
	erfDSMColorEthernet  = 16
	erfColorHashEthernet = 20
	erfInfiniBand        = 21
	erfIPv4              = 22
	erfIPv6              = 23
)

// erf reads the record header that stands before each frame of LINKTYPE_ERF, with its extension headers.
func (d *decoder) erf() error {
	const (
		length          = 16
		extensionLength = 8
		more            = 0x80 // another extension header follows
		ethernetPad     = 2    // offset and pad byte of Ethernet records
	)
	if !d.has(length) {
		return d.short(LayerERF, length)
	}
	kind := d.data[d.off+8]
	wire := int(binary.BigEndian.Uint16(d.data[d.off+14:]))
	n := length
	for next := kind; next&more != 0; n += extensionLength {
		if !d.has(n + extensionLength) {
			return d.short(LayerERF, n+extensionLength)
		}
		next = d.data[d.off+n]
	}
	kind &^= more
	switch kind {
	case erfEthernet, erfColorEthernet, erfDSMColorEthernet, erfColorHashEthernet:
		n += ethernetPad
		if !d.has(n) {
			return d.short(LayerERF, n)
		}
	}
	if !d.push(LayerERF, n) {
		return d.full(LayerERF)
	}
	d.shorten(d.off + wire)
	switch kind {
	case erfEthernet, erfColorEthernet, erfDSMColorEthernet, erfColorHashEthernet:
		return d.ethernet()
	case erfInfiniBand:
		return d.lrh()
	case erfIPv4:
		return d.ipv4()
	case erfIPv6:
		return d.ipv6()
	}
	return d.fail(ErrUnsupported, LayerERF, ReasonERFType)
}
