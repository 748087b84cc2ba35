package flow_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/flow"
)

// levels are numbers of records that do not add up over intervals: how things stand, or a moment of the interval.
var levels = []string{
	"SourceQP", "ServiceID", "VLAN", "DSCP", "SourcePort", "SourcePorts", "FirstNumber", "LastNumber", "PathMTU", "FirstPSN", "LastPSN",
	"PortRewritten", "AcceptTime", "PathCount", "PlaneCount", "MTU", "LinkRate", "InitialPSN", "StreamCount", "MaxWindow", "Plane",
	"FirstProbe", "LastProbe", "FirstProbeTime", "ReceivedPackets", "ReceivedCE", "InFlightMax", "InFlightMean", "FirstMSN", "LastMSN",
	"RateHint.Last", "RateHint.Min", "RateHint.Max", "RTT.Smoothed", "RTT.Variation", "RTT.Min", "RTT.Max", "Latency.Min", "Latency.Mean",
	"Latency.P50", "Latency.P90", "Latency.P99", "Latency.Max",
}

// sums adds up the numbers of records by flow and name, and by path or stream where they are of one.
type sums map[string]uint64

// add adds all numbers of v that add up. What is unknown in every record is in none of the sums.
func (s sums) add(name string, v reflect.Value) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		at := name + field.Name
		if slices.ContainsFunc(levels, func(l string) bool { return at[len(at)-min(len(at), len(l)):] == l && !field.Anonymous }) {
			continue
		}
		switch x := v.Field(i).Interface().(type) {
		case uint64:
			s[at] += x
		case flow.Count:
			if x.Known {
				s[at] += x.N
			}
		case [32]uint64:
			for code, n := range x {
				s[fmt.Sprint(at, code)] += n
			}
		case flow.Operations, flow.Hint, flow.RTT, flow.Latency:
			s.add(at+".", v.Field(i))
		case *flow.MetaRoCERecord:
			if x == nil {
				break
			}
			s.add(at+".", reflect.ValueOf(*x))
			for _, p := range x.Paths {
				s.add(fmt.Sprintf("%spath %d ", name, p.ID), reflect.ValueOf(p))
				for _, use := range p.Ports {
					s[fmt.Sprintf("%spath %d port %d", name, p.ID, use.Port)] += use.Packets
				}
			}
			for _, stream := range x.Streams {
				s.add(fmt.Sprintf("%sstream %d ", name, stream.ID), reflect.ValueOf(stream))
			}
		}
	}
}

// unknowns are the names of counts that a record cannot tell.
func unknowns(name string, v reflect.Value, out map[string]bool) {
	for i := range v.NumField() {
		if c, ok := reflect.TypeAssert[flow.Count](v.Field(i)); ok && !c.Known {
			out[name+v.Type().Field(i).Name] = true
		}
	}
}

// cut runs frames through a tracker that is cut before some of them.
func cut(tb testing.TB, frames []frame, before map[int]bool) []flow.Record {
	tb.Helper()
	var records []flow.Record
	tracker := flow.NewTracker(flow.DefaultConfig(), func(r *flow.Record) { records = append(records, r.Clone()) })
	var p dissector.Packet
	for i, f := range frames {
		if before[i] {
			tracker.Cut()
		}
		err := dissector.Decode(f.data, f.meta, &p)
		tracker.Observe(&p, err, dissector.VerifyICRC(&p))
	}
	tracker.Flush()
	return records
}

// extremes are what the records of a flow, path or stream say of the whole by their least and greatest.
type extremes struct{ least, greatest uint64 }

func (e *extremes) take(least, greatest uint64) {
	e.least, e.greatest = min(e.least, least), max(e.greatest, greatest)
}

