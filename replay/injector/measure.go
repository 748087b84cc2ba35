package injector

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/replay"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/roce/scenario"
)

// Measure runs connections with a deviation, of a seed and those that follow it, seen from a vantage by captures that
// miss shares of the packets, and tells what comes of each. The first share must be 0.
func (d *Deviation) Measure(v scenario.Vantage, shares []float64, seed uint64, runs int) ([]Outcome, error) {
	all := make([]Outcome, len(shares))
	for i := range runs {
		c := scenario.DefaultConfig()
		c.Seed, c.Vantage, c.Messages, c.MaxMessage = seed+uint64(i), v, 150, 8<<10
		g := newRig(&c)
		d.set(g)
		watchers := make([]*watcher, len(shares))
		for k, share := range shares {
			w := &watcher{rule: d.Rule, random: rand.New(rand.NewPCG(c.Seed, 5+uint64(k))), missing: share} //nolint:gosec // repeats by its seed
			w.engine, w.seen = replay.New(replay.Config{}, w), Seen{Tallies: &w.tallies, Missed: map[uint64]bool{}}
			watchers[k] = w
		}
		c.Tap = func(f scenario.Frame) {
			for _, w := range watchers {
				w.tap(f)
			}
		}
		run, err := scenario.New(c)
		if err != nil {
			return all, err
		}
		x := run.Connections[0]
		for _, w := range watchers {
			w.flows[0], w.flows[1] = flowID(x.Server.Address.As16(), x.ServerQP.QPN), flowID(x.Client.Address.As16(), x.ClientQP.QPN)
		}
		run.Go()
		for _, w := range watchers {
			w.engine.Flush()
		}
		if g.count == 0 {
			continue
		}
		for k, w := range watchers {
			all[k].Add(d.Rule, &watchers[0].seen, &w.seen)
		}
	}
	return all, nil
}

// watcher feeds an engine with what a tap sees, and sums up what it finds.
type watcher struct {
	engine  *replay.Engine
	rule    finding.Rule
	seen    Seen
	random  *rand.Rand
	missing float64
	flows   [2]uint64
	number  uint64
	packet  dissector.Packet
	tallies [finding.RuleCount]finding.Tally
}

// Finding is counted by its connection; what proves it is kept.
func (w *watcher) Finding(f *finding.Finding) { w.seen.Found(w.rule, f) }

// Attempt is of no interest.
func (w *watcher) Attempt(*finding.Attempt) {}

// Connection adds up what was said of a connection.
func (w *watcher) Connection(c *finding.Connection) {
	for i := range c.Tallies {
		w.tallies[i].Merge(c.Tallies[i])
	}
}

// flowID names a direction by its destination.
func flowID(address [16]byte, qp uint32) uint64 {
	return binary.BigEndian.Uint64(address[8:])<<24 | uint64(qp) | 1<<63
}

func (w *watcher) tap(f scenario.Frame) {
	w.number++
	if w.random.Float64() < w.missing {
		w.seen.Missed[w.number] = true
		return
	}
	p := &w.packet
	err := dissector.Decode(f.Data, dissector.Meta{
		LinkType: dissector.LinkTypeEthernet, Number: w.number, HasTime: true, Time: int64(f.Time), OriginalLength: uint32(len(f.Data)),
	}, p)
	flow := flowID(p.Network.Destination, p.BTH.DestinationQP)
	s := finding.Sighting{Packet: p, Err: err, ICRC: dissector.VerifyICRC(p), Flow: flow, Pairing: "known"}
	switch flow {
	case w.flows[0]:
		s.Partner = w.flows[1]
	case w.flows[1]:
		s.Partner = w.flows[0]
	}
	w.engine.Observe(&s)
}
