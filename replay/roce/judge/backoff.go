package judge

import (
	"slices"
	"strings"
	"time"
)

// backoff keeps how long a requester waited before each repetition of one packet by its timer. The IBTA has one timeout for
// all (9.7.6.1.3); NICs with "adaptive retransmission" begin far below it and end above (Lumina, SIGCOMM 2023).
type backoff struct {
	at      position
	latest  waits // before each repetition of the packet at that position
	longest waits
}

// waits are in ns, in order.
type waits struct {
	n  int
	ns [8]int64 // 7 retries are allowed; more happen
}

// add takes the wait before a repetition, which is the packet's so-and-so-manieth by the timer.
func (b *backoff) add(p position, times uint32, ns int64) {
	if times <= 1 || p != b.at {
		b.at, b.latest = p, waits{}
	}
	if b.latest.n == len(b.latest.ns) {
		return
	}
	b.latest.ns[b.latest.n] = ns
	b.latest.n++
	if b.latest.n > b.longest.n {
		b.longest = b.latest
	}
}

// String is a phrase, empty when no packet was repeated often enough to tell.
func (b *backoff) String() string {
	w := b.longest.ns[:b.longest.n]
	if len(w) < 3 {
		return ""
	}
	shortest := slices.Min(w)
	longer := 0
	each := make([]string, len(w))
	for i, ns := range w {
		if ns > shortest+shortest/2 {
			longer++
		}
		each[i] = time.Duration(ns).Round(100 * time.Microsecond).String()
	}
	how := "one timeout for each repetition: "
	if longer > 1 { // one may be two, with a repetition between that the capture missed
		how = "adaptive, a timeout of its own for each repetition: "
	}
	return how + strings.Join(each, ", ")
}