func extremesOf(records []flow.Record) map[string]extremes {
	out := map[string]extremes{}
	take := func(name string, known bool, least, greatest uint64) {
		if !known {
			return
		}
		e, ok := out[name]
		if !ok {
			e = extremes{least, greatest}
		}
		e.take(least, greatest)
		out[name] = e
	}
	for i := range records {
		r := &records[i]
		name := fmt.Sprintf("%x ", r.ID)
		take(name+"number", r.Packets > 0, r.FirstNumber, r.LastNumber)
		take(name+"time", r.HasTime, uint64(r.FirstTime), uint64(r.LastTime))
		take(name+"RNR timer", r.RNRNaks > 0, 0, uint64(r.RNRTimerMax))
		if r.MetaRoCE == nil {
			continue
		}
		x := r.MetaRoCE
		take(name+"hint", x.RateHint.Min.Known, x.RateHint.Min.N, x.RateHint.Max.N)
		for _, p := range x.Paths {
			name := fmt.Sprintf("%spath %d ", name, p.ID)
			take(name+"number", p.Packets > 0, p.FirstNumber, p.LastNumber)
			take(name+"hint", p.RateHint.Min.Known, p.RateHint.Min.N, p.RateHint.Max.N)
			take(name+"RTT", p.RTT.Samples > 0, p.RTT.Min.N, p.RTT.Max.N)
			take(name+"in flight", p.InFlightMax.Known, 0, p.InFlightMax.N)
		}
		for _, s := range x.Streams {
			name := fmt.Sprintf("%sstream %d ", name, s.ID)
			take(name+"number", s.Packets > 0, s.FirstNumber, s.LastNumber)
			take(name+"latency", s.Latency.Samples > 0, s.Latency.Min.N, s.Latency.Max.N)
		}
	}
	return out
}

// holdAgainst compares the records of intervals with those of the whole.
func holdAgainst(t *testing.T, whole, intervals []flow.Record) {
	t.Helper()
	want, got, unknown := sums{}, sums{}, map[string]bool{}
	for i := range whole {
		name := fmt.Sprintf("%x ", whole[i].ID)
		want.add(name, reflect.ValueOf(whole[i]))
		unknowns(name, reflect.ValueOf(whole[i]), unknown)
		if x := whole[i].MetaRoCE; x != nil {
			for _, p := range x.Paths {
				unknowns(fmt.Sprintf("%spath %d ", name, p.ID), reflect.ValueOf(p), unknown)
			}
		}
	}
	for i := range intervals {
		got.add(fmt.Sprintf("%x ", intervals[i].ID), reflect.ValueOf(intervals[i]))
	}
	for name, n := range got {
		if n != want[name] && !unknown[name] {
			t.Errorf("%s: intervals add up to %d, the whole is %d", name, int64(n), want[name])
		}
	}
	for name, n := range want {
		if _, ok := got[name]; !ok && n != 0 {
			t.Errorf("%s: no interval tells of %d", name, n)
		}
	}
	for name, w := range extremesOf(whole) {
		if g := extremesOf(intervals)[name]; g != w {
			t.Errorf("%s: intervals %+v, the whole %+v", name, g, w)
		}
	}
}

// thinned leaves frames out, as a capture that misses some, or a network that loses them.
func thinned(frames []frame, rng *rand.Rand, share float64) []frame {
	return slices.DeleteFunc(slices.Clone(frames), func(frame) bool { return rng.Float64() < share })
}

// TestIntervalsAddUpToTheWhole: records of intervals, cut anywhere, are together the record of the whole, whatever was
// lost, resent, overtaken or missed on both sides of a cut.
func TestIntervalsAddUpToTheWhole(t *testing.T) {
	t.Parallel()
	captures := map[string][]frame{}
	for i, c := range []simConfig{
		{messages: 60, lossBefore: 0.03, lossAfter: 0.03},
		{messages: 60, lossBefore: 0.05, rnr: 0.1, constantID: true, onlyWrites: true},
		{messages: 60, lossBefore: 0.03, capture: 0.05, firstPSN: 1<<24 - 40},
		{messages: 60, selective: true, lossBefore: 0.05},
	} {
		for seed := range uint64(3) {
			c.seed = seed + 1
			frames, _ := simulate(t, c)
			captures[fmt.Sprintf("simulated %d seed %d", i, seed)] = frames
			captures[fmt.Sprintf("simulated %d seed %d reordered", i, seed)] = shuffled(frames, seed, 12)
		}
	}
	for _, pattern := range []string{"metaroce/*.pcap", "derived/[enprs]*.pcap", "*.pcap"} {
		paths, err := filepath.Glob(filepath.Join("..", "testdata", pattern))
		if err != nil || len(paths) == 0 {
			t.Fatal(pattern, err)
		}
		for _, path := range paths {
			frames := readPcap(t, path)
			if len(frames) > 6000 {
				frames = frames[:6000]
			}
			rng := rand.New(rand.NewPCG(1, uint64(len(frames))))
			captures[path] = frames
			captures[path+" thinned"] = thinned(frames, rng, 0.03)
			captures[path+" reordered"] = shuffled(thinned(frames, rng, 0.01), 7, 9)
		}
	}
	for name, frames := range captures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := cut(t, frames, nil)
			for seed := range uint64(4) {
				rng := rand.New(rand.NewPCG(seed, 5))
				before := map[int]bool{}
				for range 1 + rng.IntN(12) {
					before[rng.IntN(len(frames)+1)] = true
				}
				if seed == 3 { // as often as can be
					for i := range frames {
						before[i] = len(frames) < 1000
					}
				}
				holdAgainst(t, whole, cut(t, frames, before))
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
		})
	}
}

