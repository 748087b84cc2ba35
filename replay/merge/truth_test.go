package merge_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/merge"
	"github.com/rocelens/rocelens/replay/roce/scenario"
)

// frame is what passed a point, by the true clock.
type frame struct {
	at   time.Duration
	data []byte
}

// truth is a run as two points saw it, whole.
type truth struct {
	points   [2][]frame
	partners map[uint64]uint64
}

func flowID(address [16]byte, qp uint32) uint64 {
	return binary.BigEndian.Uint64(address[8:])<<24 | uint64(qp) | 1<<63
}

// runTwice runs a scenario with the tap at either point: a run repeats exactly.
func runTwice(t *testing.T, c scenario.Config, at [2]scenario.Vantage) *truth {
	t.Helper()
	out := &truth{partners: map[uint64]uint64{}}
	for i, v := range at {
		c.Vantage = v
		c.Tap = func(f scenario.Frame) {
			out.points[i] = append(out.points[i], frame{f.Time, append([]byte(nil), f.Data...)})
		}
		run, err := scenario.New(c)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range run.Connections {
			toServer := flowID(x.Server.Address.As16(), x.ServerQP.QPN)
			toClient := flowID(x.Client.Address.As16(), x.ClientQP.QPN)
			out.partners[toServer], out.partners[toClient] = toClient, toServer
		}
		run.Go()
	}
	return out
}

// clock is what a capture's clock shows, and the share of packets that it misses.
type clock struct {
	offset  time.Duration
	drift   float64
	missing float64
}

func (c clock) shows(at time.Duration) int64 {
	return int64(at) + int64(c.offset) + int64(math.Round(c.drift*float64(at)))
}

// sightings is a capture of a point. numbers[i] is the place among the frames of the point of sighting number i+1.
func (x *truth) sightings(point int, c clock, anonymous bool, r *rand.Rand) (out []merge.Sighting, numbers []int) {
	var p dissector.Packet
	for i, f := range x.points[point] {
		if r.Float64() < c.missing {
			continue
		}
		numbers = append(numbers, i)
		meta := dissector.Meta{LinkType: dissector.LinkTypeEthernet, Number: uint64(len(numbers)), HasTime: true, Time: c.shows(f.at), OriginalLength: uint32(len(f.data))}
		data := f.data
		if anonymous && data[14]>>4 == 4 { // a sender that does not number its IP packets: a repetition looks like its original
			data = append([]byte(nil), data...)
			clear(data[18:20])
			clear(data[len(data)-4:])
		}
		err := dissector.Decode(data, meta, &p)
		flow := identify(&p).flow
		s, ok := merge.New(&finding.Sighting{Packet: &p, Err: err, ICRC: dissector.ICRCNotChecked, Flow: flow, Partner: x.partners[flow]})
		if ok {
			out = append(out, s)
		}
	}
	return out, numbers
}

// merged is what two captures come to.
func merged(t *testing.T, config merge.Config, a, b []merge.Sighting) (*merge.Clocks, *merge.Result) {
	t.Helper()
	var samples [2]*merge.Sample
	for i, all := range [2][]merge.Sighting{a, b} {
		samples[i] = merge.NewSample()
		for k := range all {
			samples[i].Add(&all[k])
		}
	}
	clocks, err := merge.Align(samples[0], samples[1])
	if err != nil {
		t.Fatal(err)
	}
	m := merge.NewMerger(config, clocks)
	for len(a) > 0 || len(b) > 0 {
		if len(b) == 0 || (len(a) > 0 && m.Before(&a[0], &b[0])) {
			m.Observe(0, &a[0])
			a = a[1:]
			continue
		}
		m.Observe(1, &b[0])
		b = b[1:]
	}
	return clocks, m.Finish()
}

// transmission names a frame as no hop changes it; two that are equal are the nth of their kind.
func transmissions(frames []frame) (keys []string, all map[string]int) {
	all = map[string]int{}
	for i, f := range frames {
		b := append([]byte(nil), f.data[14:]...)
		if b[0]>>4 == 4 {
			b[1], b[8], b[10], b[11] = 0, 0, 0, 0
		} else {
			b[0], b[1], b[7] = 0x60, 0, 0
		}
		all[string(b)] = i
		keys = append(keys, string(b))
	}
	return keys, all
}

