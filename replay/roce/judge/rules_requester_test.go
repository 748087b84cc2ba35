package judge_test

import (
	"time"

	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/roce/judge"
)

// long is a WRITE of full packets and a last one of 100 bytes, from a PSN on.
func (w *wire) long(psn uint32, packets int) *wire {
	w.tb.Helper()
	total := uint32(packets-1)*mtu + 100
	w.ask(infiniband.RCWriteFirst, psn, size(mtu), dma(total))
	for i := 1; i < packets-1; i++ {
		w.ask(infiniband.RCWriteMiddle, psn+uint32(i), size(mtu))
	}
	return w.ask(infiniband.RCWriteLast, psn+uint32(packets-1), size(100), asks)
}

// What a requester sends, lost packets aside.
var requesterExamples = []example{
	{
		rule:   finding.RoCEOpcodeSequence,
		shows:  func(w *wire) { w.long(first, 2).ask(infiniband.RCWriteMiddle, first+2, size(mtu)) },
		nearly: func(w *wire) { w.long(first, 3).long(first+3, 2) },
		imitated: func(w *wire) {
			w.ask(infiniband.RCWriteFirst, first, size(mtu), dma(2*mtu)).
				miss(func() { w.ask(infiniband.RCWriteLast, first+1, size(mtu)) }).long(first+2, 2)
		},
	},
	{
		rule: finding.RoCEPathMTU,
		shows: func(w *wire) {
			w.ask(infiniband.RCSendFirst, first, size(mtu)).ask(infiniband.RCSendMiddle, first+1, size(512))
		},
		nearly: func(w *wire) { w.long(first, 3) },
		imitated: func(w *wire) {
			w.ask(infiniband.RCSendFirst, first, size(mtu)).
				short(60, func() { w.ask(infiniband.RCSendMiddle, first+1, size(mtu)) }).
				ask(infiniband.RCSendMiddle, first+2, size(512), damaged)
		},
	},
	{
		rule: finding.RoCELastLength,
		shows: func(w *wire) {
			w.ask(infiniband.RCSendFirst, first, size(mtu)).ask(infiniband.RCSendLast, first+1)
		},
		nearly: func(w *wire) {
			w.ask(infiniband.RCSendFirst, first, size(mtu)).ask(infiniband.RCSendLast, first+1, size(1))
		},
		imitated: func(w *wire) {
			w.ask(infiniband.RCSendFirst, first, size(mtu)).
				short(50, func() { w.ask(infiniband.RCSendLastImmediate, first+1, size(200)) })
		},
	},
	{
		rule:   finding.RoCEOnlyLength,
		shows:  func(w *wire) { w.long(first, 2).ask(infiniband.RCSendOnly, first+2, size(mtu+1)) },
		nearly: func(w *wire) { w.long(first, 2).ask(infiniband.RCSendOnly, first+2, size(mtu)) },
		// The packets that tell the MTU were missed.
		imitated: func(w *wire) {
			w.miss(func() { w.long(first, 2) }).ask(infiniband.RCSendOnly, first+2, size(2*mtu))
		},
	},
	{
		rule: finding.RoCERETHLength,
		shows: func(w *wire) {
			w.ask(infiniband.RCWriteFirst, first, size(mtu), dma(mtu+104)).ask(infiniband.RCWriteLast, first+1, size(100))
		},
		nearly: func(w *wire) { w.long(first, 2) },
		imitated: func(w *wire) {
			w.ask(infiniband.RCWriteFirst, first, size(mtu), dma(2*mtu+100)).
				miss(func() { w.ask(infiniband.RCWriteMiddle, first+1, size(mtu)) }).
				ask(infiniband.RCWriteLast, first+2, size(100))
		},
	},
	{
		rule:   finding.RoCEReadSpan,
		shows:  func(w *wire) { w.long(first, 2).read(first+2, 3*mtu).only(first + 3) },
		nearly: func(w *wire) { w.long(first, 2).read(first+2, 3*mtu).only(first + 5) },
		// Without the packets that tell the MTU, 4096 bytes may be one packet.
		imitated: func(w *wire) { w.miss(func() { w.long(first, 2) }).read(first+2, 3*mtu).only(first + 3) },
	},
	{
		rule: finding.RoCEReadDepth,
		shows: func(w *wire) {
			w.agree(oneRead).read(first, 8).read(first+1, 8).response(infiniband.RCReadResponseOnly, first, 8).response(infiniband.RCReadResponseOnly, first+1, 8)
		},
		nearly: func(w *wire) {
			w.agree(oneRead).read(first, 8).response(infiniband.RCReadResponseOnly, first, 8).read(first+1, 8).response(infiniband.RCReadResponseOnly, first+1, 8)
		},
		imitated: func(w *wire) {
			w.agree(oneRead).read(first, 8).miss(func() { w.response(infiniband.RCReadResponseOnly, first, 8) }).
				read(first+1, 8).response(infiniband.RCReadResponseOnly, first+1, 8)
		},
	},
	{
		rule:     finding.RoCEStartingPSN,
		shows:    func(w *wire) { w.agree(nothing).only(first - 1) },
		nearly:   func(w *wire) { w.agree(nothing).only(first) },
		imitated: func(w *wire) { w.agree(nothing).miss(func() { w.fresh() }).fresh() }, undetermined: true,
	},
	{
		rule:   finding.RoCERetransmissionDiffers,
		shows:  func(w *wire) { w.calm(2).fresh().after(5*ms).only(w.psn-1, size(60), dma(60)) },
		nearly: func(w *wire) { w.long(first, 2).read(first+2, 3*mtu).after(5*ms).read(first+3, 2*mtu) },
		// The first copy was missed, so there is nothing to compare with.
		imitated: func(w *wire) {
			w.calm(2).miss(func() { w.fresh() }).fresh().nak(sequenceError, w.psn-2).after(5*us).only(w.psn-2, size(60), dma(60))
		},
	},
	{
		rule:   finding.RoCECNPIgnored,
		shows:  func(w *wire) { w.congested(100, 100, 0) },
		nearly: func(w *wire) { w.congested(100, 50, 0) },
		// Messages of the same number that the application posts too slowly to need more than the allowed rate.
		imitated: func(w *wire) { w.congested(100, 100, 8*us) }, undetermined: true,
	},
}

func oneRead(a *judge.Agreement) { a.ReadDepth, a.ReadDepthKnown = 1, true }
func nothing(*judge.Agreement)   {}

// congested is a requester of long WRITEs, from packet to packet 1 µs, which gets a CNP each 50 µs; before the CNPs it
// sends so many % of its rate, after them so many, and it rests so long from message to message.
func (w *wire) congested(before, after int, rest time.Duration) {
	w.burst(12, before, rest, false)
	w.burst(80, after, rest, true)
	w.burst(12, after, rest, false)
}

// burst is n times 50 µs of WRITEs of 8 packets.
func (w *wire) burst(n, percent int, rest time.Duration, cnps bool) {
	gap, next := 100*us/time.Duration(percent), w.now
	for end := w.now + int64(n)*int64(50*us); w.now < end; {
		for i := range 8 {
			o := infiniband.RCWriteMiddle
			switch i {
			case 0:
				o = infiniband.RCWriteFirst
			case 7:
				o = infiniband.RCWriteLast
			}
			w.after(gap).ask(o, w.psn, size(mtu), dma(8*mtu))
			w.psn++
			if cnps && w.now >= next {
				w.cnp()
				next = w.now + int64(50*us)
			}
		}
		w.after(rest)
		w.done()
	}
}
