package judge_test

import (
	"testing"
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/metaroce"
	"github.com/rocelens/rocelens/replay/metaroce/judge"
	"github.com/rocelens/rocelens/replay/metaroce/scenario"
	"github.com/rocelens/rocelens/replay/metaroce/simulation"
)

// seen is a packet of a recorded connection.
type seen struct {
	lane int
	data []byte
	meta dissector.Meta
}

// record is a connection that writes, sends and reads, as it passes the middle, with some loss.
func record(tb testing.TB, loss float64) []seen {
	tb.Helper()
	w, err := scenario.New(scenario.Config{
		Seed: 3, Senders: 1, Planes: 1, Routes: 8, Parameters: mr0.DefaultParameters(),
		Route: simulation.Link{Rate: 100e9, Delay: 5 * time.Microsecond}, Up: simulation.Link{Rate: 100e9}, Down: simulation.Link{Rate: 100e9, Loss: loss},
		Change: func(_ int, c *metaroce.Config) { c.MTU, c.LinkRate = 256, 100_000 },
	})
	if err != nil {
		tb.Fatal(err)
	}
	var all []seen
	w.Net.OnSend, w.Net.OnDeliver = nil, nil
	w.Net.OnHop = func(hop int, to *simulation.Host, f *simulation.Frame) {
		if hop != 2 {
			return
		}
		s := seen{data: scenario.Ethernet(nil, f, uint16(len(all)))}
		if w.Index(to) == 0 {
			s.lane = 1
		}
		s.meta = dissector.Meta{
			LinkType: dissector.LinkTypeEthernet, HasTime: true, Time: 1_700_000_000_000_000_000 + int64(w.Net.Now),
			Number: uint64(len(all) + 1), OriginalLength: uint32(len(s.data)),
		}
		all = append(all, s)
	}
	if !w.Connect() {
		tb.Fatal("not connected")
	}
	for range 40 {
		w.Pace(10, 3*time.Microsecond, metaroce.OperationWrite, 32*256)
		w.Back(4)
		w.Pace(10, 3*time.Microsecond, metaroce.OperationSend, 16*256)
	}
	return all
}

// BenchmarkObserve is what judging costs beside decoding and tracking the same packets; "times" is the first divided by
// the others.
func BenchmarkObserve(b *testing.B) {
	for _, c := range []struct {
		name string
		loss float64
	}{{"lossless", 0}, {"1% lost", 0.01}} {
		b.Run(c.name, func(b *testing.B) {
			all := record(b, c.loss)
			packets := make([]dissector.Packet, len(all))
			errs := make([]error, len(all))
			var p dissector.Packet
			var base, own time.Duration
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				tracker := flow.NewTracker(flow.DefaultConfig(), func(*flow.Record) {})
				one := judge.New(1, mr0.DefaultParameters(), func(*finding.Finding) {})
				for i := range all {
					errs[i] = dissector.Decode(all[i].data, all[i].meta, &packets[i])
				}
				b.StartTimer()
				start := b.Elapsed()
				for i := range all {
					err := dissector.Decode(all[i].data, all[i].meta, &p)
					tracker.Observe(&p, err, dissector.ICRCGood)
				}
				middle := b.Elapsed()
				for i := range all {
					s := finding.Sighting{Packet: &packets[i], Err: errs[i], ICRC: dissector.ICRCGood}
					one.Observe(all[i].lane, &s)
				}
				base += middle - start
				own += b.Elapsed() - middle
			}
			n := float64(b.N * len(all))
			b.ReportMetric(float64(own)/n, "ns/packet")
			b.ReportMetric(float64(base)/n, "ns/decode+track")
			b.ReportMetric(float64(own)/float64(base), "times")
		})
	}
}

func TestObserveAllocatesNothingInTheSteadyState(t *testing.T) {
	all := record(t, 0)
	one := judge.New(1, mr0.DefaultParameters(), func(*finding.Finding) {})
	packets := make([]dissector.Packet, len(all))
	sightings := make([]finding.Sighting, len(all))
	for i := range all {
		sightings[i] = finding.Sighting{Err: dissector.Decode(all[i].data, all[i].meta, &packets[i]), ICRC: dissector.ICRCGood, Packet: &packets[i]}
	}
	half := len(all) / 2
	for i := range half {
		one.Observe(all[i].lane, &sightings[i])
	}
	i := half
	if n := testing.AllocsPerRun(len(all)-half-2, func() {
		one.Observe(all[i].lane, &sightings[i])
		i++
	}); n != 0 {
		t.Errorf("%v allocations a packet", n)
	}
}
