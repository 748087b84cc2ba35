package judge_test

import (
	"flag"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/metaroce"
	"github.com/rocelens/rocelens/replay/metaroce/scenario"
	"github.com/rocelens/rocelens/replay/metaroce/simulation"
)

var (
	connections = flag.Int("connections", 320, "conforming connections to be judged")
	oneSeed     = flag.Uint64("seed", 0, "judge the one network with this seed, and print what it shows")
	firstSeed   = flag.Uint64("first", 1, "seed of the first network; the others have those that follow")
)

var tastes = []scenario.Taste{
	{},
	{Drop: 0.001},
	{Drop: 0.01},
	{From: 300 * time.Microsecond},
	{OneWay: true},
	{Join: 250 * time.Microsecond, Drop: 0.003},
	{Drop: 0.0005, Burst: 30},
	{Outage: [2]time.Duration{200 * time.Microsecond, 350 * time.Microsecond}},
	{Clock: noClock},
	{Clock: setClock},
	{Clock: coarseClock},
}

func noClock(time.Duration) (time.Duration, bool) { return 0, false }

// setClock is set back, and later forward.
func setClock(now time.Duration) (time.Duration, bool) {
	switch {
	case now > 2*time.Millisecond:
		return now + 3*time.Second, true
	case now > 400*time.Microsecond:
		return now - 5*time.Millisecond, true
	}
	return now, true
}

// coarseClock counts microseconds, and is 100 ppm fast.
func coarseClock(now time.Duration) (time.Duration, bool) {
	return now.Truncate(time.Microsecond) + now/10_000, true
}

// Whatever the network does, and whatever the capture misses: no conforming connection diverges.
func TestNoConformingConnectionDiverges(t *testing.T) {
	if *oneSeed != 0 {
		conforming(t, *oneSeed, &census{}, true)
		return
	}
	if os.Getenv("ROCELENS_RACE") != "" {
		*connections = min(*connections, 64) // the detector makes each run ten times slower
	}
	total := census{}
	for seed := *firstSeed; total.connections < *connections && !t.Failed(); seed++ {
		conforming(t, seed, &total, false)
	}
	undetermined, all := 0.0, 0.0 // there are more than a tally counts
	for _, n := range total.rules {
		undetermined += float64(n.Undetermined)
		all += float64(n.Conforms) + float64(n.Diverges) + float64(n.Undetermined)
	}
	t.Logf("%d connections, %d captures of them, %d packets judged; captures with anything undetermined: %d; %.4f %% of %.0f verdicts undetermined",
		total.connections, total.captures, total.packets, total.undetermined, 100*undetermined/all, all)
	for r := range finding.Rule(finding.RuleCount) {
		if n := total.rules[r]; n != (finding.Tally{}) {
			t.Logf("%-36s conforms %9d  diverges %d  undetermined %d", r, n.Conforms, n.Diverges, n.Undetermined)
		} else if r.MetaRoCE() {
			t.Logf("%-36s never applied", r)
		}
	}
}

// These were accused once: two paths failed one after the other, and what the second passed on was seen first; copies of a
// packet were refused one by one, and the sender counted from the first NAK.
func TestConnectionsThatWereAccusedOnce(t *testing.T) {
	for _, seed := range []uint64{5000864, 88001090} {
		conforming(t, seed, &census{}, false)
	}
}

type census struct {
	connections, captures, undetermined int
	packets                             uint64
	rules                               [finding.RuleCount]finding.Tally
}

