package judge_test

import (
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/replay/finding"
)

// What a responder acknowledges and refuses.
var responderExamples = []example{
	{
		rule:     finding.RoCESyndrome,
		shows:    func(w *wire) { w.fresh().nak(0x41, first) },
		nearly:   func(w *wire) { w.fresh().nak(0x64, first) },
		imitated: func(w *wire) { w.fresh().nak(0x41, first, damaged) },
	},
	{
		rule: finding.RoCEAckUnsent,
		shows: func(w *wire) {
			w.calm(1000).times(20, func() { w.ack(w.psn+1, w.msn).after(20 * us).fresh().fresh(); w.msn += 2; w.calm(1) })
		},
		// The taps of the two directions are a little apart.
		nearly: func(w *wire) {
			w.calm(1000).times(20, func() { w.ack(w.psn, w.msn+1).after(2 * us).fresh(); w.msn++; w.calm(1) })
		},
		imitated: func(w *wire) {
			w.calm(1000).miss(func() { w.fresh().fresh() })
			w.msn++
			w.after(10 * us).done().calm(9)
		},
	},
	{
		rule:     finding.RoCEAckBackwards,
		shows:    func(w *wire) { w.calm(10).ack(w.psn-5, w.msn+1) },
		nearly:   func(w *wire) { w.calm(10).ack(w.psn-5, w.msn-4) },
		imitated: func(w *wire) { w.calm(10).ack(w.psn-5, w.msn) }, undetermined: true,
	},
	{
		rule:     finding.RoCEMessageCount,
		shows:    func(w *wire) { w.calm(10).fresh().ack(w.psn-1, w.msn+3) },
		nearly:   func(w *wire) { w.calm(10).fresh().ack(w.psn-1, w.msn+1) },
		imitated: func(w *wire) { w.calm(10).miss(func() { w.fresh().fresh() }).fresh().ack(w.psn-1, w.msn+3) },
	},
	{
		rule: finding.RoCENAKRepeated,
		shows: func(w *wire) {
			w.calm(1000).times(5, func() {
				lost := w.gap()
				w.times(4, func() { w.after(us).nak(sequenceError, lost) })
				w.repaired(lost)
			})
		},
		nearly: func(w *wire) {
			w.calm(1000).times(5, func() {
				lost := w.gap()
				w.after(9*us).only(lost).after(10*us).nak(sequenceError, lost)
				w.repaired(lost)
			})
		},
		// What was sent between the two was missed, and lost.
		imitated: func(w *wire) {
			w.calm(1000)
			lost := w.gap()
			w.after(9*us).miss(func() { w.only(lost) }).after(10*us).nak(sequenceError, lost)
			w.repaired(lost)
		},
		undetermined: true,
	},
	{
		rule:     finding.RoCENAKMissing,
		shows:    func(w *wire) { w.calm(2000).times(20, func() { w.silentGap() }) },
		nearly:   func(w *wire) { w.calm(2000).times(20, func() { w.noticedGap() }) },
		imitated: func(w *wire) { w.calm(2000).silentGap() }, undetermined: true,
	},
	{
		rule:     finding.RoCENAKOfAcknowledged,
		shows:    func(w *wire) { w.calm(10); w.msn++; w.nak(sequenceError, w.psn-5) },
		nearly:   func(w *wire) { w.calm(10); w.msn -= 6; w.nak(sequenceError, w.psn-5) },
		imitated: func(w *wire) { w.calm(10).nak(sequenceError, w.psn-1) }, undetermined: true,
	},
	{
		rule: finding.RoCEAckOverGap,
		shows: func(w *wire) {
			w.calm(1000).times(20, func() { w.gap(); w.msn += 2; w.after(5*us).ack(w.psn-1, w.msn).calm(1) })
		},
		nearly: func(w *wire) { w.calm(1000).times(20, func() { w.repaired(w.gap()) }) },
		// The packet came again, and the capture missed it.
		imitated: func(w *wire) {
			w.calm(1000)
			lost := w.gap()
			w.miss(func() { w.after(10 * us).only(lost).only(lost + 1).after(10 * us) })
			w.msn += 2
			w.ack(w.psn-1, w.msn).calm(1)
		},
		undetermined: true,
	},
	{
		rule:   finding.RoCEAnswerAfterFatalNAK,
		shows:  func(w *wire) { w.calm(5).fresh().fresh().after(9*us).nak(refused, w.psn-2).ack(w.psn-1, w.msn+2) },
		nearly: func(w *wire) { w.calm(5).fresh().fresh().after(9*us).nak(refused, w.psn-1).ack(w.psn-2, w.msn) },
		// The refused request was missed, and the ACK of what stands before it came late.
		imitated: func(w *wire) {
			w.calm(5).fresh().miss(func() { w.fresh() }).after(9*us).nak(refused, w.psn-1).ack(w.psn-2, w.msn)
		},
	},
	{
		rule:     finding.RoCERNRNotForSend,
		shows:    func(w *wire) { w.fresh().nak(notReady, first) },
		nearly:   func(w *wire) { w.ask(infiniband.RCSendOnly, first, size(8)).nak(notReady, first) },
		imitated: func(w *wire) { w.miss(func() { w.fresh() }).fresh().nak(notReady, first) },
	},
	{
		rule:  finding.RoCEDuplicateUnanswered,
		shows: func(w *wire) { w.calm(1000).times(20, func() { w.after(9 * ms).only(w.psn - 1) }) },
		nearly: func(w *wire) {
			w.calm(1000).times(20, func() { w.after(9*ms).only(w.psn-1).after(9*us).ack(w.psn-1, w.msn) })
		},
		imitated: func(w *wire) {
			w.calm(1000).times(2, func() { w.after(9 * ms).only(w.psn - 1).after(9 * us).miss(func() { w.ack(w.psn-1, w.msn) }) })
		},
		undetermined: true,
	},
	{
		rule:   finding.RoCEAckRequestUnanswered,
		shows:  func(w *wire) { w.calm(2).times(40, func() { w.timedOut(9 * ms) }) },
		nearly: func(w *wire) { w.calm(40) },
		imitated: func(w *wire) {
			w.calm(99).fresh().miss(func() { w.done() }).after(9*ms).only(w.psn-1).ack(w.psn-1, w.msn)
		}, undetermined: true,
	},
}

