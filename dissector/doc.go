// Package dissector turns the bytes of one captured frame into a [Packet].
//
// It understands what RDMA over Ethernet travels in, and RoCEv1, RoCEv2 and MetaRoCE themselves. It does no
// I/O, reads no clock, logs nothing, allocates nothing and never panics, whatever the input. [Decode]
// overwrites its whole output, so one Packet can be reused for ever.
//
//   - Link layers: Ethernet, Linux cooked captures of both versions, raw IP, BSD loopback, and ERF records of
//     Ethernet, IP and native InfiniBand; any other is named by its number.
//   - Tags and tunnels, up to [MaxDepth] of them in each other: 802.1Q and 802.1ad, MPLS, VXLAN, VXLAN-GPE,
//     GENEVE, GRE, ERSPAN I to III, IP in IP, SRv6. A Packet has the innermost headers and the outermost IP header.
//   - IPv4 with options and fragments, IPv6 with extension headers, MAC control frames (802.3x, PFC).
//   - Protocols beside RoCE that are recognised and not decoded, so that they are not taken for it: MRC, UET,
//     veRoCE, and iWARP where a connection starts; package conversation knows the rest of it.
//
// Four answers are kept apart, because they send a user to four different places: the capture cut the
// packet ([ErrTruncated]), the packet contradicts its own protocol ([ErrMalformed]), the packet uses
// something that is recognised but not decoded ([ErrUnsupported]), and the packet is simply something
// else ([ErrNotRDMA]).
//
// A program hands Decode one frame at a time, with what its capture knows about it in a [Meta], and reads the
// fields of the Packet. [VerifyICRC] and [UDPChecksum] judge the packet that was decoded; [FindRewrittenPort]
// looks for the UDP source port with which a wrong ICRC would be right. Slices alias the frame: a program that
// keeps them, or the Packet, keeps the frame as it is. A Packet may be used by one goroutine at a time; there
// is no state beside it.
//
// The packages below stand on their own:
//
//   - infiniband: the transport headers, opcodes, syndromes and PSN arithmetic
//   - metaroce: the wire profiles of MetaRoCE
//   - mad: the messages that set connections up and take them down
//   - conversation: what connections carry, learnt from the packets that set them up
//   - tree: a packet as a tree of named fields, for people and as JSON
//   - filter: a language that selects packets by these fields
//   - build: the reverse, frames from descriptions
//   - rocelayer: layers for gopacket
package dissector