// lane names a direction, its path, and whether it is of CNPs.
type lane struct {
	flow uint64
	path int16
	cnps bool
}

// identify tells which flow a packet belongs to.
func identify(p *dissector.Packet) lane {
	if p.Protocol == dissector.ProtocolMetaRoCE {
		h := &p.MetaRoCE.MR0.CH
		return lane{flow: flowID(p.Network.Destination, h.DestConnID), path: int16(h.PathID)}
	}
	return lane{flow: flowID(p.Network.Destination, p.BTH.DestinationQP), path: -1, cnps: p.BTH.Opcode.IsCNP()}
}

// lane is that of a frame.
func (x *truth) lane(point, i int) lane {
	var p dissector.Packet
	_ = dissector.Decode(x.points[point][i].data, dissector.Meta{LinkType: dissector.LinkTypeEthernet}, &p)
	return identify(&p)
}

func draw(seed uint64) (c scenario.Config, at [2]scenario.Vantage, clocks [2]clock, anonymous bool) {
	r := rand.New(rand.NewPCG(seed, 11))
	pick := func(values ...float64) float64 { return values[r.IntN(len(values))] }
	c = scenario.DefaultConfig()
	c.Seed = seed
	c.Connections, c.Clients = 1+r.IntN(3), 1+r.IntN(2)
	c.BothWays = r.IntN(2) == 0
	c.Messages = 60
	c.Mix = [...]scenario.Mix{scenario.AllOperations, scenario.Writes, scenario.Sends, scenario.Reads}[r.IntN(4)]
	c.Loss, c.LossBack, c.LossForward = pick(0, 0.001, 0.01, 0.03), pick(0, 0, 0.01), pick(0, 0, 0.01)
	c.Duplicate, c.Late = pick(0, 0, 0, 0.01), pick(0, 0, 0, 0.01)
	c.MarkChance = pick(0, 0.02)
	c.NearWrap = r.IntN(4) == 0
	if r.IntN(3) == 0 {
		c.Think = 50 * time.Microsecond
	}
	at = [...][2]scenario.Vantage{
		{scenario.NearRequester, scenario.NearResponder},
		{scenario.NearResponder, scenario.NearRequester},
		{scenario.NearRequester, scenario.Middle},
		{scenario.Middle, scenario.NearResponder},
	}[r.IntN(4)]
	second := clock{
		offset: time.Duration((r.Float64()*2 - 1) * pick(1e3, 1e6, 1e9, 7.2e12)), drift: (r.Float64()*2 - 1) * 100e-6,
		missing: pick(0, 0.001, 0.01),
	}
	return c, at, [2]clock{{missing: pick(0, 0.001, 0.01)}, second}, r.IntN(2) == 0
}

// seeds is how many runs are drawn: ROCELENS_MERGE_SEEDS, or as many as take seconds.
func seeds(t *testing.T) int {
	t.Helper()
	text := os.Getenv("ROCELENS_MERGE_SEEDS")
	switch {
	case text != "":
	case os.Getenv("ROCELENS_RACE") != "": // where each takes ten times as long; `make seeded` runs them all
		return 20
	default:
		return 150
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("ROCELENS_MERGE_SEEDS: %v", err)
	}
	return n
}

// census counts what was said of packets, and clocks of which only a bound was told.
type census struct{ both, alone, lost, missed, undetermined, ambiguous, vague int }

