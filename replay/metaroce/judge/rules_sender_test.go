package judge_test

import (
	"time"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/finding"
)

// rounds repeats what a rule needs to be seen more than once.
func rounds(n int, do func(w *wire, i int)) func(w *wire) {
	return func(w *wire) {
		w.connect().calm(100)
		for i := range n {
			do(w, i)
		}
	}
}

// gap has a packet of path 0 lost behind the capture, and three ACKs that show it missing. It returns psn and msn.
func (w *wire) gap() (psn, msn uint32) {
	msn = w.msn[1]
	w.lose(func() { psn = w.after(us).send(0, nil) })
	for range 3 {
		w.after(us).send(0, nil)
		w.after(10*us).ack(0, mr0.ACKTriggerGap, nil)
	}
	return psn, msn
}

// repair is gap and the retransmission that closes it.
func (w *wire) repair() {
	psn, msn := w.gap()
	w.after(5*us).again(0, psn, msn, nil)
	w.after(10*us).ack(0, mr0.ACKTriggerRequested, nil)
}

// probe is a PROBE at the place of a psn.
func (w *wire) probe(path uint8, psn uint32) {
	w.again(path, psn, 0, func(m *mr0.Packet) { m.CH.Type, m.DH.MessageLength, m.DH.StreamID = mr0.TypeProbe, 0, 0 })
}

func far(w *wire, path uint8, n int) {
	for range n {
		w.after(us).send(path, nil)
	}
}

