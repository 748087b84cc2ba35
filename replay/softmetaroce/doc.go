// Package softmetaroce is a MetaRoCE peer, profile mr0, over UDP sockets: the reference endpoint of replay/metaroce with
// sockets, a clock and a loop, which any Linux host can run. mr0 is this project's own encoding; see
// docs/softmetaroce.md for what that means.
//
// A [Peer] drives one endpoint in one goroutine. Each path sends from a socket of its own, and so from a source port of
// its own; what comes in is received on the profile's port of each plane's address. Datagrams go in and out in batches
// (recvmmsg, sendmmsg), joined by the kernel where it can (UDP_SEGMENT, UDP_GRO). ECN is set and read in the IP header.
// Between endpoint and sockets an [Impairment] may lose, delay, reorder, duplicate and mark packets and break paths,
// and a recorder may write what is sent and received to a capture.
//
// On top of that, [Serve] and [Send] move data that both ends can compute, by WRITE, SEND or READ, and compare a digest
// of what has landed.
package softmetaroce