// TestSilentConnectionsAreForgotten: what was told is not told again, a direction that is heard keeps the other, and a
// flow that comes back begins anew.
func TestSilentConnectionsAreForgotten(t *testing.T) {
	t.Parallel()
	frames, _ := simulate(t, simConfig{seed: 1, messages: 30})
	isRequest := func(p *dissector.Packet) bool { return p.BTH.DestinationQP == simQPB }
	var records []flow.Record
	tracker := flow.NewTracker(flow.DefaultConfig(), func(r *flow.Record) { records = append(records, *r) })
	observe := func(only func(p *dissector.Packet) bool) {
		for _, f := range frames {
			if p := decode(t, f); only == nil || only(p) {
				tracker.Observe(p, nil, dissector.ICRCGood)
			}
		}
	}
	emitted := func() int {
		n := len(records)
		records = nil
		return n
	}
	observe(nil)
	first := tracker.Cut()
	if n := emitted(); n != 2 {
		t.Fatalf("%d records of two flows", n)
	}
	observe(isRequest)
	second := tracker.Cut()
	if n := emitted(); n != 1 || tracker.Cut() != second || emitted() != 0 {
		t.Fatalf("%d records, of which one flow had packets", n)
	}
	tracker.Expire(first) // the answers are silent, the requests are not
	observe(nil)
	if got := tracker.Totals().Flows; got != 2 {
		t.Fatalf("%d flows began, none was forgotten", got)
	}
	third := tracker.Cut()
	emitted()
	tracker.Expire(third)
	if n := emitted(); n != 0 {
		t.Fatalf("%d records of flows that had told all", n)
	}
	observe(nil)
	totals := tracker.Totals()
	if totals.Flows != 4 || totals.EvictedFlows != 0 {
		t.Fatalf("%d flows began, want two that begin anew; %d evicted", totals.Flows, totals.EvictedFlows)
	}
	tracker.Cut()
	if n := emitted(); n != 2 {
		t.Fatalf("%d records of two new flows", n)
	}
}

// TestSilentPathsAreForgotten is the same for MetaRoCE, and for what is left to tell when it is.
func TestSilentPathsAreForgotten(t *testing.T) {
	t.Parallel()
	s := newMetaScript(t, nil)
	s.request(7)
	s.reply(7)
	s.write(0, 0, 0, 1)
	s.write(1, 1, 0, 1, path(1))
	s.tracker.Cut()
	s.records = nil
	s.ack(0, 1, nil)
	moment := s.tracker.Cut()
	if len(s.records) != 2 {
		t.Fatalf("%d records: an ACK counts for both directions", len(s.records))
	}
	for _, r := range s.records {
		switch r.Key.DestinationQP {
		case chosenByA:
			if r.Packets != 1 || r.Acks != 1 {
				t.Errorf("%d packets and %d ACKs of the side that answers, want 1 and 1", r.Packets, r.Acks)
			}
		case chosenByB:
			if r.Packets != 0 || r.HasTime || len(r.MetaRoCE.Paths) != 1 || r.MetaRoCE.Paths[0].Acks.N != 1 {
				t.Errorf("of the other direction only the path that was acknowledged is told: %+v", r)
			}
		}
	}
	s.records = nil
	s.tracker.Expire(moment)
	if len(s.records) != 0 {
		t.Fatalf("%d records of flows that had told all", len(s.records))
	}
	s.write(2, 2, 0, 1)
	if got := s.tracker.Totals().Flows; got != 3 {
		t.Fatalf("%d flows began, want one more", got)
	}
}
