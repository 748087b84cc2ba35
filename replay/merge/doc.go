// Package merge joins two captures of the same traffic, made at two points of its path: which packet of the one is
// which packet of the other, how far their clocks are apart, and what became of packets between the points.
//
// Each capture is looked at twice. A [Sample] of each tells which packets both saw; [Align] estimates the clocks from
// these; a [Merger] then takes both captures in the order of time and pairs their packets within a window, so that
// memory is bounded.
//
// # Clocks
//
// A packet that goes from point A to point B arrives there later than it left A, so the difference of its two time
// stamps is at least the offset of B's clock against A's; one on its way back gives a difference of at most the offset.
// Each packet is so a constraint on the line offset + drift · t, and the lines that keep all of them (the corridor
// between two convex hulls) are all that can be known: its width is the smallest round trip between the points.
// What is asymmetric in the two ways hides in it. Queueing makes differences larger, and never narrows the corridor
// wrongly.
//
// # Verdicts
//
// A packet that only one point saw is never called lost because it is missing: a capture may have missed it. It was
// missed when the receiver acknowledged it though it was not sent again, or when a point further on saw it. It was lost
// between the points when the receiver asked for it, with a NAK or by a gap in a SACK, and nothing is known to be lost
// or late behind the second point; where something is, its capture may have missed a packet that was then lost there, and
// only bounds of the number are given. All else is undetermined.
package merge
