package flow_test

import (
	"net/netip"
	"testing"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/flow"
)

// sprayed is a WRITE packet of MetaRoCE in order on one of eight paths, or the ACK that answers sixteen of them.
type sprayed struct {
	tb   testing.TB
	sent uint32
}

func (s *sprayed) next(p *dissector.Packet) {
	m := mr0.Packet{CH: mr0.CH{Type: mr0.TypeWrite, DestConnID: 7, PathID: uint8(s.sent % 8), PSN: s.sent / 8}}
	from, to := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.1.0.1")
	m.DH = mr0.DH{Timestamp: s.sent, MSN: s.sent / 16, MessageOffset: s.sent % 16 * 64, MessageLength: 16 * 64}
	switch s.sent % 16 {
	case 0:
		m.CH.Flags = mr0.FlagFirst
	case 15:
		m.CH.Flags = mr0.FlagLast
	}
	payload := 64
	if s.sent%128 >= 120 {
		from, to, payload = to, from, 0
		echoed := s.sent - 128 + 8 // sent before, on the same path
		m.CH = mr0.CH{Type: mr0.TypeACK, DestConnID: 9, PathID: uint8(s.sent % 8), PSN: s.sent / 128}
		m.ACKH = mr0.ACKH{CumulativePSN: echoed/8 + 1, EchoTimestamp: echoed}
	}
	s.sent++
	data, err := (&build.Frame{Source: from, Destination: to, SourcePort: 50000, ID: uint16(s.sent), MetaRoCE: &m, Payload: make([]byte, payload)}).AppendTo(nil)
	if err != nil {
		s.tb.Fatal(err)
	}
	meta := dissector.Meta{LinkType: dissector.LinkTypeEthernet, HasTime: true, Time: int64(s.sent) * 100, Number: uint64(s.sent), OriginalLength: uint32(len(data))}
	if err := dissector.Decode(data, meta, p); err != nil {
		s.tb.Fatal(err)
	}
}

func TestObserveOfMetaRoCEAllocatesNothing(t *testing.T) {
	tracker := flow.NewTracker(flow.DefaultConfig(), func(*flow.Record) {})
	s := sprayed{tb: t}
	packets := make([]dissector.Packet, 20000)
	for i := range packets {
		s.next(&packets[i])
	}
	for i := range packets[:10000] {
		tracker.Observe(&packets[i], nil, dissector.ICRCGood)
	}
	i := 10000
	if n := testing.AllocsPerRun(9000, func() {
		tracker.Observe(&packets[i], nil, dissector.ICRCGood)
		i++
	}); n != 0 {
		t.Errorf("%v allocations a packet", n)
	}
}
