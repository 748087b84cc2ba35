package judge_test

import (
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/finding"
)

// burst is so many packets of path 0 without AR that do not end messages, and an ACK.
func (w *wire) burst(n int, trigger mr0.ACKTrigger, change func(m *mr0.Packet)) {
	msn := w.msn[2]
	w.msn[2]++
	for i := range n {
		w.after(us).part(0, msn, i, n+1, nil)
	}
	w.after(9*us).ack(0, trigger, change)
}

// ended is a burst whose second packet ends its message or has AR.
func (w *wire) ended(flag mr0.Flags, trigger mr0.ACKTrigger) {
	if flag == mr0.FlagLast {
		w.after(us).send(0, nil)
	} else {
		w.after(us).part(0, w.msn[2], 0, 9, func(m *mr0.Packet) { m.CH.Flags |= flag })
		w.msn[2]++
	}
	w.burst(3, trigger, nil)
}

// newGap is a gap in the middle of a burst, told by an ACK.
func (w *wire) newGap(trigger mr0.ACKTrigger) {
	msn := w.msn[1]
	var psn uint32
	w.lose(func() { psn = w.after(us).send(0, nil) })
	w.burst(3, trigger, nil)
	w.after(us).again(0, psn, msn, nil)
	w.after(9*us).ack(0, mr0.ACKTriggerRequested, nil)
}

// doubled has a packet arrive twice, which is told by an ACK.
func (w *wire) doubled(trigger mr0.ACKTrigger) {
	w.after(us).part(0, w.msn[2], 0, 9, nil)
	w.msn[2]++
	w.path(0).count++
	w.burst(3, trigger, nil)
}

// changed has the marking change in the middle, which is told by an ACK.
func (w *wire) changed(trigger mr0.ACKTrigger) {
	w.ecn = dissector.ECNCE
	w.after(us).part(0, w.msn[2], 0, 9, nil)
	w.after(us).part(0, w.msn[2], 1, 9, nil)
	w.msn[2]++
	w.ecn = dissector.ECNECT0
	w.burst(3, trigger, nil)
}

func drop(w *wire, i, n int, do func()) {
	if i%n == 0 {
		w.miss(do)
	} else {
		do()
	}
}

