package judge_test

import (
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/finding"
)

const us = time.Microsecond

// What single packets say, and connecting.
var packetExamples = []example{
	{
		rule: finding.MetaRoCEVersion, alone: true,
		shows: func(w *wire) { w.connect().calm(2).send(0, func(m *mr0.Packet) { m.CH.Version = 1 }) },
		nearly: func(w *wire) {
			w.connect().calm(2)
			w.badICRC = true
			w.send(0, func(m *mr0.Packet) { m.CH.Version = 1 })
		},
	},
	{
		rule: finding.MetaRoCEMalformed, alone: true,
		shows: func(w *wire) { w.connect().calm(2).send(0, func(m *mr0.Packet) { m.CH.Flags &^= mr0.FlagFirst }) },
		nearly: func(w *wire) {
			w.connect().calm(2)
			w.badICRC = true
			w.send(0, func(m *mr0.Packet) { m.CH.Flags &^= mr0.FlagFirst })
		},
	},
	{
		rule: finding.MetaRoCEICRC, alone: true,
		shows:  func(w *wire) { w.reply(nil); w.ack(0, 0, nil); w.badICRC = true; w.bare(9) },
		nearly: func(w *wire) { w.connect().calm(1); w.badICRC = true; w.bare(9) },
	},
	{
		rule: finding.MetaRoCEReservedBits, alone: true,
		shows:  func(w *wire) { w.connect().send(0, func(m *mr0.Packet) { m.DH.Reserved = 1 }) },
		nearly: func(w *wire) { w.connect().calm(2) },
	},
	{
		rule: finding.MetaRoCECodes, alone: true,
		shows:  func(w *wire) { w.connect().calm(1).ack(0, 8, nil) },
		nearly: func(w *wire) { w.connect().calm(1).ack(0, 7, nil) },
	},
	{
		rule: finding.MetaRoCEUnusedFields, alone: true,
		shows: func(w *wire) {
			w.connect().calm(1).nak(0, initialPSN, 0, mr0.NAKReasonInvalidRequest, time.Millisecond)
		},
		nearly: func(w *wire) {
			w.connect().calm(1).nak(0, initialPSN, 0, mr0.NAKReasonReceiverNotReady, time.Millisecond)
		},
	},
	{
		rule: finding.MetaRoCESequencedECN, alone: true,
		shows:  func(w *wire) { w.connect(); w.ecn = dissector.ECNNotECT; w.calm(4) },
		nearly: func(w *wire) { w.connect(); w.ecn = dissector.ECNNotECT; w.calm(3); w.ecn = dissector.ECNCE; w.calm(9) },
	},
	{
		rule: finding.MetaRoCEAnswerECN, alone: true,
		shows: func(w *wire) {
			w.connect().calm(1)
			w.marked(dissector.ECNECT0)
		},
		nearly: func(w *wire) { w.connect().calm(1); w.marked(dissector.ECNNotECT) },
	},
	{
		rule: finding.MetaRoCEPartitionKey, alone: true,
		shows:  func(w *wire) { w.connect().calm(1).send(0, func(m *mr0.Packet) { m.CH.PartitionKey = 0x7fff }) },
		nearly: func(w *wire) { w.connect().calm(3) },
	},
	{
		rule:    finding.MetaRoCEConnNonce,
		shows:   func(w *wire) { w.request(nil).reply(func(c *mr0.CONN) { c.Nonce++ }) },
		nearly:  func(w *wire) { w.request(func(c *mr0.CONN) { c.Nonce = 1 }).request(nil).reply(nil) },
		imitate: func(w *wire) { w.miss(func() { w.request(nil) }); w.reply(func(c *mr0.CONN) { c.Nonce++ }) },
	},
	{
		rule: finding.MetaRoCEConnRetry,
		shows: func(w *wire) {
			w.request(nil).after(time.Millisecond).request(nil).after(time.Millisecond).request(nil)
		},
		nearly: func(w *wire) {
			w.request(nil)
			for i := range 5 {
				w.after(10 * time.Millisecond << i).request(nil)
			}
		},
		imitate: func(w *wire) { // the network doubles both, and delays one copy
			w.request(nil).after(20 * us).request(nil).after(10*time.Millisecond - 20*us).request(nil).after(time.Millisecond).request(nil)
		},
	},
	{
		rule: finding.MetaRoCEConnChanged, alone: true,
		shows: func(w *wire) {
			w.request(nil).after(10 * time.Millisecond).request(func(c *mr0.CONN) { c.MaxWindow = 5 })
		},
		nearly: func(w *wire) { w.request(nil).request(func(c *mr0.CONN) { c.MaxWindow, c.Nonce = 5, 78 }) },
	},
	{
		rule: finding.MetaRoCEDisconnectUnanswered,
		shows: func(w *wire) {
			w.connect().calm(400)
			w.leaveSixTimes()
			for range 5 {
				w.after(20*time.Millisecond).ack(0, mr0.ACKTriggerTimer, nil)
			}
		},
		nearly: func(w *wire) {
			w.connect().calm(400)
			w.leaveSixTimes()
			w.leave(1)
			for range 5 {
				w.after(20*time.Millisecond).ack(0, mr0.ACKTriggerTimer, nil)
			}
		},
		imitate: func(w *wire) { // silence: the answer was missed, or the peer is gone
			w.connect().calm(400)
			w.leaveSixTimes()
			w.miss(func() { w.leave(1) })
		},
	},
	{
		rule:  finding.MetaRoCEAfterDisconnect,
		shows: func(w *wire) { w.connect().calm(4).leave(0); w.after(20 * time.Millisecond).calm(4) },
		nearly: func(w *wire) {
			w.connect().calm(4).leave(0)
			w.calm(4) // still under way
		},
		imitate: func(w *wire) { // one packet was held up for long
			w.connect().calm(4).leave(0)
			w.after(20*time.Millisecond).send(0, nil)
		},
	},
}

// bare sends packets without answers.
func (w *wire) bare(n int) {
	for range n {
		w.after(us).send(0, nil)
	}
}

// marked is an ACK with an ECN codepoint.
func (w *wire) marked(ecn dissector.ECN) {
	before := w.ecn
	w.answerECN = ecn
	w.ack(0, mr0.ACKTriggerTimer, nil)
	w.ecn, w.answerECN = before, dissector.ECNNotECT
}

func (w *wire) leaveSixTimes() {
	w.leave(0)
	for i := range 5 {
		w.after(10 * time.Millisecond << i).leave(0)
	}
}
