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
package dissector
