package flow_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/flow"
)

// exchange is packets of connections in turn, each a WRITE in messages of 16, or one of the 8 in 128 that are ACKs.
type exchange struct {
	tb          testing.TB
	metaRoCE    bool // over eight paths; otherwise RoCEv2
	connections uint32
	sent        uint32
}

const exchangeACKs, exchangeRound = 8, 128

// next decodes the next packet.
func (x *exchange) next(p *dissector.Packet) {
	k, i := x.sent%x.connections, x.sent/x.connections
	x.sent++
	f := build.Frame{
		Source: netip.MustParseAddr("10.0.0.1"), Destination: netip.AddrFrom4([4]byte{10, 1, byte(k >> 8), byte(k)}), SourcePort: 50000,
		ID: uint16(i), Payload: make([]byte, 64),
	}
	ack := i%exchangeRound >= exchangeRound-exchangeACKs
	if ack {
		f.Source, f.Destination, f.Payload = f.Destination, f.Source, nil
	}
	if x.metaRoCE {
		f.MetaRoCE = metaPacketOf(k, i, ack)
	} else {
		f.BTH, f.AETH = rocePacketOf(k, i, ack)
	}
	data, err := f.AppendTo(nil)
	if err != nil {
		x.tb.Fatal(err)
	}
	meta := dissector.Meta{LinkType: dissector.LinkTypeEthernet, HasTime: true, Time: int64(x.sent) * 100, Number: uint64(x.sent), OriginalLength: uint32(len(data))}
	if err := dissector.Decode(data, meta, p); err != nil {
		x.tb.Fatal(err)
	}
}

func metaPacketOf(k, i uint32, ack bool) *mr0.Packet {
	path, psn := uint8(i%8), i/8
	if ack {
		echoed := i - exchangeACKs // the latest of the same path
		return &mr0.Packet{
			CH:   mr0.CH{Type: mr0.TypeACK, DestConnID: 2*k + 1, PathID: path, PSN: i / exchangeRound},
			ACKH: mr0.ACKH{CumulativePSN: psn - i/exchangeRound, EchoTimestamp: echoed},
		}
	}
	psn -= i / exchangeRound // a round has one ACK on each path
	m := &mr0.Packet{
		CH: mr0.CH{Type: mr0.TypeWrite, DestConnID: 2*k + 2, PathID: path, PSN: psn},
		DH: mr0.DH{Timestamp: i, MSN: i / 16, MessageOffset: i % 16 * 64, MessageLength: 16 * 64},
	}
	switch i % 16 {
	case 0:
		m.CH.Flags = mr0.FlagFirst
	case 15:
		m.CH.Flags = mr0.FlagLast
	}
	return m
}

func rocePacketOf(k, i uint32, ack bool) (infiniband.BTH, infiniband.AETH) {
	round := i / exchangeRound
	psn := i - round*exchangeACKs
	if ack {
		over := i%exchangeRound - (exchangeRound - exchangeACKs)
		answered := round*(exchangeRound-exchangeACKs) + 15*over + 14
		return infiniband.BTH{Opcode: infiniband.RCAcknowledge, DestinationQP: 2*k + 1, PSN: answered}, infiniband.AETH{Syndrome: 0x1f}
	}
	h := infiniband.BTH{Opcode: infiniband.RCWriteMiddle, DestinationQP: 2*k + 2, PSN: psn}
	switch psn % 16 {
	case 0:
		h.Opcode = infiniband.RCWriteFirst
	case 15:
		h.Opcode = infiniband.RCWriteLast
	}
	return h, infiniband.AETH{}
}

func TestObserveOfMetaRoCEAllocatesNothing(t *testing.T) {
	tracker := flow.NewTracker(flow.DefaultConfig(), func(*flow.Record) {})
	x := exchange{tb: t, metaRoCE: true, connections: 1}
	packets := make([]dissector.Packet, 20000)
	for i := range packets {
		x.next(&packets[i])
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

// BenchmarkMetaRoCEObserve measures the tracking of decoded packets of the profile mr0 against that of RoCEv2, block by
// block in the same run, and reports how many times as long they take. The quickest block of each counts.
func BenchmarkMetaRoCEObserve(b *testing.B) {
	for _, connections := range []uint32{1, 1024} {
		b.Run(fmt.Sprintf("connections=%d", connections), func(b *testing.B) {
			const block = 2048
			packets := make([]dissector.Packet, block)
			quickest := [2]time.Duration{time.Hour, time.Hour}
			exchanges := [2]exchange{
				{tb: b, metaRoCE: true, connections: connections}, {tb: b, connections: connections},
			}
			var trackers [2]*flow.Tracker
			for i := range trackers {
				trackers[i] = flow.NewTracker(flow.DefaultConfig(), func(*flow.Record) {})
				for range 4 * exchangeRound * connections { // until all that grows has grown
					exchanges[i].next(&packets[0])
					trackers[i].Observe(&packets[0], nil, dissector.ICRCGood)
				}
			}
			for b.Loop() {
				for which := range exchanges {
					for i := range packets {
						exchanges[which].next(&packets[i])
					}
					start := time.Now()
					for i := range packets {
						trackers[which].Observe(&packets[i], nil, dissector.ICRCGood)
					}
					quickest[which] = min(quickest[which], time.Since(start))
				}
			}
			for i, t := range trackers {
				if got := t.Totals(); got.MissingPSNs+got.Retransmitted+got.OutOfOrder != 0 {
					b.Fatalf("%d: %+v", i, got)
				}
			}
			b.ReportMetric(float64(quickest[0])/block, "ns/packet")
			b.ReportMetric(float64(quickest[1])/block, "ns/RoCEv2-packet")
			b.ReportMetric(float64(quickest[0])/float64(quickest[1]), "x-RoCEv2")
		})
	}
}
