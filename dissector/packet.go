package dissector

import (
	"net/netip"

	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/mad"
)

// MaxLayers is how many headers of one frame a Packet remembers. A frame with more is unsupported.
const MaxLayers = 24

// MaxDepth is how many tunnels may be nested before Decode gives up with ErrUnsupported.
const MaxDepth = 4

// Meta is what the capture knows about a frame beside its bytes.
type Meta struct {
	Time           int64    // nanoseconds since the Unix epoch, UTC; meaningless unless HasTime
	Number         uint64   // position in the capture, from 1, as Wireshark counts
	OriginalLength uint32   // bytes on the wire, 0 when unknown; never used as a slice bound
	Interface      uint32   // index of the capture's interface, from 0
	LinkType       LinkType // how the first byte is to be read
	FCSLength      uint8    // bytes of Ethernet FCS at the end of the frame, 0 to 8
	HasTime        bool     // false for pcapng simple packet blocks

	// MetaRoCEPort is the UDP destination port of a MetaRoCE profile in place of its own; 0 leaves it. The profile
	// is MetaRoCEProfile, and mr0 when that is zero.
	MetaRoCEPort    uint16
	MetaRoCEProfile MetaRoCEProfile

	// Application is what the packet's connection carries, of which its bytes say nothing. Decode leaves it alone;
	// package conversation fills it in.
	Application mad.Application
}

// Address is an IPv6 address or an IPv4 address mapped into IPv6 (::ffff:a.b.c.d), and for RoCEv1 the GID.
type Address [16]byte

// Addr is the address in the form of the standard library, IPv4 unmapped.
func (a Address) Addr() netip.Addr { return netip.AddrFrom16(a).Unmap() }

// String is the usual text of the address: dotted for IPv4, RFC 5952 for IPv6.
func (a Address) String() string { return a.Addr().String() }

// Layer is one header of the frame, or its payload: where it stands and what it is. Headers are whole;
// payload, pad, ICRC, trailer and FCS are listed as far as they were captured.
type Layer struct {
	Type   LayerType
	Offset uint16 // bytes from the start of the frame
	Length uint16 // bytes of the header itself, without what it carries
}

// End is the offset of the first byte after the layer.
func (l Layer) End() int { return int(l.Offset) + int(l.Length) }

// Ethernet is the innermost Ethernet header with up to two of its VLAN tags.
type Ethernet struct {
	Destination [6]byte
	Source      [6]byte
	EtherType   uint16    // after the tags
	VLANCount   uint8     // tags seen; more than two are counted but not kept
	VLAN        [2]uint16 // TCI as on the wire, outermost first: PCP 3 bits, DEI 1, VID 12
}

// IP is an IPv4 or IPv6 header, or the GRH of a RoCEv1 packet, which has the layout of IPv6.
type IP struct {
	Version     uint8 // 4, 6, or 0 when there is none
	Protocol    uint8 // of what follows, after IPv6 extension headers
	DSCP        uint8 // 0 to 63
	ECN         ECN   // RFC 3168
	TTL         uint8 // TTL or hop limit
	Fragment    bool  // a fragment, the first one included
	LaterPart   bool  // a fragment that does not start the datagram
	Options     bool  // IPv4 options or IPv6 extension headers are present
	ID          uint16
	TotalLength uint32 // bytes of header and payload by the header's word
	FlowLabel   uint32 // IPv6 only
	Source      Address
	Destination Address
}

// UDP is the UDP header that carries RoCEv2.
type UDP struct {
	SourcePort      uint16
	DestinationPort uint16
	Length          uint16 // header and payload
	Checksum        uint16 // as on the wire; 0 means not computed
}

// Tunnel is what the innermost tunnel says of itself.
type Tunnel struct {
	Type      LayerType // LayerVXLAN, LayerERSPAN2 ...; LayerNone when there is no tunnel
	Depth     uint8     // tunnels around the innermost packet
	Mirror    bool      // a tunnel of the stack carries mirrored copies (ERSPAN), not traffic of its own
	Egress    bool      // of an ERSPAN III around it: mirrored on the way out of the switch's port
	Truncated bool      // of an ERSPAN II or III around it: the switch cut the copy
	ID        uint32    // VNI, GRE key, ERSPAN session or outermost MPLS label
	OuterID   uint32    // ERSPAN II and III: VLAN of the original frame; otherwise 0
	Timestamp uint32    // of an ERSPAN III around it: the switch's clock, in the unit that its granularity field says
	Outer     IP        // of the outermost IP header
}

// Pause is a MAC control frame: 802.3x pause or priority flow control (IEEE 802.1Qbb).
type Pause struct {
	Opcode      uint16    // 0x0001 pause, 0x0101 PFC; 0 when the frame is no MAC control frame
	ClassEnable uint8     // PFC: bit i set when class i is addressed; pause: 0
	Quanta      [8]uint16 // units of 512 bit times; pause uses element 0
}

// LRH is the local route header of native InfiniBand, 8 bytes (IBTA volume 1, section 7.7).
type LRH struct {
	VirtualLane    uint8 // 4 bits
	ServiceLevel   uint8 // 4 bits
	SourceLID      uint16
	DestinationLID uint16
}

// Packet is everything that the dissector learnt from one frame. A field is meaningful when its layer is
// in Layers, an extended header when its bit is in Has; otherwise it is zero. Only Decode, and behind
// it a conversation.Tracker, write a Packet: Decode clears no more than what an earlier one set.
type Packet struct {
	Meta Meta
	Data []byte // the captured bytes; aliases Decode's argument

	Protocol   Protocol // what the frame was recognised as
	Fault      Fault    // why Decode returned an error, zero when it did not
	LayerCount uint8
	Layers     [MaxLayers]Layer // outermost first

	Ethernet Ethernet
	Network  IP // innermost: of the RoCE packet itself
	UDP      UDP
	Tunnel   Tunnel
	Pause    Pause
	LRH      LRH

	Has          infiniband.HeaderSet // which of the headers below were decoded
	BTH          infiniband.BTH
	RDETH        infiniband.RDETH
	DETH         infiniband.DETH
	XRCETH       infiniband.XRCETH
	RETH         infiniband.RETH
	AtomicETH    infiniband.AtomicETH
	AETH         infiniband.AETH
	AtomicAckETH infiniband.AtomicAckETH
	ImmDt        infiniband.ImmDt
	IETH         infiniband.IETH
	FETH         infiniband.FETH

	PayloadOffset uint16 // of the transport payload, from the start of the frame
	PayloadLength uint16 // on the wire by the IP length, without pad and ICRC; may exceed what was captured
	ICRCOffset    uint16 // where the ICRC stands or would stand; 0 when there is none
	CapturedEnd   uint16 // where the captured bytes of the innermost packet end; a trailer may follow

	MetaRoCE MetaRoCE // meaningful for ProtocolMetaRoCE
}

// Payload is the transport payload as far as it was captured.
func (p *Packet) Payload() []byte {
	end := min(int(p.CapturedEnd), len(p.Data))
	start := min(int(p.PayloadOffset), end)
	return p.Data[start:min(start+int(p.PayloadLength), end)]
}

// IsRDMA tells whether the packet has a base transport header that was read in full and belongs to RoCE.
// It holds for a packet that was cut behind its BTH, too, and for one whose opcode is reserved or whose
// lengths are wrong: Decode's error tells these, which are no traffic to be counted, from the others.
func (p *Packet) IsRDMA() bool { return p.Has&infiniband.HasBTH != 0 && p.Protocol.IsRoCE() }
