package judge_test

import (
	"time"

	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/roce/judge"
)

// gap is a WRITE that does not arrive, one that does, and the NAK for the first, which it returns.
func (w *wire) gap() (lost uint32) {
	lost = w.psn
	w.after(2*us).fresh().after(2*us).fresh().after(10*us).nak(sequenceError, lost)
	return lost
}

// repaired is both sent again and acknowledged.
func (w *wire) repaired(lost uint32) *wire {
	w.after(10 * us).only(lost).only(lost + 1).after(10 * us)
	w.msn++
	return w.done()
}

// What a requester does about lost packets. The calm before tells that the network loses little, and the capture misses
// little.
var recoveryExamples = []example{
	{
		rule: finding.RoCEGoBackStart,
		shows: func(w *wire) {
			w.calm(1000).times(30, func() {
				lost := w.gap()
				w.after(10 * us).only(lost - 2).only(lost - 1).repaired(lost).after(3 * ms).calm(3)
			})
		},
		nearly: func(w *wire) { w.calm(1000).times(30, func() { w.repaired(w.gap()) }) },
		// Once an ACK was lost as well, and the timer ran out when the NAK came.
		imitated:     func(w *wire) { w.calm(1000); lost := w.gap(); w.after(10 * us).only(lost - 1).repaired(lost) },
		undetermined: true,
	},
	{
		rule: finding.RoCENAKIgnored,
		shows: func(w *wire) {
			w.calm(1000).repaired(w.gap()).times(20, func() {
				lost := w.gap()
				w.after(3 * ms).fresh().after(17 * ms).only(lost).only(lost + 1).only(lost + 2).after(10 * us)
				w.msn += 2
				w.done()
			})
		},
		nearly: func(w *wire) {
			w.calm(1000).times(20, func() {
				lost := w.gap()
				w.after(3 * us).fresh().after(7 * us).only(lost).only(lost + 1).only(lost + 2).after(10 * us)
				w.msn += 2
				w.done()
			})
		},
		// What it sent for the NAK was missed, and lost; the timer sent it again.
		imitated: func(w *wire) {
			w.calm(1000).repaired(w.gap())
			lost := w.gap()
			w.after(10 * us).miss(func() { w.only(lost).only(lost + 1) }).after(20 * ms)
			w.repaired(lost)
		},
		undetermined: true,
	},
	{
		rule: finding.RoCEAcknowledgedResent,
		shows: func(w *wire) {
			w.times(60, func() { w.calm(1).after(900*us).only(w.psn-1).after(10*us).ack(w.psn-1, w.msn) })
		},
		nearly: func(w *wire) {
			w.times(60, func() { w.calm(1).fresh().after(9 * ms).only(w.psn - 1).after(10 * us).done() })
		},
		// An ACK that passed the capture was lost behind it.
		imitated: func(w *wire) { w.calm(60).after(9*ms).only(w.psn-1).after(10*us).ack(w.psn-1, w.msn) }, undetermined: true,
	},
	{
		rule:   finding.RoCERNREarly,
		shows:  func(w *wire) { w.calm(1000).times(20, func() { w.refusedOnce(300 * us) }) },
		nearly: func(w *wire) { w.calm(1000).times(20, func() { w.refusedOnce(1280 * us) }) },
		// It was under way, once, when the RNR NAK passed.
		imitated: func(w *wire) { w.calm(1000).refusedOnce(3 * us) }, undetermined: true,
	},
	{
		rule:   finding.RoCERNRRetries,
		shows:  func(w *wire) { w.agree(oneRNRRetry).calm(10).refusedTimes(4, 1) },
		nearly: func(w *wire) { w.agree(oneRNRRetry).calm(10).refusedTimes(2, 1) },
		// The network doubled each RNR NAK.
		imitated: func(w *wire) { w.agree(oneRNRRetry).calm(10).refusedTimes(2, 3) },
	},
	{
		rule:   finding.RoCERetries,
		shows:  func(w *wire) { w.agree(oneRetry).calm(10).fresh().times(3, func() { w.after(9 * ms).only(w.psn - 1) }) },
		nearly: func(w *wire) { w.agree(oneRetry).calm(10).fresh().times(1, func() { w.after(9 * ms).only(w.psn - 1) }) },
		// A SEND met a receiver without buffers; the capture missed the RNR NAKs, which ask for retries of their own.
		imitated: func(w *wire) {
			w.agree(oneRetry).calm(10)
			w.times(4, func() {
				w.ask(infiniband.RCSendOnly, w.psn, size(64), asks).after(10 * us).miss(func() { w.nak(notReady, w.psn) }).after(1300 * us)
			})
		},
		undetermined: true,
	},
	{
		rule:     finding.RoCETimeoutEarly,
		shows:    func(w *wire) { w.agree(timeout(4*ms)).calm(1000).times(20, func() { w.timedOut(1 * ms) }) },
		nearly:   func(w *wire) { w.agree(timeout(4*ms)).calm(1000).times(20, func() { w.timedOut(4 * ms) }) },
		imitated: func(w *wire) { w.agree(timeout(4*ms)).calm(1000).times(2, func() { w.timedOut(1 * ms) }) }, undetermined: true,
	},
	{
		rule:   finding.RoCETimeoutLate,
		shows:  func(w *wire) { w.agree(timeout(4*ms)).calm(1000).times(20, func() { w.timedOut(30 * ms) }) },
		nearly: func(w *wire) { w.agree(timeout(4*ms)).calm(1000).times(20, func() { w.timedOut(16 * ms) }) },
		// The capture missed an earlier repetition, twice.
		imitated: func(w *wire) {
			w.agree(timeout(4*ms)).calm(1000).times(2, func() {
				w.fresh().after(15 * ms).miss(func() { w.only(w.psn - 1) }).after(15 * ms).only(w.psn - 1).after(10 * us).done()
			})
		},
		undetermined: true,
	},
	{
		rule: finding.RoCEAfterFatalNAK,
		shows: func(w *wire) {
			w.calm(1000).fresh().after(10 * us)
			p := w.psn - 1
			w.times(8, func() { w.nak(refused, p).after(9 * ms).fresh().after(10 * us) })
		},
		nearly: func(w *wire) { w.calm(1000).fresh().after(10*us).nak(refused, w.psn-1).after(5 * us).fresh() },
		// The NAK was lost behind the capture.
		imitated: func(w *wire) {
			w.calm(1000).fresh().after(10*us).nak(refused, w.psn-1).after(9 * ms).fresh().after(9 * ms).fresh()
		},
		undetermined: true,
	},
}

