// Package judge holds what is seen of a MetaRoCE connection against the rules of profile mr0
// (dissector/metaroce/profile/metaroce-mr0.md; package finding has the catalogue).
//
// It sees what passed one point of the network, and not all of that. So it keeps apart what a packet contradicts by
// itself or together with others that were seen, which is decided at once, and what rests on the absence of a packet,
// which may have been lost before the vantage point, behind it, or been missed by the capture. Of the latter it
// collects evidence, and accuses only when chance cannot explain it.
//
// What order packets were sent in is taken from sequence numbers, ACK numbers and the sender's timestamps, never from
// their order in the capture: paths reorder, and networks double packets.
//
// A [Connection] has two lanes, one a direction. It has no clock, no goroutine and no lock, its memory is bounded, and
// in the steady state it allocates nothing.
package judge