// conforming runs one network and judges what passes.
func conforming(t *testing.T, seed uint64, total *census, trace bool) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0x6a75646765))
	senders := 1
	if r.IntN(8) == 0 {
		senders = 8
	}
	parameters := mr0.DefaultParameters()
	parameters.Paths = 1 + r.IntN(10)
	if r.IntN(4) == 0 {
		parameters.ACKEvery = 1 + r.IntN(24)
	}
	if r.IntN(3) == 0 {
		parameters.RTOMin = time.Duration(200+r.IntN(1500)) * time.Microsecond
		parameters.RTOMax = time.Duration(5+r.IntN(100)) * time.Millisecond
		parameters.RTOInitial = time.Duration(1+r.IntN(12)) * time.Millisecond
		parameters.PathFailedAfter = 1 + r.IntN(5)
		parameters.ACKTimer = time.Duration(5+r.IntN(80)) * time.Microsecond
		parameters.InitialWindow = 1 + r.IntN(200)
		parameters.MultiplicativeDecrease = 0.3 + 0.6*r.Float64()
		parameters.AdditiveIncrease = 1 + r.IntN(4)
		parameters.HintActiveWindow = time.Duration(50+r.IntN(400)) * time.Microsecond
		parameters.HintTolerance = 0.02 + 0.2*r.Float64()
		parameters.HintTarget = 0.5 + 0.5*r.Float64()
	}
	if r.IntN(4) == 0 {
		parameters.MaxWindow = 1 + r.IntN(40)
	}
	route := simulation.Link{Rate: 1e9 * float64(4+r.IntN(100))}
	up, down := simulation.Link{Rate: 100e9}, simulation.Link{Rate: 100e9}
	lossy := []*simulation.Link{&route, &up, &down}
	for _, l := range lossy {
		switch r.IntN(4) {
		case 0:
			l.Loss = 0.1 * r.Float64()
		case 1:
			l.Loss = 0.005 * r.Float64()
		default:
		}
		if r.IntN(4) == 0 {
			l.Duplicate = 0.1 * r.Float64()
		}
		if r.IntN(8) == 0 {
			l.Late = 0.05 * r.Float64()
		}
	}
	if r.IntN(2) == 0 {
		down.Rate = 1e9 * float64(2+r.IntN(20))
		down.Queue = 10_000 + r.IntN(200_000)
		down.Mark = down.Queue / 3
	}
	mtu := 256 << r.IntN(3)
	planes, routes := 1+r.IntN(3), 1+r.IntN(5)
	w, err := scenario.New(scenario.Config{
		Seed: seed, Senders: senders, Planes: planes, Routes: routes, Route: route, Up: up, Down: down, Parameters: parameters, Tastes: tastes,
		Change: func(_ int, c *metaroce.Config) {
			c.MTU = mtu << r.IntN(2)
			if r.IntN(2) == 0 {
				c.LinkRate = uint32(1000 + r.IntN(100_000))
			}
			c.TailProbe = r.IntN(3) == 0
			c.ConnectionTimeout = time.Hour
			c.RetryAfter = time.Duration(20+r.IntN(300)) * time.Microsecond
			c.MaxReads = 1 + r.IntN(8)
			c.MessageWindow = 1 + r.IntN(100)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range w.Numbers {
		if trace {
			w.Numbers[i] = map[uint64]string{}
		}
	}
	if r.IntN(3) == 0 {
		for _, h := range w.Hosts {
			h.Backlog = time.Duration(r.IntN(20)) * time.Microsecond
		}
	}
	for i := range w.Net.Planes {
		for _, l := range w.Net.Planes[i].Routes {
			l.Delay = time.Duration(r.IntN(60_000))
		}
	}
	if w.Connect() {
		work(w, r)
	}
	w.Close()
	if trace {
		dump(t, w, scenario.NearSender)
	}
	for i := range w.Taps {
		total.connections++
		for place := range scenario.Places {
			for k, tap := range w.Taps[i][place] {
				total.captures++
				total.packets += tap.Report.Directions[0].Packets + tap.Report.Directions[1].Packets
				for rule := range tap.Report.Tallies {
					n := tap.Report.Tallies[rule]
					total.rules[rule].Conforms += n.Conforms
					total.rules[rule].Diverges += n.Diverges
					total.rules[rule].Undetermined += n.Undetermined
				}
				worst := tap.Report.Verdict()
				if worst == finding.Undetermined {
					total.undetermined++
				}
				if worst != finding.Diverges {
					continue
				}
				for _, f := range tap.Findings {
					if f.Verdict == finding.Diverges {
						t.Errorf("seed %d, sender %d of %d, %s, taste %d: %s", seed, i, senders, scenario.PlaceNames[place], k, w.Explain(place, f))
						break
					}
				}
			}
		}
	}
}

// work posts work on all connections, breaks routes, and ends.
func work(w *scenario.World, r *rand.Rand) {
	want := [2]int{}
	packets := 200 + r.IntN(1500)
	for i := range w.Connections {
		streams := 1 + r.IntN(4)
		both := r.IntN(3) == 0
		for n := 0; n < packets/len(w.Connections); {
			n += w.PostOne(r, i, uint16(r.IntN(streams)), false, &want)
			if both {
				n += w.PostOne(r, i, uint16(r.IntN(streams)), true, &want)
			}
			if r.IntN(30) == 0 {
				w.Run(time.Duration(r.IntN(100_000)), nil)
			}
		}
	}
	if r.IntN(3) == 0 {
		w.Run(time.Duration(r.IntN(300_000)), nil)
		breakRoutes(w, r)
		w.Run(time.Duration(r.IntN(20_000_000)), nil)
		breakRoutes(w, r)
	}
	done := func() bool { return w.Done[0]+w.Done[1] >= want[0]+want[1] }
	w.Run(time.Duration(50+r.IntN(400))*time.Millisecond, done)
	if r.IntN(2) == 0 {
		for i, c := range w.Connections {
			c.Disconnect(w.Net.Now)
			w.Net.Wake(w.Hosts[i])
		}
		w.Run(time.Second, nil)
	}
}

// breakRoutes takes routes down and up, but never all of a plane, and sometimes a plane, but not the first.
func breakRoutes(w *scenario.World, r *rand.Rand) {
	for i := range w.Net.Planes {
		routes := w.Net.Planes[i].Routes
		dead := i > 0 && r.IntN(4) == 0
		alive := r.IntN(len(routes))
		for j, l := range routes {
			l.Down = dead || j != alive && r.IntN(3) == 0
		}
	}
}
