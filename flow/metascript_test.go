package flow_test

import (
	"net/netip"
	"testing"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/flow"
)

// Connection ids: what A chose is the destination of what B sends.
const chosenByA, chosenByB = 0xa, 0xb

// metaScript is two hosts, A and B, whose packets are captured one by one, 10 us apart.
type metaScript struct {
	tb      testing.TB
	tracker *flow.Tracker
	records []flow.Record
	number  uint64
	now     int64
	a, b    netip.Addr
	frames  [][]byte
}

func newMetaScript(tb testing.TB, change func(c *flow.Config)) *metaScript {
	tb.Helper()
	s := &metaScript{tb: tb, now: 1e18, a: netip.MustParseAddr("10.0.0.1"), b: netip.MustParseAddr("10.0.0.2")}
	config := flow.DefaultConfig()
	if change != nil {
		change(&config)
	}
	s.tracker = flow.NewTracker(config, func(r *flow.Record) { s.records = append(s.records, r.Clone()) })
	return s
}

// captured is how a packet deviates from the next of its sender.
type captured func(m *mr0.Packet, f *build.Frame)

func path(id uint8) captured { return func(m *mr0.Packet, _ *build.Frame) { m.CH.PathID = id } }

func again(m *mr0.Packet, _ *build.Frame) { m.CH.Flags |= mr0.FlagRTX }

func port(n uint16) captured { return func(_ *mr0.Packet, f *build.Frame) { f.SourcePort = n } }

func onStream(id uint16) captured { return func(m *mr0.Packet, _ *build.Frame) { m.DH.StreamID = id } }

func toConnection(id uint32) captured {
	return func(m *mr0.Packet, _ *build.Frame) { m.CH.DestConnID = id }
}

// send captures a packet from A, or from B.
func (s *metaScript) send(fromB bool, m mr0.Packet, payload int, how ...captured) {
	s.tb.Helper()
	s.number++
	s.now += 10_000
	f := build.Frame{
		Source: s.a, Destination: s.b, SourcePort: 50000, ID: uint16(s.number), MetaRoCE: &m, Payload: make([]byte, payload),
	}
	if m.CH.Type != mr0.TypeConnReq {
		m.CH.DestConnID = chosenByB
	}
	if fromB {
		f.Source, f.Destination = s.b, s.a
		m.CH.DestConnID = chosenByA
	}
	m.DH.Timestamp = uint32(s.now)
	for _, h := range how {
		h(&m, &f)
	}
	data, err := f.AppendTo(nil)
	if err != nil {
		s.tb.Fatal(err)
	}
	s.frames = append(s.frames, data)
	var p dissector.Packet
	meta := dissector.Meta{LinkType: dissector.LinkTypeEthernet, HasTime: true, Time: s.now, Number: s.number, OriginalLength: uint32(len(data))}
	if err := dissector.Decode(data, meta, &p); err != nil {
		s.tb.Fatalf("packet %d: %v", s.number, err)
	}
	s.tracker.Observe(&p, nil, dissector.ICRCGood)
}

// request is a CONN_REQ of A.
func (s *metaScript) request(nonce uint64, how ...captured) {
	s.send(false, mr0.Packet{
		CH:   mr0.CH{Type: mr0.TypeConnReq},
		CONN: mr0.CONN{SourceConnID: chosenByA, PathCount: 2, PlaneCount: 1, MTU: 1024, StreamCount: 8, MaxWindow: 256, Nonce: nonce},
	}, 0, how...)
}

// reply is the CONN_REP of B.
func (s *metaScript) reply(nonce uint64, how ...captured) {
	s.send(true, mr0.Packet{
		CH:   mr0.CH{Type: mr0.TypeConnRep},
		CONN: mr0.CONN{SourceConnID: chosenByB, PathCount: 2, PlaneCount: 1, MTU: 1024, StreamCount: 8, MaxWindow: 256, Nonce: nonce},
	}, 0, how...)
}

// write is a packet of a WRITE of A with 100 bytes: one of several of its message, by their number.
func (s *metaScript) write(psn, msn, index, of uint32, how ...captured) {
	m := mr0.Packet{
		CH: mr0.CH{Type: mr0.TypeWrite, PSN: psn},
		DH: mr0.DH{StreamID: 1, MSN: msn, MessageOffset: 100 * index, MessageLength: 100 * of},
	}
	if index == 0 {
		m.CH.Flags |= mr0.FlagFirst
	}
	if index == of-1 {
		m.CH.Flags |= mr0.FlagLast
	}
	s.send(false, m, 100, how...)
}

// probe is a PROBE of A.
func (s *metaScript) probe(psn uint32, how ...captured) {
	s.send(false, mr0.Packet{CH: mr0.CH{Type: mr0.TypeProbe, Flags: mr0.FlagFirst | mr0.FlagLast | mr0.FlagAR, PSN: psn}}, 0, how...)
}

// ack is an ACK of B for a path of A.
func (s *metaScript) ack(number, cumulative uint32, beyond []uint32, how ...captured) {
	m := mr0.Packet{CH: mr0.CH{Type: mr0.TypeACK, PSN: number}, ACKH: mr0.ACKH{CumulativePSN: cumulative, RateHint: mr0.ACKHRateHintNoLimit}}
	for _, psn := range beyond {
		m.ACKH.SACK.Set(int(psn - cumulative - 1))
	}
	s.send(true, m, 0, how...)
}

// nak is a NAK of B for a packet of A.
func (s *metaScript) nak(reason mr0.NAKReason, psn, msn, retry uint32, how ...captured) {
	s.send(true, mr0.Packet{
		CH: mr0.CH{Type: mr0.TypeNAK}, NAKH: mr0.NAKH{Reason: reason, StreamID: 1, MSN: msn, RefusedPSN: psn, RetryAfter: retry},
	}, 0, how...)
}

// disconnect is a DISCONNECT of A or B.
func (s *metaScript) disconnect(fromB bool, how ...captured) {
	m := mr0.Packet{CH: mr0.CH{Type: mr0.TypeDisconnect}, DISC: mr0.DISC{SourceConnID: chosenByA}}
	if fromB {
		m.DISC.SourceConnID = chosenByB
	}
	s.send(fromB, m, 0, how...)
}

// finish emits all that is tracked. The records are in the order in which they were emitted.
func (s *metaScript) finish() []flow.Record {
	s.tb.Helper()
	s.tracker.Flush()
	return s.records
}

// both are the records of the only connection, A's direction first.
func (s *metaScript) both() (a, b *flow.Record) {
	s.tb.Helper()
	records := s.finish()
	if len(records) != 2 {
		s.tb.Fatalf("%d flows, want 2", len(records))
	}
	a, b = &records[0], &records[1]
	if netip.AddrFrom16(a.Key.Source).Unmap() != s.a {
		a, b = b, a
	}
	if a.ReverseID != b.ID || b.ReverseID != a.ID || a.ConnectionID != b.ConnectionID {
		s.tb.Fatalf("not paired: %v %v and %v %v", a.ID, a.ReverseID, b.ID, b.ReverseID)
	}
	return a, b
}