var senderExamples = []example{
	{
		rule: finding.MetaRoCEPathOrder, alone: true,
		shows: func(w *wire) { w.connect().calm(3).send(0, func(m *mr0.Packet) { m.DH.Timestamp -= 100_000 }) },
		nearly: func(w *wire) {
			w.connect().calm(3).send(0, func(m *mr0.Packet) { m.DH.Timestamp = uint32(w.now) - 12_000 })
		}, // no earlier than the one before
	},
	{
		rule:    finding.MetaRoCEInitialPSN,
		shows:   func(w *wire) { w.connect().send(1, func(m *mr0.Packet) { m.CH.PSN = initialPSN }) },
		nearly:  func(w *wire) { w.connect().calm(2) },
		imitate: func(w *wire) { w.connect(); w.miss(func() { w.calm(300) }); w.calm(1) },
	},
	{
		rule: finding.MetaRoCEPathRange, alone: true,
		shows:  func(w *wire) { w.connect().send(4, nil) },
		nearly: func(w *wire) { w.miss(func() { w.request(nil) }); w.reply(nil); w.send(4, nil); w.send(3, nil) },
	},
	{
		rule: finding.MetaRoCEPortCollision, alone: true,
		shows: func(w *wire) {
			w.connect()
			w.port = 50000
			w.calm(3)
		},
		nearly: func(w *wire) { // one path takes over the port that the other has left
			w.connect().after(us).send(0, nil)
			w.port = 50000
			w.after(us).send(1, nil)
			w.port = 50009
			w.after(us).send(0, nil)
			w.port = 50000
			w.after(us).send(1, nil)
		},
	},
	{
		rule: finding.MetaRoCEAnswerPort,
		shows: rounds(1, func(w *wire, _ int) {
			w.ports[1] = 61000
			for range 400 {
				w.after(us).send(0, nil)
				w.after(us).ack(0, mr0.ACKTriggerMessageEnd, nil)
				w.after(us).send(1, nil)
				w.port = 61000
				w.after(us).ack(1, mr0.ACKTriggerMessageEnd, nil)
				w.port = 0
			}
		}),
		nearly:  rounds(100, func(w *wire, i int) { w.ports[1] = 61000 + uint16(8*i); w.calm(1) }), // it changes its ports
		imitate: rounds(30, func(w *wire, _ int) { w.miss(func() { w.calm(1) }); w.calm(1) }),
	},
	{
		rule:  finding.MetaRoCEPathUnused,
		shows: func(w *wire) { w.connect().calm(200) },
		nearly: func(w *wire) {
			w.connect().after(us).send(2, nil)
			w.after(us).send(3, nil)
			w.calm(200)
		},
		imitate: func(w *wire) { // the path is broken before the capture, and its bytes come again on others
			w.connect()
			w.miss(func() { w.send(2, nil); w.send(3, nil) })
			w.calm(200)
			w.after(10*time.Millisecond).send(0, func(m *mr0.Packet) { m.CH.Flags |= mr0.FlagRTX; m.DH.MSN = 0 })
		},
	},
	{
		rule: finding.MetaRoCEWindow,
		shows: func(w *wire) {
			w.request(func(c *mr0.CONN) { c.MaxWindow = 8 }).reply(nil).after(us)
			for range 20 {
				far(w, 0, 12)
				w.after(us).ack(0, mr0.ACKTriggerCoalesced, nil)
			}
		},
		nearly: func(w *wire) {
			w.request(func(c *mr0.CONN) { c.MaxWindow = 12 }).reply(nil).after(us)
			for range 20 {
				far(w, 0, 12)
				w.after(us).ack(0, mr0.ACKTriggerCoalesced, nil)
			}
		},
		imitate: func(w *wire) { // ACKs between were missed
			w.request(func(c *mr0.CONN) { c.MaxWindow = 8 }).reply(nil).after(us)
			for range 20 {
				for range 3 {
					far(w, 0, 4)
					w.miss(func() { w.after(us).ack(0, mr0.ACKTriggerCoalesced, nil) })
				}
				w.after(us).ack(0, mr0.ACKTriggerCoalesced, nil)
			}
		},
	},
	{
		rule:    finding.MetaRoCESACKWindow,
		shows:   rounds(1, func(w *wire, _ int) { w.hole(320, false) }),
		nearly:  rounds(1, func(w *wire, _ int) { w.hole(250, false) }),
		imitate: rounds(1, func(w *wire, _ int) { w.hole(320, true) }),
	},
	{
		rule: finding.MetaRoCERetransmissionFlag,
		shows: rounds(1, func(w *wire, _ int) {
			psn, msn := w.gap()
			w.after(us).again(0, psn, msn, func(m *mr0.Packet) { m.CH.Flags &^= mr0.FlagRTX })
		}),
		nearly: rounds(3, func(w *wire, _ int) { w.repair() }),
		imitate: rounds(1, func(w *wire, _ int) { // the network doubles the packet: the copy has its timestamp
			at, msn := uint32(w.now), w.msn[1]
			psn := w.send(0, nil)
			w.after(30*us).again(0, psn, msn, func(m *mr0.Packet) { m.CH.Flags &^= mr0.FlagRTX; m.DH.Timestamp = at })
		}),
	},
	{
		rule: finding.MetaRoCEFirstFlagged,
		shows: rounds(400, func(w *wire, _ int) {
			w.after(us).send(0, func(m *mr0.Packet) { m.CH.Flags |= mr0.FlagRTX })
			w.after(9*us).ack(0, mr0.ACKTriggerMessageEnd, nil)
		}),
		nearly: rounds(1, func(w *wire, _ int) { w.after(us).send(0, func(m *mr0.Packet) { m.CH.Flags |= mr0.FlagRTX }) }),
		imitate: rounds(60, func(w *wire, i int) { // every tenth packet is lost before the capture
			msn := w.msn[1]
			if i%10 != 0 {
				w.calm(1)
				return
			}
			w.miss(func() { w.lose(func() { w.send(0, nil) }) })
			w.after(2*time.Millisecond).again(0, w.path(0).next-1, msn, nil)
			w.after(us).ack(0, mr0.ACKTriggerRequested, nil)
		}),
	},
	{
		rule: finding.MetaRoCERetransmissionTimestamp, alone: true,
		shows: rounds(1, func(w *wire, _ int) {
			at, msn := uint32(w.now), w.msn[1]
			psn := w.send(0, nil)
			w.after(30*us).again(0, psn, msn, func(m *mr0.Packet) { m.DH.Timestamp = at })
		}),
		nearly: rounds(3, func(w *wire, _ int) { w.repair() }),
	},
	{
		rule: finding.MetaRoCERetransmissionContent, alone: true,
		shows: rounds(1, func(w *wire, _ int) {
			psn, msn := w.gap()
			w.after(us).again(0, psn, msn+1, nil)
		}),
		nearly: rounds(1, func(w *wire, _ int) { // a PROBE takes its place
			psn, _ := w.gap()
			w.after(20*time.Millisecond).probe(0, psn)
		}),
	},
	{
		rule: finding.MetaRoCERetransmissionUnfounded,
		shows: rounds(200, func(w *wire, _ int) {
			msn := w.msn[1]
			psn := w.send(0, nil)
			w.after(us).again(0, psn, msn, nil)
			w.after(9*us).ack(0, mr0.ACKTriggerMessageEnd, nil)
		}),
		nearly: rounds(20, func(w *wire, _ int) { w.repair() }),
		imitate: rounds(20, func(w *wire, i int) { // the ACKs that show the gap are missed, now and then
			if i%10 != 0 {
				w.repair()
				return
			}
			var psn, msn uint32
			w.miss(func() { psn, msn = w.gap() })
			w.after(us).again(0, psn, msn, nil)
			w.after(9*us).ack(0, mr0.ACKTriggerRequested, nil)
		}),
	},
	{
		rule: finding.MetaRoCEAcknowledgedResent,
		shows: rounds(200, func(w *wire, _ int) {
			msn := w.msn[1]
			psn := w.send(0, nil)
			w.after(9*us).ack(0, mr0.ACKTriggerMessageEnd, nil)
			w.after(50*us).again(0, psn, msn, nil)
			w.after(9*us).ack(0, mr0.ACKTriggerDuplicate, nil)
		}),
		nearly: rounds(20, func(w *wire, _ int) { w.repair() }),
		imitate: rounds(20, func(w *wire, _ int) { // all ACKs were lost behind the capture, and its timer ran out
			msn := w.msn[1]
			psn := w.send(0, nil)
			w.after(9*us).ack(0, mr0.ACKTriggerMessageEnd, nil)
			w.after(2*time.Millisecond).again(0, psn, msn, nil)
			w.after(9*us).ack(0, mr0.ACKTriggerDuplicate, nil)
		}),
	},
	{
		rule: finding.MetaRoCELostAgainEarly,
		shows: rounds(200, func(w *wire, _ int) {
			psn, msn := w.gap()
			w.after(us).again(0, psn, msn, nil)
			w.after(us).again(0, psn, msn, nil)
			w.after(9*us).ack(0, mr0.ACKTriggerRequested, nil)
		}),
		nearly: rounds(20, func(w *wire, _ int) { // the retransmission was lost, and an ACK echoes a later packet
			psn, msn := w.gap()
			w.lose(func() { w.after(us).again(0, psn, msn, nil) })
			w.after(us).send(0, nil)
			w.after(9*us).ack(0, mr0.ACKTriggerGap, nil)
			w.after(us).again(0, psn, msn, nil)
			w.after(9*us).ack(0, mr0.ACKTriggerRequested, nil)
		}),
		imitate: rounds(1, func(w *wire, _ int) {
			psn, msn := w.gap()
			w.lose(func() { w.after(us).again(0, psn, msn, nil) })
			w.miss(func() { w.after(us).send(0, nil); w.after(9*us).ack(0, mr0.ACKTriggerGap, nil) })
			w.after(us).again(0, psn, msn, nil)
			w.after(9*us).ack(0, mr0.ACKTriggerRequested, nil)
		}),
	},
	{
		rule: finding.MetaRoCEGapNotResent,
		shows: rounds(20, func(w *wire, _ int) {
			w.repair()
			psn, msn := w.gap()
			for range 10 {
				w.after(70*us).send(0, nil)
			}
			w.after(500*us).again(0, psn, msn, nil)
			w.after(9*us).ack(0, mr0.ACKTriggerRequested, nil)
		}),
		nearly: rounds(20, func(w *wire, _ int) { w.repair() }),
		imitate: rounds(1, func(w *wire, _ int) { // the retransmission is missed, and so is the ACK behind it
			for range 10 {
				w.repair()
			}
			psn, msn := w.gap()
			w.miss(func() { w.again(0, psn, msn, nil); w.ack(0, mr0.ACKTriggerRequested, nil) })
			for range 10 {
				w.after(70*us).send(0, nil)
			}
			w.after(9*us).ack(0, mr0.ACKTriggerMessageEnd, nil)
		}),
	},
	{
		rule:  finding.MetaRoCEMovedWithoutFailure,
		shows: rounds(1, func(w *wire, _ int) { w.move(0) }),
		nearly: rounds(1, func(w *wire, _ int) { // the path has failed: it goes on from another port
			w.move(50077)
		}),
		imitate: rounds(1, func(w *wire, _ int) { // PROBEs and restored path were missed
			w.miss(func() { w.probe(0, w.path(0).next-1) })
			w.move(50077)
		}),
	},
	{
		rule:   finding.MetaRoCEFailedPathKept,
		shows:  rounds(1, func(w *wire, _ int) { w.timeouts(14, false) }),
		nearly: rounds(10, func(w *wire, _ int) { w.timeouts(2, false) }),
		imitate: rounds(1, func(w *wire, _ int) { // answers between were missed
			w.timeouts(5, true)
		}),
	},
	{
		rule:    finding.MetaRoCEProbePort,
		shows:   rounds(12, func(w *wire, _ int) { w.fail(0) }),
		nearly:  rounds(12, func(w *wire, i int) { w.fail(51000 + uint16(i)) }),
		imitate: rounds(1, func(w *wire, _ int) { w.fail(0) }),
	},
	{
		rule: finding.MetaRoCEProbeInterval,
		shows: rounds(1, func(w *wire, _ int) {
			psn, _ := w.gap()
			for range 12 {
				w.after(10*time.Millisecond).probe(0, psn)
			}
		}),
		nearly: rounds(1, func(w *wire, _ int) {
			psn, _ := w.gap()
			for range 12 {
				w.after(100*time.Millisecond).probe(0, psn)
			}
		}),
		imitate: rounds(1, func(w *wire, _ int) { // an answer was missed, and the path failed again
			psn, _ := w.gap()
			w.after(10*time.Millisecond).probe(0, psn)
			w.miss(func() { w.ack(0, mr0.ACKTriggerRequested, nil) })
			w.after(10*time.Millisecond).probe(0, psn)
		}),
	},
}

