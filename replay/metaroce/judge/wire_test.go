package judge_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/metaroce/judge"
	"github.com/rocelens/rocelens/replay/metaroce/scenario"
	"github.com/rocelens/rocelens/replay/metaroce/simulation"
)

// wire makes the packets of a connection by hand. A sends data and B answers, each as the profile has it unless told
// otherwise; what is sent takes no time.
type wire struct {
	tb        testing.TB
	judge     *judge.Connection
	now       int64
	number    uint64
	missing   bool // the capture misses what passes
	lost      bool // it does not arrive
	paths     map[uint8]*wirePath
	msn       map[uint16]uint32
	ports     [2]uint16 // of path 0 of A and B
	findings  []*finding.Finding
	report    finding.Connection
	packet    dissector.Packet
	ecn       dissector.ECN // of sequenced packets
	port      uint16        // instead of the path's own
	back      uint32        // packets of B
	badICRC   bool
	answerECN dissector.ECN
}

type wirePath struct {
	next, cumulative uint32
	arrived          map[uint32]bool
	count, ce        uint32
	ackNumber        uint32
	stamp            uint32
	base             uint32
}

const (
	idA, idB     = 0x1000, 0x2000
	initialPSN   = 5000
	microseconds = int64(time.Microsecond)
)

var (
	wireA = netip.MustParseAddr("10.0.0.1")
	wireB = netip.MustParseAddr("10.0.0.2")
)

func newWire(tb testing.TB) *wire {
	tb.Helper()
	w := &wire{tb: tb, now: 1_700_000_000_000_000_000, paths: map[uint8]*wirePath{}, msn: map[uint16]uint32{}, ports: [2]uint16{50000, 60000}, ecn: dissector.ECNECT0}
	w.judge = judge.New(9, mr0.DefaultParameters(), func(f *finding.Finding) { w.findings = append(w.findings, f) })
	return w
}

// pass lets a packet pass the capture.
func (w *wire) pass(lane int, port uint16, m *mr0.Packet, payload int) {
	w.number++
	f := build.Frame{
		Source: wireA, Destination: wireB, SourcePort: port, ID: uint16(w.number), MetaRoCE: m, Payload: make([]byte, payload),
	}
	if w.port != 0 {
		f.SourcePort = w.port
	}
	if lane == 1 {
		f.Source, f.Destination = wireB, wireA
	}
	f.ECN = w.answerECN
	if m.CH.Type.Sequenced() {
		f.ECN = w.ecn
	}
	if m.CH.PartitionKey == 0 {
		m.CH.PartitionKey = 0xffff
	}
	m.CH.DestConnID = idB
	if lane == 1 {
		m.CH.DestConnID = idA
	}
	if m.CH.Type == mr0.TypeConnReq {
		m.CH.DestConnID = 0
	}
	version := m.CH.Version
	data, err := f.AppendTo(nil)
	if err != nil {
		w.tb.Fatal(err)
	}
	if version != 0 {
		changed := scenario.Raw(&simulation.Frame{Payload: data[42:], Source: netip.AddrPortFrom(f.Source, f.SourcePort), Destination: netip.AddrPortFrom(f.Destination, mr0.Port)},
			func(b []byte) { b[0] = b[0]&0xf | version<<4 })
		data = append(data[:42:42], changed.Payload...)
	}
	if w.badICRC {
		data[len(data)-1] ^= 1
	}
	if w.missing {
		return
	}
	meta := dissector.Meta{LinkType: dissector.LinkTypeEthernet, HasTime: true, Time: w.now, Number: w.number, OriginalLength: uint32(len(data))}
	err = dissector.Decode(data, meta, &w.packet)
	w.judge.Observe(lane, &finding.Sighting{Packet: &w.packet, Err: err, ICRC: dissector.VerifyICRC(&w.packet)})
}

// after lets time pass.
func (w *wire) after(d time.Duration) *wire {
	w.now += int64(d)
	return w
}

// miss has the capture miss what is done.
func (w *wire) miss(do func()) {
	w.missing = true
	do()
	w.missing = false
}

// lose has what is sent not arrive, though it passes the capture.
func (w *wire) lose(do func()) {
	w.lost = true
	do()
	w.lost = false
}

func conn(id uint32, change func(c *mr0.CONN)) mr0.CONN {
	c := mr0.CONN{
		SourceConnID: id, PathCount: 4, PlaneCount: 1, MTU: 512, LinkRate: 10_000, InitialPSN: initialPSN, StreamCount: 16, MaxWindow: 256, Nonce: 77,
	}
	if change != nil {
		change(&c)
	}
	return c
}

// connect is CONN_REQ and CONN_REP.
func (w *wire) connect() *wire {
	return w.request(nil).after(10 * time.Microsecond).reply(nil).after(10 * time.Microsecond)
}

func (w *wire) request(change func(c *mr0.CONN)) *wire {
	w.pass(0, w.ports[0], &mr0.Packet{CH: mr0.CH{Type: mr0.TypeConnReq}, CONN: conn(idA, change)}, 0)
	return w
}

func (w *wire) reply(change func(c *mr0.CONN)) *wire {
	w.pass(1, w.ports[1], &mr0.Packet{CH: mr0.CH{Type: mr0.TypeConnRep}, CONN: conn(idB, change)}, 0)
	return w
}

