package flow_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/flow"
)

// fleet is one packet of each of many connections, to be sent again and again with the next PSN.
type fleet struct {
	frames [][]byte
	psns   []uint32
}

// newFleet makes connections between 64 hosts.
func newFleet(tb testing.TB, connections, payload int) *fleet {
	tb.Helper()
	f := &fleet{psns: make([]uint32, connections)}
	body := make([]byte, payload)
	for i := range connections {
		b := build.Frame{
			Source:      netip.AddrFrom4([4]byte{10, 0, 0, byte(i % 64)}),
			Destination: netip.AddrFrom4([4]byte{10, 0, 1, byte(i / 64 % 64)}),
			SourcePort:  uint16(49152 + i%16384),
			BTH: infiniband.BTH{
				Opcode: infiniband.RCWriteMiddle, PartitionKey: infiniband.DefaultPartitionKey, DestinationQP: uint32(i),
			},
			Payload: body,
		}
		data, err := b.AppendTo(nil)
		if err != nil {
			tb.Fatal(err)
		}
		f.frames = append(f.frames, data)
	}
	return f
}

// bthPSN is the offset of the PSN in an untagged IPv4 frame.
const bthPSN = 14 + 20 + 8 + 9

// next sets the next PSN of the connection. The ICRC is not kept right: nobody checks it here.
func (f *fleet) next(i int) []byte {
	data := f.frames[i]
	psn := f.psns[i]
	f.psns[i] = (psn + 1) & 0xffffff
	data[bthPSN], data[bthPSN+1], data[bthPSN+2] = byte(psn>>16), byte(psn>>8), byte(psn)
	return data
}

// BenchmarkObserve measures tracking alone and together with decoding, in-order data of many connections in
// random turn.
func BenchmarkObserve(b *testing.B) {
	for _, connections := range []int{1, 1024, 1_000_000} {
		payload := 1024
		if connections > 100_000 {
			payload = 64
		}
		f := newFleet(b, connections, payload)
		rng := rand.New(rand.NewPCG(1, 2))
		turn := make([]uint32, 1<<21)
		for i := range turn {
			turn[i] = uint32(rng.IntN(connections))
		}
		meta := dissector.Meta{OriginalLength: uint32(len(f.frames[0])), LinkType: dissector.LinkTypeEthernet, HasTime: true}
		b.Run(fmt.Sprintf("connections=%d/decode+track", connections), func(b *testing.B) {
			t := flow.NewTracker(flow.DefaultConfig(), func(*flow.Record) {})
			var p dissector.Packet
			warm(b, t, f, &meta)
			n := 0
			b.ReportAllocs()
			for b.Loop() {
				data := f.next(int(turn[n&(len(turn)-1)]))
				n++
				meta.Number++
				meta.Time += 40
				err := dissector.Decode(data, meta, &p)
				t.Observe(&p, err, dissector.ICRCNotChecked)
			}
			if t.Totals().Retransmitted != 0 || t.Totals().MissingPSNs != 0 {
				b.Fatalf("%+v", t.Totals())
			}
		})
		b.Run(fmt.Sprintf("connections=%d/decode", connections), func(b *testing.B) {
			var p dissector.Packet
			n := 0
			b.ReportAllocs()
			for b.Loop() {
				data := f.next(int(turn[n&(len(turn)-1)]))
				n++
				meta.Number++
				meta.Time += 40
				if err := dissector.Decode(data, meta, &p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func warm(tb testing.TB, t *flow.Tracker, f *fleet, meta *dissector.Meta) {
	tb.Helper()
	var p dissector.Packet
	for i := range f.frames {
		meta.Number++
		meta.Time += 40
		if err := dissector.Decode(f.next(i), *meta, &p); err != nil {
			tb.Fatal(err)
		}
		t.Observe(&p, nil, dissector.ICRCNotChecked)
	}
}

// TestObserveAllocatesNothing covers steady state: data, acknowledgments, losses and what follows from them.
func TestObserveAllocatesNothing(t *testing.T) {
	frames, _ := simulate(t, simConfig{seed: 3, messages: 400, lossBefore: 0.02, lossAfter: 0.02, firstPSN: 5})
	tracker := flow.NewTracker(flow.DefaultConfig(), func(*flow.Record) {})
	packets := make([]dissector.Packet, len(frames))
	for i, f := range frames {
		packets[i] = *decode(t, f)
		tracker.Observe(&packets[i], nil, dissector.ICRCGood)
	}
	allocs := testing.AllocsPerRun(3, func() {
		for i := range packets {
			tracker.Observe(&packets[i], nil, dissector.ICRCGood)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations for %d packets", allocs, len(packets))
	}
}
