package judge_test

import (
	"time"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/finding"
)

// whole sends a message of four packets over two paths, one of them altered.
func (w *wire) whole(msn uint32, which int, change func(m *mr0.Packet)) {
	for i := range 4 {
		var alter func(m *mr0.Packet)
		if i == which {
			alter = change
		}
		w.after(us).part(uint8(i%2), msn, i, 4, alter)
	}
}

// sends makes a packet one of a SEND.
func sends(index uint32) func(m *mr0.Packet) {
	return func(m *mr0.Packet) {
		m.CH.Type, m.SETH.ReceiveIndex = mr0.TypeSend, index
	}
}

// asks makes a packet a request.
func asks(kind mr0.Type) func(m *mr0.Packet) {
	return func(m *mr0.Packet) {
		m.CH.Type = kind
		m.DH.MessageLength = 0
		if kind == mr0.TypeReadReq {
			m.DH.MessageLength, m.RRETH.ReadID = 64, 5
			m.CH.Flags &^= mr0.FlagLast
		}
	}
}

// answer sends an answer of B on its path 0.
func (w *wire) answer(kind mr0.Type, msn uint32, change func(m *mr0.Packet)) {
	w.back++
	m := mr0.Packet{
		CH: mr0.CH{Type: kind, Flags: mr0.FlagFirst | mr0.FlagLast, PSN: initialPSN + w.back}, DH: mr0.DH{Timestamp: uint32(w.now), StreamID: 1, MSN: msn},
		RSETH: mr0.RSETH{ReadID: 5}, ARETH: mr0.ARETH{OriginalValue: 40},
	}
	size := 0
	if kind == mr0.TypeReadResp {
		size, m.DH.MessageLength = 64, 64
	}
	if change != nil {
		change(&m)
	}
	w.pass(1, w.ports[1], &m, size)
}

