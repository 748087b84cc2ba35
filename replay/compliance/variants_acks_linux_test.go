//go:build !race

package compliance_test

import (
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// ackVariants say in their ACKs what is not so, or do not send them.
func ackVariants() []variant {
	acks := func(change func(d *datagram)) func() (in, out hook) { return saying(of(mr0.TypeACK, change)) }
	silent := func(t mr0.ACKTrigger) func() (in, out hook) { return saying(dropping(trigger(t))) }
	return []variant{
		{name: "counts no CE marks", fails: "receiver/ce-count", hooks: acks(func(d *datagram) { d.ACKH.CECount = 0 })},
		{name: "counts every packet as marked", fails: "receiver/ce-count", hooks: acks(func(d *datagram) { d.ACKH.CECount = d.ACKH.PacketCount })},
		{name: "does not count duplicates", fails: "receiver/packet-count", hooks: func() (in, out hook) {
			duplicates := map[sequence]uint32{}
			return nil, filter(of(mr0.TypeACK, func(d *datagram) {
				if d.ACKH.Trigger == mr0.ACKTriggerDuplicate {
					duplicates[sequenceOf(d)]++
				}
				d.ACKH.PacketCount -= duplicates[sequenceOf(d)]
			}))
		}},
		{name: "echoes its own time", fails: "receiver/echo", hooks: acks(func(d *datagram) { d.ACKH.EchoTimestamp += 12345 })},
		{name: "tells a long delay", fails: "receiver/ack-delay", hooks: acks(func(d *datagram) { d.ACKH.ACKDelay = uint32(2 * time.Second) })},
		{name: "numbers its ACKs by twos", fails: "receiver/ack-number", hooks: acks(func(d *datagram) { d.CH.PSN *= 2 })},
		{name: "takes duplicates for new", fails: "receiver/duplicate receiver/duplicate-sacked receiver/duplicate-old", hooks: lying(mr0.ACKTriggerDuplicate, mr0.ACKTriggerCoalesced)},
		{name: "tells of CE as of the timer", fails: "receiver/ack-ce", hooks: lying(mr0.ACKTriggerCEChange, mr0.ACKTriggerTimer)},
		{name: "tells of requests as of the timer", fails: "receiver/ack-requested", hooks: lying(mr0.ACKTriggerRequested, mr0.ACKTriggerTimer)},
		{name: "tells of ends as of a run", fails: "receiver/ack-message-end", hooks: lying(mr0.ACKTriggerMessageEnd, mr0.ACKTriggerCoalesced)},
		{name: "tells of its timer as of a gap", fails: "receiver/ack-timer receiver/ack-coalesced", hooks: lying(mr0.ACKTriggerTimer, mr0.ACKTriggerGap)},
		{name: "says nothing of gaps", fails: "receiver/ack-gap", hooks: silent(mr0.ACKTriggerGap)},
		{name: "says nothing of CE", fails: "receiver/ack-ce", hooks: silent(mr0.ACKTriggerCEChange)},
		{name: "says nothing at the end of a message", fails: "receiver/ack-message-end receiver/probe", hooks: silent(mr0.ACKTriggerMessageEnd)},
		{name: "does not see CE", fails: "receiver/ack-ce receiver/ce-count", hooks: hearing(func(d *datagram) bool {
			if d.ecn == dissector.ECNCE {
				d.ecn = dissector.ECNECT0
			}
			return true
		})},
		{name: "grants nothing", fails: "receiver/hint", hooks: acks(func(d *datagram) { d.ACKH.RateHint = 0 })},
	}
}

// refusalVariants refuse wrongly.
func refusalVariants() []variant {
	naks := func(change func(d *datagram)) func() (in, out hook) { return saying(of(mr0.TypeNAK, change)) }
	as := func(is, says mr0.NAKReason) func() (in, out hook) {
		return naks(func(d *datagram) {
			if d.NAKH.Reason == is {
				d.NAKH.Reason, d.NAKH.RetryAfter = says, 0
			}
		})
	}
	return []variant{
		{name: "names no time to wait", fails: "receiver/nak-not-ready", hooks: naks(func(d *datagram) { d.NAKH.RetryAfter = 0 })},
		{name: "takes a missing buffer for a fault", fails: "receiver/nak-not-ready receiver/nak-not-ready-later", hooks: as(mr0.NAKReasonReceiverNotReady, mr0.NAKReasonInvalidRequest)},
		{name: "takes a wrong key for an invalid request", fails: "receiver/nak-key receiver/nak-beyond receiver/nak-wrapped receiver/nak-read", hooks: as(mr0.NAKReasonRemoteAccessError, mr0.NAKReasonInvalidRequest)},
		{name: "takes an invalid request for a wrong key", fails: "receiver/receive-index-reused receiver/nak-atomic receiver/nak-operation receiver/nak-cut receiver/nak-contradiction", hooks: as(mr0.NAKReasonInvalidRequest, mr0.NAKReasonRemoteAccessError)},
		{name: "takes an unknown stream for an invalid request", fails: "receiver/nak-stream", hooks: as(mr0.NAKReasonStreamUnknown, mr0.NAKReasonInvalidRequest)},
		{name: "names another psn in NAKs", fails: "receiver/nak-not-ready receiver/nak-not-ready-later receiver/nak-key receiver/nak-beyond receiver/nak-wrapped receiver/nak-read receiver/nak-atomic receiver/nak-operation receiver/nak-cut receiver/nak-contradiction receiver/nak-stream", hooks: naks(func(d *datagram) { d.NAKH.RefusedPSN++ })},
		{name: "always has a buffer", fails: "receiver/nak-not-ready", hooks: hearing(of(mr0.TypeSend, func(d *datagram) {
			if d.SETH.ReceiveIndex == 40 {
				d.SETH.ReceiveIndex, d.DH.MSN = 0, 0
			}
		}))},
	}
}