var ackExamples = []example{
	{
		rule:  finding.MetaRoCEAckBackwards,
		shows: rounds(1, func(w *wire, _ int) { w.ack(0, mr0.ACKTriggerTimer, func(m *mr0.Packet) { m.ACKH.CumulativePSN -= 3 }) }),
		nearly: rounds(1, func(w *wire, _ int) { // an ACK that comes late says so by its number
			w.ack(0, mr0.ACKTriggerTimer, func(m *mr0.Packet) { m.ACKH.CumulativePSN -= 3; m.ACKH.PacketCount -= 3; m.CH.PSN -= 3 })
		}),
		imitate: rounds(20, func(w *wire, i int) { drop(w, i, 3, func() { w.calm(1) }) }),
	},
	{
		rule: finding.MetaRoCEAckReneged,
		shows: rounds(1, func(w *wire, _ int) {
			w.gap()
			w.after(us).ack(0, mr0.ACKTriggerTimer, func(m *mr0.Packet) { m.ACKH.SACK = mr0.SACK{} })
		}),
		nearly:  rounds(9, func(w *wire, _ int) { w.repair() }),
		imitate: rounds(20, func(w *wire, i int) { drop(w, i, 3, func() { w.gap() }) }),
	},
	{
		rule: finding.MetaRoCEAckUnsent,
		shows: rounds(500, func(w *wire, _ int) {
			w.after(us).ack(0, mr0.ACKTriggerTimer, func(m *mr0.Packet) { m.ACKH.CumulativePSN++; m.ACKH.PacketCount++ })
			w.after(us).send(0, nil)
		}),
		nearly: rounds(100, func(w *wire, _ int) { w.calm(1) }),
		imitate: rounds(100, func(w *wire, i int) { // missed, and a late copy seen
			at, msn := uint32(w.now), w.msn[1]
			drop(w, i, 50, func() { w.send(0, nil) })
			w.after(9*us).ack(0, mr0.ACKTriggerMessageEnd, nil)
			w.again(0, w.path(0).next-1, msn, func(m *mr0.Packet) { m.CH.Flags &^= mr0.FlagRTX; m.DH.Timestamp = at })
		}),
	},
	{
		rule:   finding.MetaRoCEAckNumber,
		shows:  rounds(400, func(w *wire, _ int) { w.path(0).ackNumber++; w.calm(1) }),
		nearly: rounds(60, func(w *wire, _ int) { w.calm(1) }),
		imitate: rounds(60, func(w *wire, i int) { // every third is missed, now and then two in a row
			drop(w, i%7, 3, func() { w.after(us).ack(0, mr0.ACKTriggerTimer, nil) })
		}),
	},
	{
		rule: finding.MetaRoCEPacketCount,
		shows: rounds(1, func(w *wire, _ int) {
			w.after(us).send(0, nil)
			w.path(0).count--
			w.ack(0, mr0.ACKTriggerMessageEnd, nil)
		}),
		nearly:  rounds(9, func(w *wire, _ int) { w.doubled(mr0.ACKTriggerDuplicate) }),
		imitate: rounds(20, func(w *wire, i int) { drop(w, i, 3, func() { w.calm(1) }) }),
	},
	{
		rule: finding.MetaRoCECECount,
		shows: rounds(300, func(w *wire, _ int) {
			w.changed(mr0.ACKTriggerCEChange)
			w.path(0).ce = 0
		}),
		nearly: rounds(60, func(w *wire, _ int) { w.changed(mr0.ACKTriggerCEChange) }),
		imitate: rounds(1, func(w *wire, _ int) { // the marked packet was lost behind the capture, its retransmission missed
			w.ecn = dissector.ECNCE
			msn := w.msn[1]
			var psn uint32
			w.lose(func() { psn = w.after(us).send(0, nil) })
			w.ecn = dissector.ECNECT0
			w.miss(func() { w.again(0, psn, msn, nil) })
			w.after(us).ack(0, mr0.ACKTriggerRequested, nil)
		}),
	},
	{
		rule: finding.MetaRoCEEchoUnsent,
		shows: rounds(300, func(w *wire, _ int) {
			w.after(us).send(0, nil)
			w.after(9*us).ack(0, mr0.ACKTriggerMessageEnd, func(m *mr0.Packet) { m.ACKH.EchoTimestamp += 77 })
		}),
		nearly: rounds(60, func(w *wire, _ int) { w.calm(1) }),
		imitate: rounds(100, func(w *wire, i int) {
			drop(w, i, 50, func() { w.after(us).send(0, nil) })
			w.after(9*us).ack(0, mr0.ACKTriggerMessageEnd, nil)
		}),
	},
	{
		rule:    finding.MetaRoCEAckTrigger,
		shows:   rounds(300, func(w *wire, _ int) { w.burst(3, mr0.ACKTriggerGap, nil) }),
		nearly:  rounds(60, func(w *wire, _ int) { w.newGap(mr0.ACKTriggerGap) }),
		imitate: rounds(60, func(w *wire, i int) { drop(w, i, 3, func() { w.repair() }) }),
	},
	{
		rule:    finding.MetaRoCEAckEvery,
		shows:   rounds(300, func(w *wire, _ int) { w.burst(70, mr0.ACKTriggerCoalesced, nil) }),
		nearly:  rounds(60, func(w *wire, _ int) { w.burst(16, mr0.ACKTriggerCoalesced, nil) }),
		imitate: rounds(60, func(w *wire, i int) { drop(w, i+1, 6, func() { w.burst(16, mr0.ACKTriggerCoalesced, nil) }) }),
	},
	{
		rule: finding.MetaRoCEAckDelay,
		shows: rounds(300, func(w *wire, _ int) {
			w.burst(3, mr0.ACKTriggerTimer, func(m *mr0.Packet) { m.ACKH.ACKDelay = 90_000 })
		}),
		nearly: rounds(60, func(w *wire, _ int) {
			w.burst(3, mr0.ACKTriggerTimer, func(m *mr0.Packet) { m.ACKH.ACKDelay = 20_000 })
		}),
		imitate: rounds(60, func(w *wire, _ int) { // announcing a hint is no matter of the last packet
			w.burst(3, mr0.ACKTriggerWindowUpdate, func(m *mr0.Packet) { m.ACKH.ACKDelay = 90_000 })
		}),
	},
	{
		rule:   finding.MetaRoCEAckRequested,
		shows:  rounds(300, func(w *wire, _ int) { w.ended(mr0.FlagAR, mr0.ACKTriggerTimer) }),
		nearly: rounds(60, func(w *wire, _ int) { w.ended(mr0.FlagAR, mr0.ACKTriggerRequested) }),
		imitate: rounds(60, func(w *wire, i int) { // the ACK at once is missed
			drop(w, i, 3, func() { w.ended(mr0.FlagAR, mr0.ACKTriggerRequested) })
			w.burst(2, mr0.ACKTriggerTimer, nil)
		}),
	},
	{
		rule:    finding.MetaRoCEAckGap,
		shows:   rounds(300, func(w *wire, _ int) { w.newGap(mr0.ACKTriggerTimer) }),
		nearly:  rounds(60, func(w *wire, _ int) { w.newGap(mr0.ACKTriggerGap) }),
		imitate: rounds(60, func(w *wire, i int) { drop(w, i, 3, func() { w.gap() }); w.burst(2, mr0.ACKTriggerTimer, nil) }),
	},
	{
		rule:   finding.MetaRoCEAckDuplicate,
		shows:  rounds(300, func(w *wire, _ int) { w.doubled(mr0.ACKTriggerTimer) }),
		nearly: rounds(60, func(w *wire, _ int) { w.doubled(mr0.ACKTriggerDuplicate) }),
		imitate: rounds(60, func(w *wire, i int) { // it was told by an ACK that was missed
			drop(w, i, 3, func() { w.doubled(mr0.ACKTriggerDuplicate) })
			w.burst(2, mr0.ACKTriggerTimer, nil)
		}),
	},
	{
		rule:   finding.MetaRoCEAckCEChange,
		shows:  rounds(300, func(w *wire, _ int) { w.changed(mr0.ACKTriggerTimer) }),
		nearly: rounds(60, func(w *wire, _ int) { w.changed(mr0.ACKTriggerCEChange) }),
		imitate: rounds(60, func(w *wire, i int) {
			drop(w, i, 3, func() { w.changed(mr0.ACKTriggerCEChange) })
			w.burst(2, mr0.ACKTriggerTimer, nil)
		}),
	},
	{
		rule:   finding.MetaRoCEAckMessageEnd,
		shows:  rounds(300, func(w *wire, _ int) { w.ended(mr0.FlagLast, mr0.ACKTriggerTimer) }),
		nearly: rounds(60, func(w *wire, _ int) { w.ended(mr0.FlagLast, mr0.ACKTriggerMessageEnd) }),
		imitate: rounds(60, func(w *wire, i int) {
			drop(w, i, 3, func() { w.ended(mr0.FlagLast, mr0.ACKTriggerMessageEnd) })
			w.burst(2, mr0.ACKTriggerTimer, nil)
		}),
	},
}

