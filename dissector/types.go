package dissector

// LinkType is a LINKTYPE_ number of the tcpdump registry (https://www.tcpdump.org/linktypes.html).
type LinkType uint16

// Link types that Decode reads; any other is answered with ErrUnsupported.
const (
	LinkTypeNull     LinkType = 0
	LinkTypeEthernet LinkType = 1
	LinkTypeRaw12    LinkType = 12 // raw IP as most BSDs number it
	LinkTypeRaw14    LinkType = 14 // raw IP as OpenBSD numbers it
	LinkTypeRaw      LinkType = 101
	LinkTypeLoop     LinkType = 108
	LinkTypeLinuxSLL LinkType = 113
	LinkTypePPI      LinkType = 192
	LinkTypeERF      LinkType = 197
	LinkTypeIPv4     LinkType = 228
	LinkTypeIPv6     LinkType = 229
	LinkTypeSLL2     LinkType = 276
)

// UDP destination ports by which a protocol is recognised.
const (
	PortRoCEv2 = 4791 // IANA roce
	PortUET    = 4793 // Ultra Ethernet Transport
	PortVeRoCE = 4794
	PortMRC    = 4971

	PortVXLAN      = 4789
	PortVXLANLinux = 8472 // of Linux before the IANA assignment
	PortVXLANGPE   = 4790
	PortGENEVE     = 6081
	PortMPLS       = 6635 // RFC 7510
)

// Ethertypes by which a protocol is recognised.
const (
	EtherTypeRoCEv1     = 0x8915
	EtherTypeMACControl = 0x8808
)

// ECN is the two-bit field of RFC 3168.
type ECN uint8

// ECN codepoints.
const (
	ECNNotECT ECN = 0
	ECNECT1   ECN = 1
	ECNECT0   ECN = 2
	ECNCE     ECN = 3
)

// Protocol is what a frame was recognised as.
type Protocol uint8

// Protocols. Neighbours of RoCE are recognised to be kept out of its statistics.
const (
	ProtocolOther      Protocol = iota // not RDMA
	ProtocolRoCEv1                     // GRH and BTH in ethertype 0x8915
	ProtocolRoCEv2                     // BTH in UDP 4791
	ProtocolInfiniBand                 // native, from ERF records
	ProtocolMetaRoCE                   // MetaRoCE, profile mr0
	ProtocolMRC                        // Multipath Reliable Connection, unsupported
	ProtocolUET                        // unsupported
	ProtocolVeRoCE                     // unsupported
	ProtocolIWARP                      // unsupported
	ProtocolPause                      // 802.3x pause or PFC
)

// IsRoCE tells whether packets of the protocol count as RoCE: v1, v2 and native InfiniBand records.
func (p Protocol) IsRoCE() bool {
	return p == ProtocolRoCEv1 || p == ProtocolRoCEv2 || p == ProtocolInfiniBand
}

// ICRCState is the verdict on an invariant CRC (IBTA volume 1, section 7.8.1).
type ICRCState uint8

// ICRC verdicts. Only ICRCBad is an accusation.
const (
	ICRCNotChecked   ICRCState = iota // nobody asked
	ICRCGood                          // computed and equal
	ICRCBad                           // computed and different
	ICRCUndetermined                  // cut, fragmented, absent, or a covered field was rewritten by a tunnel
)

// ChecksumState is the verdict on a UDP checksum (RFC 768, RFC 8200 section 8.1).
type ChecksumState uint8

// Checksum verdicts.
const (
	ChecksumNotCheckable ChecksumState = iota // no UDP, cut, fragmented, or behind options that hide an address
	ChecksumAbsent                            // sent as zero: not computed
	ChecksumRight
	ChecksumWrong
)
