package pcapfile

// Format is a capture file format.
type Format uint8

// The formats read and written here.
const (
	FormatPcap Format = iota + 1
	FormatPcapng
)

// String gives the name that reports use.
func (f Format) String() string {
	switch f {
	case FormatPcap:
		return "pcap"
	case FormatPcapng:
		return "pcapng"
	default:
		return "unknown"
	}
}

// File magics of pcap, draft-ietf-opsawg-pcap section 4, and of the variant with a longer record header that some
// Linux distributions wrote.
const (
	magicMicro    = 0xa1b2c3d4
	magicNano     = 0xa1b23c4d
	magicModified = 0xa1b2cd34
)

const (
	pcapFileHeader     = 24
	pcapRecordHeader   = 16
	pcapModifiedHeader = 24
)

// The linktype word of a pcap header: the FCS length counts 16-bit units and holds only with the P bit.
const (
	linkTypeMask     = 0x0000ffff
	linkReservedMask = 0x0bff0000
	linkFCSPresent   = 0x04000000
	linkFCSShift     = 28
)

// Block types and options of pcapng, draft-ietf-opsawg-pcapng sections 4 and 11.
const (
	blockInterface    = 0x00000001
	blockPacket       = 0x00000002 // obsolete
	blockSimple       = 0x00000003
	blockNames        = 0x00000004
	blockStatistics   = 0x00000005
	blockEnhanced     = 0x00000006
	blockSecrets      = 0x0000000a
	blockCustom       = 0x00000bad
	blockCustomNoCopy = 0x40000bad
	blockSection      = 0x0a0d0d0a

	byteOrderMagic = 0x1a2b3c4d

	optionEnd            = 0
	optionComment        = 1
	optionIfName         = 2
	optionIfDescription  = 3
	optionIfResolution   = 9
	optionIfFCSLength    = 13
	optionIfOffset       = 14
	optionEPBFlags       = 2
	optionEPBDropCount   = 4
	optionISBReceived    = 4
	optionISBIfDropped   = 5
	optionISBOSDropped   = 7
	optionHeaderLength   = 4
	blockOverhead        = 12 // type, length, length
	enhancedHeaderLength = 20
	packetHeaderLength   = 20
	interfaceBodyLength  = 8
	sectionBodyLength    = 16
)
