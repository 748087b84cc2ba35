// Package replay holds the packets of a capture against the reference transports, and says of each connection where
// the wire diverged from them: see package finding for verdicts and rules.
//
// An [Engine] sorts packets to connections and hands them to the judge of their transport. It has no clock, no
// goroutine and no lock, works on a capture as well as on live traffic, and its memory is bounded.
package replay