// refusedOnce is a SEND that met a receiver without a buffer and is sent again.
func (w *wire) refusedOnce(wait time.Duration) {
	w.after(2*us).ask(infiniband.RCSendOnly, w.psn, size(64), asks).after(10*us).nak(notReady, w.psn)
	w.after(wait).ask(infiniband.RCSendOnly, w.psn, size(64), asks)
	w.psn++
	w.after(10 * us).done()
}

// refusedTimes is one that met it so many times, with copies of the RNR NAK.
func (w *wire) refusedTimes(n, copies int) {
	w.times(n, func() {
		w.ask(infiniband.RCSendOnly, w.psn, size(64), asks).after(10 * us)
		w.times(copies, func() { w.nak(notReady, w.psn).after(us) })
		w.after(1300 * us)
	})
}

// timedOut is a request that the responder did not get, and which the timer sends again.
func (w *wire) timedOut(wait time.Duration) {
	w.fresh().after(wait).only(w.psn - 1).after(10 * us).done()
}

func timeout(d time.Duration) func(*judge.Agreement) {
	return func(a *judge.Agreement) { a.AckTimeout, a.AckTimeoutKnown = int64(d), true }
}
func oneRNRRetry(a *judge.Agreement) { a.RNRRetries, a.RNRRetriesKnown = 1, true }
func oneRetry(a *judge.Agreement)    { a.Retries, a.RetriesKnown = 1, true }