var messageExamples = []example{
	{
		rule: finding.MetaRoCEMTU,
		shows: func(w *wire) {
			w.request(nil).reply(func(c *mr0.CONN) { c.MTU = 256 }).after(us).part(0, 0, 0, 3, nil)
		},
		nearly: func(w *wire) { w.connect().part(0, 0, 0, 3, nil) },
		imitate: func(w *wire) { // who has not seen the handshake does not know
			w.miss(func() { w.request(nil).reply(func(c *mr0.CONN) { c.MTU = 256 }) })
			w.after(us).part(0, 0, 0, 3, nil)
		},
	},
	{
		rule: finding.MetaRoCEMessageCut, alone: true,
		shows: func(w *wire) { w.connect().whole(0, -1, nil); w.cutShort() },
		nearly: func(w *wire) {
			w.connect().whole(0, -1, nil)
			w.calm(3)
		},
	},
	{
		rule: finding.MetaRoCEMessageLength, alone: true,
		shows:  func(w *wire) { w.connect().whole(0, 1, func(m *mr0.Packet) { m.DH.MessageLength++ }) },
		nearly: func(w *wire) { w.connect().whole(0, -1, nil); w.whole(1, -1, nil) },
	},
	{
		rule: finding.MetaRoCEMessageType, alone: true,
		shows:  func(w *wire) { w.connect().whole(0, 1, sends(0)) },
		nearly: func(w *wire) { w.connect().whole(0, -1, nil) },
	},
	{
		rule: finding.MetaRoCEPlacement, alone: true,
		shows: func(w *wire) { w.connect().whole(0, 2, func(m *mr0.Packet) { m.WETH.VirtualAddress += 8 }) },
		nearly: func(w *wire) {
			w.connect().whole(0, -1, nil)
			w.whole(1, -1, nil)
		},
	},
	{
		rule: finding.MetaRoCEReceiveIndex, alone: true,
		shows: func(w *wire) { w.connect().send4(0, 7, 8) },
		nearly: func(w *wire) {
			w.connect().send4(0, 7, 7)
			w.send4(1, 8, 8)
		},
	},
	{
		rule: finding.MetaRoCEReceiveIndexReused, alone: true,
		shows:  func(w *wire) { w.connect().send4(0, 7, 7); w.send4(1, 7, 7) },
		nearly: func(w *wire) { w.connect().send4(0, 7, 7); w.send4(1, 8, 8) },
	},
	{
		rule: finding.MetaRoCEBytesTwice,
		shows: func(w *wire) {
			w.connect().whole(0, -1, nil)
			w.after(us).part(1, 0, 2, 4, nil)
		},
		nearly: func(w *wire) { // moved, and it says so
			w.connect().whole(0, -1, nil)
			w.after(time.Second).part(1, 0, 2, 4, func(m *mr0.Packet) { m.CH.Flags |= mr0.FlagRTX })
		},
		imitate: func(w *wire) { // the network's copy of a packet that was missed
			w.connect()
			w.miss(func() { w.part(0, 0, 0, 4, nil) })
			w.after(us).part(1, 0, 1, 4, nil)
			w.path(0).next--
			w.after(us).part(0, 0, 0, 4, func(m *mr0.Packet) { m.DH.Timestamp -= 2000 })
		},
	},
	{
		rule:   finding.MetaRoCEMSNSkipped,
		shows:  rounds(900, func(w *wire, _ int) { w.msn[1]++; w.calm(1) }),
		nearly: rounds(200, func(w *wire, _ int) { w.calm(1) }),
		imitate: rounds(200, func(w *wire, i int) { // one of a hundred is missed
			if i%50 == 0 {
				w.miss(func() { w.after(us).send(0, nil) })
			}
			w.calm(1)
		}),
	},
	{
		rule: finding.MetaRoCEStreamRange, alone: true,
		shows:  func(w *wire) { w.connect().send(0, func(m *mr0.Packet) { m.DH.StreamID = 16 }) },
		nearly: func(w *wire) { w.connect().send(0, func(m *mr0.Packet) { m.DH.StreamID = 15 }) },
	},
	{
		rule: finding.MetaRoCEReadResponse,
		shows: func(w *wire) {
			w.connect().send(0, asks(mr0.TypeReadReq))
			w.answer(mr0.TypeReadResp, 0, func(m *mr0.Packet) { m.RSETH.ReadID = 6 })
		},
		nearly: func(w *wire) { w.connect().send(0, asks(mr0.TypeReadReq)); w.answer(mr0.TypeReadResp, 0, nil) },
		imitate: func(w *wire) { // the request was missed
			w.connect()
			w.miss(func() { w.send(0, asks(mr0.TypeReadReq)) })
			w.answer(mr0.TypeReadResp, 0, func(m *mr0.Packet) { m.RSETH.ReadID = 6 })
		},
	},
	{
		rule:   finding.MetaRoCEAtomicResponse,
		shows:  func(w *wire) { w.connect().send(0, nil); w.answer(mr0.TypeAtomicResp, 0, nil) },
		nearly: func(w *wire) { w.connect().send(0, asks(mr0.TypeAtomicReq)); w.answer(mr0.TypeAtomicResp, 0, nil) },
		imitate: func(w *wire) {
			w.connect().send(0, nil)
			w.miss(func() { w.send(0, asks(mr0.TypeAtomicReq)) })
			w.answer(mr0.TypeAtomicResp, 1, nil)
		},
	},
	{
		rule: finding.MetaRoCEAtomicRepeated, alone: true,
		shows:  func(w *wire) { w.atomic(41) },
		nearly: func(w *wire) { w.atomic(40) },
	},
}

// atomic is an atomic that is answered, and answered again with a value.
func (w *wire) atomic(value uint64) {
	w.connect().send(0, asks(mr0.TypeAtomicReq))
	w.answer(mr0.TypeAtomicResp, 0, nil)
	w.back--
	w.after(time.Millisecond).answer(mr0.TypeAtomicResp, 0, func(m *mr0.Packet) { m.CH.Flags |= mr0.FlagRTX; m.ARETH.OriginalValue = value })
}

// cutShort is a first packet of a long message that is not full.
func (w *wire) cutShort() {
	p := w.path(0)
	m := mr0.Packet{
		CH:   mr0.CH{Type: mr0.TypeWrite, Flags: mr0.FlagFirst, PSN: p.next},
		DH:   mr0.DH{Timestamp: uint32(w.now), StreamID: 2, MSN: 9, MessageLength: 5000},
		WETH: mr0.WETH{VirtualAddress: 0x1000, RKey: 1},
	}
	p.next++
	w.sendThis(&m, 500, nil)
}

// send4 is a SEND of four packets, the last of which names another buffer.
func (w *wire) send4(msn, index, last uint32) {
	for i := range 4 {
		x := index
		if i == 3 {
			x = last
		}
		w.after(us).part(uint8(i%2), msn, i, 4, sends(x))
	}
}