// Whatever the network loses, doubles, reorders and marks, and whatever the captures miss: the clocks' truth lies
// within the stated doubt, and no packet is said to have met a fate that it did not.
func TestFatesAndClocksAreTrue(t *testing.T) {
	var all census
	for seed := range uint64(seeds(t)) {
		c, at, clocks, anonymous := draw(seed)
		name := fmt.Sprintf("seed %d (%v, anonymous %v, loss %v %v %v, duplicates %v, late %v, missing %v %v)",
			seed, at, anonymous, c.Loss, c.LossForward, c.LossBack, c.Duplicate, c.Late, clocks[0].missing, clocks[1].missing)
		judge(t, name, runTwice(t, c, at), clocks, anonymous, rand.New(rand.NewPCG(seed, 3)), &all)
	}
	t.Logf("%+v", all)
	if all.lost == 0 || all.missed == 0 || all.vague > 0 {
		t.Error("too little was decided")
	}
}

// missedAt counts the packets of a direction that a capture missed.
func missedAt(run *truth, point int, captured []int, d *merge.Direction) (n uint64) {
	for i := range run.points[point] {
		if _, found := slices.BinarySearch(captured, i); !found && run.lane(point, i) == (lane{d.Flow, d.Path, d.CNPs}) {
			n++
		}
	}
	return n
}

// judge merges what two captures show of a run, and holds it against the truth.
func judge(t *testing.T, name string, run *truth, clocks [2]clock, anonymous bool, r *rand.Rand, sum *census) {
	t.Helper()
	a, an := run.sightings(0, clocks[0], anonymous, r)
	b, bn := run.sightings(1, clocks[1], anonymous, r)
	estimate, result := merged(t, merge.Config{}, a, b)
	if len(estimate.Pieces) != 1 {
		t.Errorf("%s: %d pieces", name, len(estimate.Pieces))
		return
	}
	p := &estimate.Pieces[0]
	trueOffset := clocks[1].shows(time.Duration(p.Time)) - p.Time
	if !p.DoubtKnown {
		sum.vague++
	} else if !p.Consistent || max(p.Offset-trueOffset, trueOffset-p.Offset) > p.OffsetDoubt || math.Abs(p.Drift-clocks[1].drift) > p.DriftDoubt+1e-9 {
		t.Errorf("%s: offset %d ± %d ns, is %d; drift %g ± %g, is %g; %d packets, %d left out, consistent %v", name, p.Offset, p.OffsetDoubt, trueOffset,
			p.Drift, p.DriftDoubt, clocks[1].drift, p.Packets, p.Contradicting, p.Consistent)
	}
	var keys [2][]string
	var all [2]map[string]int
	for i := range keys {
		keys[i], all[i] = transmissions(run.points[i])
	}
	numbers := [2][]int{an, bn}
	for i := range result.Directions {
		d := &result.Directions[i]
		sum.both += int(d.Both)
		for point := range d.Only {
			o := d.Only[point]
			sum.lost, sum.missed = sum.lost+int(o.Lost), sum.missed+int(o.Missed)
			sum.undetermined, sum.ambiguous = sum.undetermined+int(o.Undetermined), sum.ambiguous+int(o.Ambiguous)
			sum.alone += int(o.Sum())
		}
		if up, known := map[merge.Order]int{merge.FirstPoint: 0, merge.SecondPoint: 1}[d.Order]; known && d.Both > 0 {
			gone := uint64(0)
			for _, n := range numbers[up] {
				if _, there := all[1-up][keys[up][n]]; !there && run.lane(up, n) == (lane{d.Flow, d.Path, d.CNPs}) {
					gone++
				}
			}
			if anonymous { // one that was lost and one that the first capture missed may look like one that both saw
				gone = min(gone, max(d.Lost[1], gone-missedAt(run, up, numbers[up], d)))
			}
			if gone < d.Lost[0] || gone > d.Lost[1] {
				t.Errorf("%s: %d lost between the points, said to be %d to %d", name, gone, d.Lost[0], d.Lost[1])
			}
		}
		for _, e := range d.Examples {
			key := keys[e.Point][numbers[e.Point][e.Number-1]]
			_, there := all[1-e.Point][key]
			if (e.Fate == merge.FateLost && there) || (e.Fate == merge.FateMissed && !there) {
				t.Errorf("%s, %v: packet %d of %d, PSN %d, is said to be %v, passed the other point: %v", name, d.Order, e.Number, e.Point, e.Sequence, e.Fate, there)
			}
		}
	}
}