func (w *wire) path(id uint8) *wirePath {
	p := w.paths[id]
	if p == nil {
		first := mr0.PathInitialPSN(initialPSN, int(id))
		p = &wirePath{next: first, cumulative: first, base: first, arrived: map[uint32]bool{}}
		w.paths[id] = p
	}
	return p
}

// send sends a WRITE of one packet on a path, altered, and returns its psn.
func (w *wire) send(path uint8, change func(m *mr0.Packet)) uint32 {
	p := w.path(path)
	m := mr0.Packet{
		CH:   mr0.CH{Type: mr0.TypeWrite, Flags: mr0.FlagFirst | mr0.FlagLast, PathID: path, PSN: p.next},
		DH:   mr0.DH{Timestamp: uint32(w.now), StreamID: 1, MSN: w.msn[1], MessageLength: 64},
		WETH: mr0.WETH{VirtualAddress: 0x1000, RKey: 1},
	}
	p.next++
	w.msn[1]++
	return w.sendThis(&m, 64, change)
}

// part sends a packet of a message of several: packet i of n, full with 512 bytes, and the last with fewer.
func (w *wire) part(path uint8, msn uint32, i, n int, change func(m *mr0.Packet)) uint32 {
	p := w.path(path)
	m := mr0.Packet{
		CH:   mr0.CH{Type: mr0.TypeWrite, PathID: path, PSN: p.next},
		DH:   mr0.DH{Timestamp: uint32(w.now), StreamID: 2, MSN: msn, MessageOffset: uint32(i) * 512, MessageLength: uint32(n-1)*512 + 100},
		WETH: mr0.WETH{VirtualAddress: 0x1000 + uint64(i)*512, RKey: 1},
	}
	size := 512
	if i == 0 {
		m.CH.Flags |= mr0.FlagFirst
	}
	if i == n-1 {
		m.CH.Flags |= mr0.FlagLast
		size = 100
	}
	p.next++
	return w.sendThis(&m, size, change)
}

func (w *wire) sendThis(m *mr0.Packet, size int, change func(m *mr0.Packet)) uint32 {
	if change != nil {
		change(m)
	}
	if !m.CH.Type.BearsPayload() {
		size = 0
	}
	w.pass(0, w.ports[0]+uint16(m.CH.PathID), m, size)
	p := w.path(m.CH.PathID)
	if !w.lost {
		p.count++
		if w.ecn == dissector.ECNCE {
			p.ce++
		}
		p.stamp = m.DH.Timestamp
		p.arrived[m.CH.PSN] = true
		for p.arrived[p.cumulative] {
			delete(p.arrived, p.cumulative)
			p.cumulative++
		}
	}
	return m.CH.PSN
}

// again sends the packet of a psn again, as a retransmission of a WRITE of one packet.
func (w *wire) again(path uint8, psn, msn uint32, change func(m *mr0.Packet)) {
	w.sendThis(&mr0.Packet{
		CH:   mr0.CH{Type: mr0.TypeWrite, Flags: mr0.FlagFirst | mr0.FlagLast | mr0.FlagRTX | mr0.FlagAR, PathID: path, PSN: psn},
		DH:   mr0.DH{Timestamp: uint32(w.now), StreamID: 1, MSN: msn, MessageLength: 64},
		WETH: mr0.WETH{VirtualAddress: 0x1000, RKey: 1},
	}, 64, change)
}

// ack sends what B knows of a path, altered.
func (w *wire) ack(path uint8, trigger mr0.ACKTrigger, change func(m *mr0.Packet)) {
	p := w.path(path)
	p.ackNumber++
	m := mr0.Packet{
		CH: mr0.CH{Type: mr0.TypeACK, PathID: path, PSN: p.ackNumber},
		ACKH: mr0.ACKH{
			CumulativePSN: p.cumulative, EchoTimestamp: p.stamp, RateHint: 9000, CECount: p.ce, PacketCount: p.count, Trigger: trigger,
		},
	}
	for psn := range p.arrived {
		if d := mr0.PSNDistance(p.cumulative, psn); d > 0 && d <= mr0.SACKBits {
			m.ACKH.SACK.Set(int(d - 1))
		}
	}
	if change != nil {
		change(&m)
	}
	w.pass(1, w.ports[1]+uint16(path), &m, 0)
}

func (w *wire) nak(path uint8, psn, msn uint32, reason mr0.NAKReason, retry time.Duration) {
	w.pass(1, w.ports[1]+uint16(path), &mr0.Packet{
		CH:   mr0.CH{Type: mr0.TypeNAK, PathID: path},
		NAKH: mr0.NAKH{Reason: reason, StreamID: 1, MSN: msn, RefusedPSN: psn, RetryAfter: uint32(retry)},
	}, 0)
}

// leave is a DISCONNECT of a lane.
func (w *wire) leave(lane int) {
	id := uint32(idA)
	if lane == 1 {
		id = idB
	}
	w.pass(lane, w.ports[lane], &mr0.Packet{CH: mr0.CH{Type: mr0.TypeDisconnect}, DISC: mr0.DISC{SourceConnID: id}}, 0)
}

// calm is a connection as it should be, for so many packets on two paths.
func (w *wire) calm(n int) *wire {
	for range n {
		for path := range uint8(2) {
			w.after(2*time.Microsecond).send(path, func(m *mr0.Packet) { m.CH.Flags |= mr0.FlagAR })
			w.after(10*time.Microsecond).ack(path, mr0.ACKTriggerRequested, nil)
		}
	}
	return w
}

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
