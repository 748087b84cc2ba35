package judge_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/roce/judge"
)

// wire makes the packets of a connection by hand: A asks, B answers. Each packet has an IP identification of its own.
type wire struct {
	tb       testing.TB
	judge    *judge.Connection
	now      int64
	number   uint64
	psn      uint32 // of A's next new packet
	msn      uint32 // messages that B has done
	missing  bool   // the capture misses what passes
	cut      int    // bytes that the capture keeps of a packet; 0: all
	ecn      dissector.ECN
	findings []finding.Finding
	report   finding.Connection
	packet   dissector.Packet
}

// edit alters a packet before it is built.
type edit = func(f *build.Frame)

const (
	mtu   = 1024
	us    = time.Microsecond
	ms    = time.Millisecond
	first = 1000 // PSN of A's first packet
)

func newWire(tb testing.TB) *wire {
	tb.Helper()
	w := &wire{tb: tb, now: 1_700_000_000_000_000_000, psn: first, ecn: dissector.ECNECT0}
	w.judge = judge.New(9, func(f *finding.Finding) { w.findings = append(w.findings, *f) })
	return w
}

var ends = [2]netip.Addr{netip.AddrFrom4([4]byte{10, 0, 0, 1}), netip.AddrFrom4([4]byte{10, 0, 0, 2})}

// pass lets a packet pass the capture.
func (w *wire) pass(lane int, o infiniband.Opcode, psn uint32, edits []edit) *wire {
	w.tb.Helper()
	w.number++
	f := build.Frame{
		Source: ends[lane], Destination: ends[1-lane], SourcePort: 50000, ID: uint16(w.number), ECN: w.ecn,
		BTH: infiniband.BTH{Opcode: o, PSN: psn, DestinationQP: uint32(0x100 + lane), PartitionKey: infiniband.DefaultPartitionKey},
	}
	if o.IsCNP() {
		f.BTH.BECN = true
	}
	for _, e := range edits {
		e(&f)
	}
	data, err := f.AppendTo(nil)
	if err != nil {
		w.tb.Fatal(err)
	}
	meta := dissector.Meta{LinkType: dissector.LinkTypeEthernet, HasTime: true, Time: w.now, Number: w.number, OriginalLength: uint32(len(data))}
	if w.cut > 0 {
		data = data[:min(w.cut, len(data))]
	}
	if w.missing {
		return w
	}
	err = dissector.Decode(data, meta, &w.packet)
	w.judge.Observe(lane, &finding.Sighting{Packet: &w.packet, Err: err, ICRC: dissector.VerifyICRC(&w.packet)})
	return w
}

// ask is a request of A with a PSN; its payload is empty unless told.
func (w *wire) ask(o infiniband.Opcode, psn uint32, edits ...edit) *wire {
	w.tb.Helper()
	return w.pass(0, o, psn, edits)
}

// say is an answer, or a CNP, of B.
func (w *wire) say(o infiniband.Opcode, psn uint32, edits ...edit) *wire {
	w.tb.Helper()
	return w.pass(1, o, psn, edits)
}

// ack is an ACK of B with the number of messages done.
func (w *wire) ack(psn, msn uint32, edits ...edit) *wire {
	w.tb.Helper()
	return w.say(infiniband.RCAcknowledge, psn, append([]edit{aeth(0x1f, msn)}, edits...)...)
}

// nak is a NAK or an RNR NAK of B.
func (w *wire) nak(syndrome infiniband.Syndrome, psn uint32, edits ...edit) *wire {
	w.tb.Helper()
	return w.say(infiniband.RCAcknowledge, psn, append([]edit{aeth(syndrome, w.msn)}, edits...)...)
}

// cnp is a CNP of B.
func (w *wire) cnp(edits ...edit) *wire { return w.say(infiniband.CNP, 0, edits...) }

// only is a WRITE of one packet with a PSN, which asks for an ACK.
func (w *wire) only(psn uint32, edits ...edit) *wire {
	w.tb.Helper()
	return w.ask(infiniband.RCWriteOnly, psn, append([]edit{size(64), dma(64), asks}, edits...)...)
}