// hole keeps the oldest packet of path 0 missing while so many follow, each with an ACK; then ACKs may be missed.
func (w *wire) hole(n int, missing bool) {
	w.lose(func() { w.after(us).send(0, nil) })
	for i := range n {
		w.after(us).send(0, nil)
		answer := func() { w.after(us).ack(0, mr0.ACKTriggerMessageEnd, nil) }
		if missing && i >= 200 {
			w.miss(answer)
		} else {
			answer()
		}
	}
}

// move sends bytes of path 0 again on path 1, and goes on with path 0, from another port if one is given.
func (w *wire) move(port uint16) {
	msn := w.msn[1]
	w.lose(func() { w.after(us).send(0, nil) })
	w.after(20*time.Millisecond).send(1, func(m *mr0.Packet) { m.CH.Flags |= mr0.FlagRTX; m.DH.MSN = msn })
	w.port = port
	w.after(time.Millisecond).send(0, nil)
	w.port = 0
}

// timeouts repeats a packet of path 0 by its timer so many times; answers to something else may be missed between.
func (w *wire) timeouts(n int, answered bool) {
	msn := w.msn[1]
	var psn uint32
	w.lose(func() {
		psn = w.after(us).send(0, nil)
		for i := range n {
			w.after(time.Millisecond<<min(i, 5)).again(0, psn, msn, nil)
			if answered {
				w.miss(func() { w.ack(0, mr0.ACKTriggerTimer, nil) })
			}
		}
	})
	w.after(us).again(0, psn, msn, nil)
	w.after(us).ack(0, mr0.ACKTriggerRequested, nil)
}

// fail has path 0 fail and come back; its PROBE leaves from a port.
func (w *wire) fail(port uint16) {
	var psn uint32
	w.lose(func() { psn = w.after(us).send(0, nil) })
	if port != 0 {
		w.ports[0] = port
	}
	w.after(20*time.Millisecond).probe(0, psn)
	w.after(9*us).ack(0, mr0.ACKTriggerRequested, nil)
	w.calm(3)
}
