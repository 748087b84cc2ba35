package injector

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/finding"
	roce "github.com/rocelens/rocelens/replay/injector"
	"github.com/rocelens/rocelens/replay/metaroce"
	"github.com/rocelens/rocelens/replay/metaroce/scenario"
	"github.com/rocelens/rocelens/replay/metaroce/simulation"
)

// Deviation is a way to break one rule.
type Deviation struct {
	Rule    finding.Rule
	load    func(g *rig) // nil: mixed
	config  func(i int, c *metaroce.Config)
	prepare func(g *rig)
}

// Deviations has one for each rule of MetaRoCE, in the order of the catalogue.
func Deviations() []Deviation {
	return slices.Concat(packetDeviations(), connectingDeviations(), pathDeviations(), recoveryDeviations(),
		messageDeviations(), ackDeviations(), rateDeviations(), refusalDeviations())
}

// Outcomes are by place of the capture, see [scenario.NearSender], and by share that it misses.
type Outcomes [scenario.Places][]roce.Outcome

// Measure runs connections with a deviation, of a seed and those that follow it, each seen from all places by captures
// that miss shares of the packets. The first share must be 0.
func (d *Deviation) Measure(shares []float64, seed uint64, runs int) (Outcomes, error) {
	var all Outcomes
	for place := range all {
		all[place] = make([]roce.Outcome, len(shares))
	}
	for i := range runs {
		w, err := d.run(shares, seed+uint64(i))
		if err != nil {
			return all, err
		}
		for place := range all {
			taps := w.Taps[0][place]
			whole := d.seen(taps[0])
			for k, tap := range taps {
				all[place][k].Add(d.Rule, whole, d.seen(tap))
			}
		}
	}
	return all, nil
}

func (d *Deviation) seen(t *scenario.Tap) *roce.Seen {
	s := &roce.Seen{Tallies: &t.Report.Tallies, Missed: t.Missed}
	for _, f := range t.Findings {
		s.Found(d.Rule, f)
	}
	return s
}

func (d *Deviation) run(shares []float64, seed uint64) (*scenario.World, error) {
	parameters := mr0.DefaultParameters()
	parameters.Paths = 4
	c := scenario.Config{
		Seed: seed, Senders: 1, Planes: 1, Routes: 4, Up: simulation.Link{Rate: 25e9}, Down: simulation.Link{Rate: 25e9}, Parameters: parameters,
		Change: func(i int, c *metaroce.Config) {
			c.MTU, c.LinkRate, c.ConnectionTimeout = 512, 25_000, time.Hour
			if d.config != nil {
				d.config(i, c)
			}
		},
	}
	for _, share := range shares {
		c.Tastes = append(c.Tastes, scenario.Taste{Drop: share})
	}
	w, err := scenario.New(c)
	if err != nil {
		return nil, err
	}
	g := &rig{
		World: w, r: rand.New(rand.NewPCG(seed, 77)), s: w.Nodes[0], d: w.Nodes[1], //nolint:gosec // repeats by its seed
		originals: map[string][]byte{}, ports: map[uint8]uint16{},
	}
	for i := range w.Net.Planes {
		for _, l := range w.Net.Planes[i].Routes {
			l.Delay = time.Duration(8_000 + g.r.IntN(8_000))
		}
	}
	d.prepare(g)
	for _, h := range []*scenario.Host{g.s, g.d} {
		if h.In == nil {
			h.In = func(_ time.Duration, f *simulation.Frame, _ *mr0.Packet) bool { g.undisguise(f); return true }
		}
	}
	if !w.Connect() {
		return nil, fmt.Errorf("%s, seed %d: not connected", d.Rule, seed)
	}
	if d.load == nil {
		mixed(g)
	} else {
		d.load(g)
	}
	w.Run(5*time.Millisecond, nil)
	w.Close()
	return w, nil
}
