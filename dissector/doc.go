// Package dissector turns the bytes of one captured frame into a [Packet].
//
// It understands the link layers, tags and tunnels that RDMA over Ethernet travels in, and RoCEv1 and
// RoCEv2 themselves. It does no I/O, reads no clock, logs nothing, allocates nothing and never panics,
// whatever the input. [Decode] overwrites its whole output, so one Packet can be reused for ever.
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
//   - mad: the messages that set connections up and take them down
//   - tree: a packet as a tree of named fields, for people and as JSON
//   - filter: a language that selects packets by these fields
//   - build: the reverse, frames from descriptions
//   - rocelayer: layers for gopacket
package dissector
