package judge_test

import (
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/replay/finding"
)

// What one packet says of itself. A capture cannot imitate it but by damage.
var packetExamples = []example{
	{
		rule:     finding.RoCETransportVersion,
		shows:    func(w *wire) { w.calm(2).fresh(version1) },
		nearly:   func(w *wire) { w.calm(2) },
		imitated: func(w *wire) { w.calm(2).fresh(version1, damaged) },
	},
	{
		rule:     finding.RoCEReservedBits,
		shows:    func(w *wire) { w.calm(2).fresh(func(f *build.Frame) { f.BTH.Reserved7 = 1 }) },
		nearly:   func(w *wire) { w.calm(2).fresh(func(f *build.Frame) { f.BTH.FECN, f.BTH.BECN = true, true }) },
		imitated: func(w *wire) { w.calm(2).fresh(damaged, func(f *build.Frame) { f.BTH.Reserved7 = 1 }) },
	},
	{
		rule:   finding.RoCEICRC,
		shows:  func(w *wire) { w.peer().times(8, func() { w.fresh(damaged) }) },
		nearly: func(w *wire) { w.peer().times(7, func() { w.fresh(damaged) }) }, nearlyUnproved: true,
		// The peer is not in the capture, so nothing tells that the capture itself is right.
		imitated: func(w *wire) { w.miss(func() { w.peer() }).times(8, func() { w.fresh(damaged) }) }, undetermined: true,
	},
	{
		rule:     finding.RoCEPadCount,
		shows:    func(w *wire) { w.fresh(size(66), dma(66), pad(1)) },
		nearly:   func(w *wire) { w.fresh(size(65), dma(65)) },
		imitated: func(w *wire) { w.fresh(size(66), dma(66), pad(1), damaged) },
	},
	{
		rule:     finding.RoCESolicitedEvent,
		shows:    func(w *wire) { w.fresh(solicits) },
		nearly:   func(w *wire) { w.ask(infiniband.RCSendOnly, first, size(8), solicits) },
		imitated: func(w *wire) { w.fresh(solicits, damaged) },
	},
	{
		rule:     finding.RoCEAtomicAlignment,
		shows:    func(w *wire) { w.add(first, at(4)) },
		nearly:   func(w *wire) { w.add(first, at(8)) },
		imitated: func(w *wire) { w.add(first, at(4), damaged) },
	},
	{
		rule:     finding.RoCEMessageTooLong,
		shows:    func(w *wire) { w.read(first, 1<<31+1) },
		nearly:   func(w *wire) { w.read(first, 1<<31) },
		imitated: func(w *wire) { w.read(first, 1<<31+1, damaged) },
	},
	{
		rule:     finding.RoCEPartitionKey,
		shows:    func(w *wire) { w.fresh().fresh(key(0x8001)) },
		nearly:   func(w *wire) { w.fresh(key(0x8001)).fresh(key(0x8001)).cnp(key(0xffff)) },
		imitated: func(w *wire) { w.fresh().fresh(key(0x8001), damaged) },
	},
	{
		rule:     finding.RoCESourcePort,
		shows:    func(w *wire) { w.fresh().fresh(port(50001)) },
		nearly:   func(w *wire) { w.fresh().done(port(50001)).fresh() },
		imitated: func(w *wire) { w.fresh().fresh(port(50001), damaged) },
	},
	{
		rule:     finding.RoCEVersionMix,
		shows:    func(w *wire) { w.fresh().done(v1) },
		nearly:   func(w *wire) { w.fresh(v1).done(v1) },
		imitated: func(w *wire) { w.fresh(v1).miss(func() { w.done() }).fresh(v1) },
	},
}

// peer is a request of B.
func (w *wire) peer() *wire { return w.say(infiniband.RCSendOnly, 77) }

func version1(f *build.Frame) { f.BTH.TransportVersion = 1 }

func pad(n uint8) edit {
	return func(f *build.Frame) { f.KeepPadCount, f.BTH.PadCount = true, n }
}

func at(address uint64) edit { return func(f *build.Frame) { f.AtomicETH.VirtualAddress = address } }
func key(k uint16) edit      { return func(f *build.Frame) { f.BTH.PartitionKey = k } }
func port(p uint16) edit     { return func(f *build.Frame) { f.SourcePort = p } }
