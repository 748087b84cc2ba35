package injector

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/replay"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/roce/scenario"
)

// Outcome is what replay said of connections with one deviation.
type Outcome struct {
	Connections  int // in which the endpoint deviated
	Convicted    int // of these: the rule diverges
	Undetermined int // of these: it does not, but is undetermined
	Verdicts     uint64
	Undecided    uint64                     // of the verdicts of all rules
	Others       [finding.RoCERuleCount]int // connections in which another rule diverges
}

// Recall is the share of the connections in which the rule diverges.
func (o *Outcome) Recall() float64 { return float64(o.Convicted) / float64(max(1, o.Connections)) }

// Measure runs connections with a deviation, of a seed and those that follow it, seen from a vantage by a capture that
// misses a share of the packets.
func (d *Deviation) Measure(v scenario.Vantage, missing float64, seed uint64, runs int) (Outcome, error) {
	var o Outcome
	for i := range runs {
		c := scenario.DefaultConfig()
		c.Seed, c.Vantage, c.Messages, c.MaxMessage = seed+uint64(i), v, 150, 8<<10
		g := newRig(&c)
		d.set(g)
		w := &watcher{random: rand.New(rand.NewPCG(c.Seed, 5)), missing: missing} //nolint:gosec // repeats by its seed
		w.engine = replay.New(replay.Config{}, w)
		c.Tap = w.tap
		run, err := scenario.New(c)
		if err != nil {
			return o, err
		}
		x := run.Connections[0]
		w.flows[0], w.flows[1] = flowID(x.Server.Address.As16(), x.ServerQP.QPN), flowID(x.Client.Address.As16(), x.ClientQP.QPN)
		run.Go()
		w.engine.Flush()
		if g.count > 0 {
			o.add(d.Rule, w)
		}
	}
	return o, nil
}

func (o *Outcome) add(rule finding.Rule, w *watcher) {
	o.Connections++
	switch t := w.tallies[rule]; {
	case t.Diverges > 0:
		o.Convicted++
	case t.Undetermined > 0:
		o.Undetermined++
	}
	for r := range finding.Rule(finding.RoCERuleCount) {
		t := w.tallies[r]
		o.Undecided += uint64(t.Undetermined)
		o.Verdicts += uint64(t.Undetermined) + uint64(t.Diverges) + uint64(t.Conforms)
		if r != rule && t.Diverges > 0 {
			o.Others[r]++
		}
	}
}

// watcher feeds an engine with what a tap sees, and sums up what it finds.
type watcher struct {
	engine  *replay.Engine
	random  *rand.Rand
	missing float64
	flows   [2]uint64
	number  uint64
	packet  dissector.Packet
	tallies [finding.RuleCount]finding.Tally
}

// Finding is counted by its connection.
func (w *watcher) Finding(*finding.Finding) {}

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

// Merge adds another outcome.
func (o *Outcome) Merge(x *Outcome) {
	o.Connections += x.Connections
	o.Convicted += x.Convicted
	o.Undetermined += x.Undetermined
	o.Verdicts += x.Verdicts
	o.Undecided += x.Undecided
	for i := range o.Others {
		o.Others[i] += x.Others[i]
	}
}

// UndecidedShare is the share of undetermined verdicts, in %.
func (o *Outcome) UndecidedShare() float64 {
	return 100 * float64(o.Undecided) / float64(max(1, o.Verdicts))
}