// silentGap is a packet lost before the capture, which no NAK asks for: the timer sends it again.
func (w *wire) silentGap() {
	lost := w.psn
	w.miss(func() { w.fresh() }).after(2 * us).fresh().after(9 * ms)
	w.repaired(lost)
}

func (w *wire) noticedGap() {
	lost := w.psn
	w.miss(func() { w.fresh() }).after(2*us).fresh().after(10*us).nak(sequenceError, lost)
	w.repaired(lost)
}

// What a responder sends beside ACKs.
var answerExamples = []example{
	{
		rule:   finding.RoCEReadResponseSequence,
		shows:  func(w *wire) { w.asked(3).response(infiniband.RCReadResponseMiddle, first+2, mtu) },
		nearly: func(w *wire) { w.asked(3).answered(first+2, 3) },
		// The READ was asked for again from its second packet on, and the capture missed that.
		imitated: func(w *wire) {
			w.asked(3).response(infiniband.RCReadResponseFirst, first+2, mtu).
				miss(func() { w.response(infiniband.RCReadResponseMiddle, first+3, mtu).after(9*ms).read(first+3, mtu+100) }).
				answered(first+3, 2)
		},
		undetermined: true,
	},
	{
		rule: finding.RoCEReadResponseLength,
		shows: func(w *wire) {
			w.asked(3).response(infiniband.RCReadResponseFirst, first+2, mtu).response(infiniband.RCReadResponseMiddle, first+3, mtu).
				response(infiniband.RCReadResponseLast, first+4, 99)
		},
		nearly: func(w *wire) { w.asked(3).answered(first+2, 3) },
		imitated: func(w *wire) {
			w.asked(3).response(infiniband.RCReadResponseFirst, first+2, mtu).
				miss(func() { w.response(infiniband.RCReadResponseMiddle, first+3, mtu) }).
				short(50, func() { w.response(infiniband.RCReadResponseLast, first+4, 100) })
		},
	},
	{
		rule: finding.RoCEReadResponsePSN,
		shows: func(w *wire) {
			w.asked(3).answered(first+2, 3).only(first+5).response(infiniband.RCReadResponseOnly, first+5, 64)
		},
		nearly: func(w *wire) { w.asked(3).answered(first+2, 3) },
		imitated: func(w *wire) {
			w.long(first, 2).miss(func() { w.read(first+2, 64) }).only(first+3).response(infiniband.RCReadResponseOnly, first+2, 64)
		},
	},
	{
		rule:     finding.RoCEAtomicResponse,
		shows:    func(w *wire) { w.fresh().found(first, 7) },
		nearly:   func(w *wire) { w.fresh().add(first+1).found(first+1, 7) },
		imitated: func(w *wire) { w.fresh().miss(func() { w.add(first + 1) }).only(first+2).found(first+1, 7) },
	},
	{
		rule:   finding.RoCEAtomicRepeated,
		shows:  func(w *wire) { w.add(first).found(first, 7).after(9*ms).add(first).found(first, 8) },
		nearly: func(w *wire) { w.add(first).found(first, 7).after(9*ms).add(first).found(first, 7) },
		// The answer to the first was missed, and so was the request of the second.
		imitated: func(w *wire) {
			w.add(first).miss(func() { w.found(first, 7).add(first + 1) }).found(first+1, 8).add(first).found(first, 7)
		},
	},
	{
		rule:  finding.RoCECNPMissing,
		shows: func(w *wire) { w.calm(1000).times(20, func() { w.fresh(marked).done().after(2 * ms).calm(1) }) },
		nearly: func(w *wire) {
			w.calm(1000).times(20, func() { w.fresh(marked).done().after(us).cnp().after(2 * ms).calm(1) })
		},
		imitated: func(w *wire) {
			w.calm(1000).times(2, func() { w.fresh(marked).done().after(us).miss(func() { w.cnp() }).after(2 * ms).calm(1) })
		},
		undetermined: true,
	},
	{
		rule:   finding.RoCECNPUnfounded,
		shows:  func(w *wire) { w.ecn = dissector.ECNNotECT; w.calm(16).cnp().cnp() },
		nearly: func(w *wire) { w.calm(16).cnp().cnp() }, nearlyUnproved: true,
		// The packet that was marked was missed.
		imitated: func(w *wire) {
			w.ecn = dissector.ECNNotECT
			w.calm(16).miss(func() { w.fresh(marked).done().cnp() }).fresh(func(f *build.Frame) { f.ECN = dissector.ECNECT0 }).done().cnp().cnp()
		},
		undetermined: true,
	},
	{
		rule:     finding.RoCECNPFormat,
		shows:    func(w *wire) { w.cnp(func(f *build.Frame) { f.BTH.BECN = false }) },
		nearly:   func(w *wire) { w.cnp() },
		imitated: func(w *wire) { w.cnp(damaged, func(f *build.Frame) { f.BTH.BECN = false }) },
	},
}

// asked is a WRITE of two packets and a READ of some, of which the last has 100 bytes.
func (w *wire) asked(packets int) *wire {
	return w.long(first, 2).ack(first+1, 1).read(first+2, uint32(packets-1)*mtu+100)
}

// answered is the answer to the last packets of such a READ.
func (w *wire) answered(psn uint32, packets int) *wire {
	o := infiniband.RCReadResponseFirst
	for i := range packets - 1 {
		w.response(o, psn+uint32(i), mtu)
		o = infiniband.RCReadResponseMiddle
	}
	return w.response(infiniband.RCReadResponseLast, psn+uint32(packets-1), 100)
}
