// Package judge holds what is seen of a RoCE connection against the rules of the reliable connection (IBTA volume 1,
// chapter 9; package finding has the catalogue).
//
// It sees what passed one point of the path, and not all of that. So it keeps apart what a packet contradicts by
// itself or together with others that were seen, which is decided at once, and what rests on the absence of a packet,
// which may have been lost before the vantage point, behind it, or been missed by the capture. Of the latter it
// collects evidence, and accuses only when chance cannot explain it.
//
// A [Connection] has two dialogues: the requests of either end with the answers of the other. It has no clock, no
// goroutine and no lock, and its memory is bounded.
package judge