// fresh is one with the next PSN.
func (w *wire) fresh(edits ...edit) *wire {
	w.tb.Helper()
	w.psn++
	return w.only(w.psn-1, edits...)
}

// done is B's ACK of all that A sent in messages of one packet.
func (w *wire) done(edits ...edit) *wire {
	w.tb.Helper()
	w.msn++
	return w.ack(w.psn-1, w.msn, edits...)
}

// calm is n WRITEs of one packet, each acknowledged 10 µs later.
func (w *wire) calm(n int) *wire {
	w.tb.Helper()
	for range n {
		w.after(2 * us).fresh().after(10 * us).done()
	}
	return w
}

// read is a READ request.
func (w *wire) read(psn, length uint32, edits ...edit) *wire {
	w.tb.Helper()
	return w.ask(infiniband.RCReadRequest, psn, append([]edit{dma(length)}, edits...)...)
}

// response is a packet of the answer to a READ.
func (w *wire) response(o infiniband.Opcode, psn uint32, n int) *wire {
	w.tb.Helper()
	return w.say(o, psn, aeth(0x1f, w.msn), size(n))
}

// add is a FETCH ADD.
func (w *wire) add(psn uint32, edits ...edit) *wire {
	w.tb.Helper()
	return w.ask(infiniband.RCFetchAdd, psn, edits...)
}

// found is its answer.
func (w *wire) found(psn uint32, value uint64) *wire {
	w.tb.Helper()
	return w.say(infiniband.RCAtomicAcknowledge, psn, aeth(0x1f, w.msn), func(f *build.Frame) { f.AtomicAckETH.OriginalData = value })
}

// times repeats something.
func (w *wire) times(n int, do func()) *wire {
	for range n {
		do()
	}
	return w
}

// after lets time pass.
func (w *wire) after(d time.Duration) *wire {
	w.now += int64(d)
	return w
}

// miss has the capture miss what is done.
func (w *wire) miss(do func()) *wire {
	w.missing = true
	do()
	w.missing = false
	return w
}

// short has the capture keep the headers only of what is done.
func (w *wire) short(n int, do func()) *wire {
	w.cut = n
	do()
	w.cut = 0
	return w
}

// agree is what the connection manager said of A.
func (w *wire) agree(change func(a *judge.Agreement)) *wire {
	a := judge.Agreement{Known: true, QPN: 0x101, StartingPSN: w.psn, PathMTU: mtu}
	change(&a)
	w.judge.Agree(0, &a)
	return w
}

func size(n int) edit     { return func(f *build.Frame) { f.Payload = make([]byte, n) } }
func dma(n uint32) edit   { return func(f *build.Frame) { f.RETH.DMALength = n } }
func asks(f *build.Frame) { f.BTH.AckRequest = true }
func aeth(s infiniband.Syndrome, msn uint32) edit {
	return func(f *build.Frame) { f.AETH = infiniband.AETH{Syndrome: s, MSN: msn} }
}

// damaged is a packet that the capture or the way has damaged, and so says nothing of its sender.
func damaged(f *build.Frame) { f.ICRCFlip = 1 }

func solicits(f *build.Frame) {
	f.BTH.SolicitedEvent = true
}
func v1(f *build.Frame)     { f.RoCEv1 = true }
func marked(f *build.Frame) { f.ECN = dissector.ECNCE }

// sequenceError, refused and notReady are syndromes: of a gap, of an invalid request, and of a receiver without a buffer for 1.28 ms.
const (
	sequenceError = infiniband.Syndrome(0x60)
	refused       = infiniband.Syndrome(0x61)
	notReady      = infiniband.Syndrome(0x2e)
)

// verdict closes the connection and is the worst about a rule.
func (w *wire) verdict(r finding.Rule) finding.Verdict {
	w.judge.Close(&w.report)
	t := w.report.Tallies[r]
	switch {
	case t.Diverges > 0:
		return finding.Diverges
	case t.Undetermined > 0:
		return finding.Undetermined
	}
	return finding.Conforms
}