// refused is a SEND that B is not ready for; it comes again after a time.
func (w *wire) refused(wait time.Duration) {
	msn := w.msn[1]
	var psn uint32
	w.lose(func() { psn = w.after(us).send(0, sends(msn)) })
	w.after(9*us).nak(0, psn, msn, mr0.NAKReasonReceiverNotReady, 100*us)
	w.after(wait).again(0, psn, msn, sends(msn))
	w.after(9*us).ack(0, mr0.ACKTriggerRequested, nil)
}

// hurry sends full packets on path 0, one each so long, with ACKs that grant a rate.
func (w *wire) hurry(apart time.Duration, hint uint32) {
	w.burst(16, mr0.ACKTriggerCoalesced, func(m *mr0.Packet) { m.ACKH.RateHint = hint })
	w.after(16 * apart)
}

var answerExamples = []example{
	{
		rule: finding.MetaRoCEHintRange,
		shows: rounds(1, func(w *wire, _ int) {
			w.ack(0, mr0.ACKTriggerTimer, func(m *mr0.Packet) { m.ACKH.RateHint = mr0.ACKHRateHintNoLimit })
		}),
		nearly: rounds(1, func(w *wire, _ int) { w.ack(0, mr0.ACKTriggerTimer, func(m *mr0.Packet) { m.ACKH.RateHint = 9500 }) }),
		imitate: func(w *wire) {
			w.miss(func() { w.connect() })
			w.ack(0, mr0.ACKTriggerTimer, func(m *mr0.Packet) { m.ACKH.RateHint = 9700 })
		},
	},
	{
		rule:   finding.MetaRoCEHintExceeded,
		shows:  rounds(600, func(w *wire, _ int) { w.hurry(0, 100) }),
		nearly: rounds(600, func(w *wire, _ int) { w.hurry(100*us, 100) }),
		imitate: rounds(600, func(w *wire, i int) { // the higher hint is missed, now and then
			w.hurry(0, 9000)
			drop(w, i, 40, func() { w.hurry(0, 9000) })
		}),
	},
	{
		rule: finding.MetaRoCEHintAnnounced,
		shows: rounds(40, func(w *wire, _ int) {
			w.calm(2)
			w.ack(0, mr0.ACKTriggerWindowUpdate, nil)
		}),
		nearly: rounds(40, func(w *wire, i int) {
			w.calm(2)
			w.ack(0, mr0.ACKTriggerWindowUpdate, func(m *mr0.Packet) { m.ACKH.RateHint = 1000 + 1000*uint32(i%8) })
		}),
		imitate: rounds(40, func(w *wire, i int) {
			w.calm(20)
			if i == 20 {
				w.miss(func() { w.ack(0, mr0.ACKTriggerTimer, func(m *mr0.Packet) { m.ACKH.RateHint = 1000 }) })
				w.ack(0, mr0.ACKTriggerWindowUpdate, nil)
			}
		}),
	},
	{
		rule:   finding.MetaRoCECEIgnored,
		shows:  rounds(1, func(w *wire, _ int) { w.ahead(60, true) }),
		nearly: rounds(1, func(w *wire, _ int) { w.ahead(60, false) }), // nothing is marked
		imitate: rounds(1, func(w *wire, _ int) { // the marks come behind one another, but it sends little
			w.ahead(6, true)
		}),
	},
	{
		rule: finding.MetaRoCENAKReason,
		shows: rounds(1, func(w *wire, _ int) {
			msn := w.msn[1]
			w.nak(0, w.send(0, nil), msn, mr0.NAKReasonReceiverNotReady, 100*us)
		}),
		nearly: rounds(1, func(w *wire, _ int) {
			msn := w.msn[1]
			w.nak(0, w.send(0, sends(1)), msn, mr0.NAKReasonReceiverNotReady, 100*us)
		}),
		imitate: rounds(1, func(w *wire, _ int) {
			msn := w.msn[1]
			w.miss(func() { w.send(0, sends(1)) })
			w.nak(0, w.path(0).next-1, msn, mr0.NAKReasonReceiverNotReady, 100*us)
		}),
	},
	{
		rule:  finding.MetaRoCENAKMatch,
		shows: rounds(1, func(w *wire, _ int) { w.nak(0, w.send(0, nil), 9999, mr0.NAKReasonRemoteAccessError, 0) }),
		nearly: rounds(1, func(w *wire, _ int) {
			msn := w.msn[1]
			w.nak(0, w.send(0, nil), msn, mr0.NAKReasonRemoteAccessError, 0)
		}),
		imitate: rounds(1, func(w *wire, _ int) {
			w.miss(func() { w.send(0, nil) })
			w.nak(0, w.path(0).next-1, 9999, mr0.NAKReasonRemoteAccessError, 0)
		}),
	},
	{
		rule:   finding.MetaRoCERetryEarly,
		shows:  rounds(300, func(w *wire, _ int) { w.refused(20 * us) }),
		nearly: rounds(60, func(w *wire, _ int) { w.refused(120 * us) }),
		imitate: rounds(60, func(w *wire, i int) { // one of ten NAKs is lost behind the capture
			wait := 120 * us
			if i%10 == 0 {
				wait = 20 * us
			}
			w.refused(wait)
		}),
	},
	{
		rule: finding.MetaRoCEAfterFatalNAK,
		shows: rounds(30, func(w *wire, _ int) {
			msn := w.msn[1]
			w.nak(0, w.send(0, nil), msn, mr0.NAKReasonRemoteAccessError, 0)
			w.after(3 * time.Millisecond).calm(1)
		}),
		nearly: rounds(1, func(w *wire, _ int) {
			msn := w.msn[1]
			w.nak(0, w.send(0, nil), msn, mr0.NAKReasonRemoteAccessError, 0)
			w.after(us).leave(0)
		}),
		imitate: rounds(1, func(w *wire, _ int) { // the NAK is lost behind the capture
			msn := w.msn[1]
			w.nak(0, w.send(0, nil), msn, mr0.NAKReasonRemoteAccessError, 0)
			w.after(3 * time.Millisecond).calm(9)
		}),
	},
}

// ahead keeps so many packets in flight on path 0, all of them marked or none.
func (w *wire) ahead(n int, marked bool) {
	if marked {
		w.ecn = dissector.ECNCE
	}
	w.reactions(20)
	for range 200 {
		far(w, 0, n)
		w.after(9*us).ack(0, mr0.ACKTriggerRequested, nil)
	}
}

// reactions are gaps and their repair, which show how long the sender takes to hear of them.
func (w *wire) reactions(n int) {
	for range n {
		w.repair()
	}
}
