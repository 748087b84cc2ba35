package flow_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/flow"
)

// fleet is many connections that send data in turn, in an order without pattern. It patches one frame, as
// the frames of a file that is read from start to end are in the cache when they are decoded.
type fleet struct {
	frame []byte
	mask  uint32 // connections less one, which are a power of two
	sent  uint32
}

func newFleet(tb testing.TB, connections int) *fleet {
	tb.Helper()
	b := build.Frame{
		Source: netip.MustParseAddr("10.0.0.1"), Destination: netip.MustParseAddr("10.1.0.1"), SourcePort: 50000,
		BTH:     infiniband.BTH{Opcode: infiniband.RCWriteMiddle, PartitionKey: infiniband.DefaultPartitionKey},
		Payload: make([]byte, 1024),
	}
	data, err := b.AppendTo(nil)
	if err != nil {
		tb.Fatal(err)
	}
	return &fleet{frame: data, mask: uint32(connections - 1)}
}

// Offsets in an untagged IPv4 frame.
const (
	sourceHost      = 14 + 12 + 3
	destinationHost = 14 + 16 + 3
	bthQP           = 14 + 20 + 8 + 5
	bthPSN          = 14 + 20 + 8 + 9
)

// next makes the next packet of the fleet: connections between 64 hosts, each at the same PSN in a round. The
// ICRC is not kept right: nobody checks it here.
func (f *fleet) next() []byte {
	connection := f.sent * 2654435761 & f.mask
	psn := f.sent / (f.mask + 1)
	f.sent++
	f.frame[sourceHost], f.frame[destinationHost] = byte(connection&63), byte(connection>>6&63)
	f.frame[bthQP], f.frame[bthQP+1], f.frame[bthQP+2] = byte(connection>>16), byte(connection>>8), byte(connection)
	f.frame[bthPSN], f.frame[bthPSN+1], f.frame[bthPSN+2] = byte(psn>>16), byte(psn>>8), byte(psn)
	return f.frame
}

// BenchmarkObserve measures decoding and tracking together, of data in order on many connections in turn; beside it
// decoding alone, and how long gopacket's zero-copy parser takes to get to UDP on the same bytes.
func BenchmarkObserve(b *testing.B) {
	for _, connections := range []int{1, 1 << 10, 1 << 20} {
		meta := dissector.Meta{LinkType: dissector.LinkTypeEthernet, HasTime: true}
		b.Run(fmt.Sprintf("connections=%d/decode+track", connections), func(b *testing.B) {
			f := newFleet(b, connections)
			meta.OriginalLength = uint32(len(f.frame))
			t := flow.NewTracker(flow.DefaultConfig(), func(*flow.Record) {})
			var packets [16]dissector.Packet // as the analysis decodes a batch and then tracks it
			decode := func() {
				for i := range packets {
					meta.Number++
					meta.Time += 40
					if err := dissector.Decode(f.next(), meta, &packets[i]); err != nil {
						b.Fatal(err)
					}
				}
				t.Warm(packets[:])
			}
			for range 40 * connections / len(packets) { // until nothing is put up for pairing any more
				if connections > 1<<16 && f.sent > uint32(2*connections) {
					break
				}
				decode()
				for i := range packets {
					t.Observe(&packets[i], nil, dissector.ICRCNotChecked)
				}
			}
			i := len(packets)
			b.ReportAllocs()
			for b.Loop() {
				if i == len(packets) {
					decode()
					i = 0
				}
				t.Observe(&packets[i], nil, dissector.ICRCNotChecked)
				i++
			}
			if t.Totals().Retransmitted != 0 || t.Totals().MissingPSNs != 0 || t.Totals().EvictedFlows != 0 {
				b.Fatalf("%+v", t.Totals())
			}
		})
		b.Run(fmt.Sprintf("connections=%d/gopacket-to-UDP", connections), func(b *testing.B) {
			var (
				ethernet layers.Ethernet
				ip       layers.IPv4
				udp      layers.UDP
				payload  gopacket.Payload
			)
			parser := gopacket.NewDecodingLayerParser(layers.LayerTypeEthernet)
			parser.SetDecodingLayerContainer(gopacket.DecodingLayerArray(nil))
			for _, layer := range []gopacket.DecodingLayer{&ethernet, &ip, &udp, &payload} {
				parser.AddDecodingLayer(layer)
			}
			decoded := make([]gopacket.LayerType, 0, 8)
			f := newFleet(b, connections)
			b.ReportAllocs()
			for b.Loop() {
				if err := parser.DecodeLayers(f.next(), &decoded); err != nil {
					b.Fatal(err)
				}
			}
			if len(decoded) < 3 || decoded[2] != layers.LayerTypeUDP {
				b.Fatalf("gopacket did not get to UDP: %v", decoded)
			}
		})
		b.Run(fmt.Sprintf("connections=%d/decode", connections), func(b *testing.B) {
			f := newFleet(b, connections)
			var p dissector.Packet
			b.ReportAllocs()
			for b.Loop() {
				meta.Number++
				meta.Time += 40
				if err := dissector.Decode(f.next(), meta, &p); err != nil {
					b.Fatal(err)
				}
			}
		})
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
