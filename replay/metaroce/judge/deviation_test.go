package judge_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/metaroce"
	"github.com/rocelens/rocelens/replay/metaroce/simulation"
)

var (
	deviationRuns = flag.Int("deviations", 2, "runs of each deviation")
	onlyDeviation = flag.String("deviation", "", "run only this one")
)

// rig is a sender and a receiver, one of which deviates.
type rig struct {
	*world
	r         *rand.Rand
	s, d      *host // sender and receiver of most of the data
	originals map[string][]byte
	dropped   [256]uint32 // ACKs that were held back, by path
	ports     map[uint8]uint16
	extra     uint32
}

// edit is a frame with another packet in it.
func edit(f *simulation.Frame, change func(m *mr0.Packet)) simulation.Frame {
	var m mr0.Packet
	if mr0.Decode(f.Payload, &m) != nil {
		panic("cannot be decoded")
	}
	change(&m)
	return rewritten(f, &m)
}

// disguised is a frame that the capture sees with another packet in it; the peer gets what was there.
func (g *rig) disguised(f *simulation.Frame, change func(m *mr0.Packet)) simulation.Frame {
	seen := edit(f, change)
	g.originals[string(seen.Payload)] = append([]byte(nil), f.Payload...)
	return seen
}

// undisguise gives a peer what was there.
func (g *rig) undisguise(f *simulation.Frame) {
	if original, ok := g.originals[string(f.Payload)]; ok {
		f.Payload = append(f.Payload[:0], original...)
	}
}

type outgoing = func(now time.Duration, f *simulation.Frame, m *mr0.Packet) []simulation.Frame

// each alters what a host sends.
func each(change func(f *simulation.Frame, m *mr0.Packet) simulation.Frame) outgoing {
	return func(_ time.Duration, f *simulation.Frame, m *mr0.Packet) []simulation.Frame {
		return []simulation.Frame{kept2(change(f, m))}
	}
}

func kept2(f simulation.Frame) simulation.Frame { return kept(&f) }

// acks disguises ACKs of the receiver.
func (g *rig) acks(change func(m *mr0.Packet)) {
	g.d.out = each(func(f *simulation.Frame, m *mr0.Packet) simulation.Frame {
		if m.CH.Type != mr0.TypeACK {
			return *f
		}
		return g.disguised(f, change)
	})
}

// data disguises sequenced packets of the sender.
func (g *rig) data(change func(m *mr0.Packet) bool) {
	g.s.out = each(func(f *simulation.Frame, m *mr0.Packet) simulation.Frame {
		if !m.CH.Type.Sequenced() || !change(m) {
			return *f
		}
		return g.disguised(f, func(n *mr0.Packet) { *n = *m })
	})
}

// handshake disguises what an end says of itself.
func (g *rig) handshake(h *host, change func(c *mr0.CONN)) {
	before := h.out
	h.out = func(now time.Duration, f *simulation.Frame, m *mr0.Packet) []simulation.Frame {
		if m.Has&mr0.HasCONN != 0 {
			return []simulation.Frame{g.disguised(f, func(n *mr0.Packet) { change(&n.CONN) })}
		}
		if before != nil {
			return before(now, f, m)
		}
		return []simulation.Frame{kept(f)}
	}
}

// lose drops a share of the sequenced packets at the receiver, behind every capture.
func (g *rig) lose(share float64) {
	g.d.in = func(_ time.Duration, f *simulation.Frame, m *mr0.Packet) bool {
		g.undisguise(f)
		return !m.CH.Type.Sequenced() || g.r.Float64() >= share
	}
}

// unasked takes AR from what the receiver gets.
func (g *rig) unasked(share float64) {
	g.d.in = func(_ time.Duration, f *simulation.Frame, m *mr0.Packet) bool {
		g.undisguise(f)
		if m.CH.Type.Sequenced() {
			*f = edit(f, func(n *mr0.Packet) { n.CH.Flags &^= mr0.FlagAR })
			return g.r.Float64() >= share
		}
		return true
	}
}

// withhold keeps most ACKs with that trigger back, and numbers the others as if there had been none.
func (g *rig) withhold(trigger mr0.ACKTrigger) {
	g.d.out = func(_ time.Duration, f *simulation.Frame, m *mr0.Packet) []simulation.Frame {
		if m.CH.Type != mr0.TypeACK {
			return []simulation.Frame{kept(f)}
		}
		if m.ACKH.Trigger == trigger && g.r.Float64() < 0.8 {
			g.dropped[m.CH.PathID]++
			return nil
		}
		return []simulation.Frame{edit(f, func(n *mr0.Packet) { n.CH.PSN -= g.dropped[n.CH.PathID] })}
	}
}

// addPath lets the capture see copies of data on a path that the endpoints do not have.
func (g *rig) addPath(wanted func(m *mr0.Packet) bool, change func(n *mr0.Packet)) {
	g.s.out = func(now time.Duration, f *simulation.Frame, m *mr0.Packet) []simulation.Frame {
		if m.CH.Type.Sequenced() && wanted(m) {
			c := edit(f, func(n *mr0.Packet) {
				change(n)
				n.CH.PathID = 4
				n.CH.PSN = mr0.PathInitialPSN(g.connections[0].Local().InitialPSN, 4) + g.extra
			})
			c.Source = netipPort(c, 40000)
			c = edit(&c, func(*mr0.Packet) {})
			g.extra++
			g.s.delay(now+60*time.Microsecond, c)
		}
		return []simulation.Frame{kept(f)}
	}
	g.handshake(g.s, func(c *mr0.CONN) { c.PathCount = 5 })
}

type deviation struct {
	rule    finding.Rule
	load    func(g *rig) // nil: mixed
	config  func(i int, c *metaroce.Config)
	prepare func(g *rig)
	route   simulation.Link
}

func every(n int) func() bool {
	i := 0
	return func() bool { i++; return i%n == 0 }
}

// mixed is all operations in both directions.
func mixed(g *rig) {
	want := [2]int{}
	for n := 0; n < 3000; {
		n += g.postOne(g.r, 0, uint16(g.r.IntN(3)), false, &want)
		if g.r.IntN(3) == 0 {
			n += g.postOne(g.r, 0, uint16(g.r.IntN(3)), true, &want)
		}
		if g.r.IntN(5) == 0 {
			g.run(time.Duration(g.r.IntN(60_000)), nil)
		}
	}
	for _, f := range g.later {
		f()
	}
	g.run(40*time.Millisecond, func() bool { return g.done[0]+g.done[1] >= want[0]+want[1] })
}

// paced is one WRITE of a packet every 20 µs.
func paced(g *rig) { g.pace(1200, 20*time.Microsecond, metaroce.OperationWrite, 400) }

// bulk is long WRITEs.
func bulk(g *rig) { g.pace(20, 0, metaroce.OperationWrite, 200*512) }

// long is more of them.
func long(g *rig) { g.pace(60, 0, metaroce.OperationWrite, 200*512) }

// brisk is WRITEs of a few packets that never stop.
func brisk(g *rig) { g.pace(500, 10*time.Microsecond, metaroce.OperationWrite, 4*512) }

func (g *rig) pace(n int, apart time.Duration, o metaroce.Operation, size int) {
	for i := range n {
		s, err := g.connections[0].Stream(uint16(i % 3))
		if err != nil {
			return
		}
		if o == metaroce.OperationSend {
			if to, err := g.accepted[0].Stream(uint16(i % 3)); err == nil {
				_ = to.PostReceive(1, make([]byte, size))
			}
		}
		_ = s.Post(metaroce.WorkRequest{Operation: o, Data: make([]byte, size), RemoteAddress: 1 << 33, RKey: 1})
		g.net.Wake(g.hosts[0])
		g.run(apart, nil)
	}
	if n > 1 {
		g.run(60*time.Millisecond, nil)
	}
}

// deviate runs a deviation and tells how many captures show it, by what they miss: diverges, undetermined, all.
func deviate(t *testing.T, d *deviation, seed uint64) (result [3][3]int) {
	t.Helper()
	parameters := mr0.DefaultParameters()
	parameters.Paths = 4
	up, down := simulation.Link{Rate: 25e9}, simulation.Link{Rate: 25e9}
	route := d.route
	w := newWorld(t, seed, 1, 1, 4, route, up, down, parameters, func(i int, c *metaroce.Config) {
		c.MTU = 512
		c.LinkRate = 25_000
		c.ConnectionTimeout = time.Hour
		if d.config != nil {
			d.config(i, c)
		}
	}, []taste{{}, {drop: 0.001}, {drop: 0.01}})
	g := &rig{world: w, r: rand.New(rand.NewPCG(seed, 77)), s: w.nodes[0], d: w.nodes[1], originals: map[string][]byte{}, ports: map[uint8]uint16{}}
	for i := range w.net.Planes {
		for _, l := range w.net.Planes[i].Routes {
			l.Delay = time.Duration(8_000 + g.r.IntN(8_000))
		}
	}
	d.prepare(g)
	for _, h := range []*host{g.s, g.d} {
		if h.in == nil {
			h.in = func(_ time.Duration, f *simulation.Frame, _ *mr0.Packet) bool { g.undisguise(f); return true }
		}
	}
	if !w.connect() {
		t.Fatalf("%s, seed %d: not connected", d.rule, seed)
	}
	if d.load == nil {
		mixed(g)
	} else {
		d.load(g)
	}
	w.run(5*time.Millisecond, nil)
	w.close()
	for place := range places {
		for k, tap := range w.taps[0][place] {
			n := tap.report.Tallies[d.rule]
			result[k][2]++
			switch {
			case n.Diverges > 0:
				result[k][0]++
			case n.Undetermined > 0:
				result[k][1]++
			}
			if *onlyDeviation != "" {
				t.Logf("%s, drop %v: %+v", placeNames[place], tap.drop, n)
				for _, f := range tap.findings {
					if f.Verdict != finding.Conforms && k == 0 {
						t.Logf("    %s", w.explain(place, f))
					}
				}
			}
		}
	}
	return result
}

// Each deviation is found wherever the capture is made.
func TestEachDeviationIsFound(t *testing.T) {
	tried := map[finding.Rule]bool{}
	for i := range deviations {
		d := &deviations[i]
		tried[d.rule] = true
		if *onlyDeviation != "" && d.rule.String() != *onlyDeviation {
			continue
		}
		var sum [3][3]int
		for seed := range uint64(*deviationRuns) {
			one := deviate(t, d, seed+1)
			for k := range sum {
				for j := range sum[k] {
					sum[k][j] += one[k][j]
				}
			}
		}
		var text strings.Builder
		fmt.Fprintf(&text, "%-36s", d.rule)
		for k, missing := range []string{"0", "0.1", "1"} {
			fmt.Fprintf(&text, "  %4s %% missing: %3d of %3d, %2d undetermined", missing, sum[k][0], sum[k][2], sum[k][1])
		}
		t.Log(text.String())
		if 100*sum[0][0] < 99*sum[0][2] {
			t.Errorf("%s: found in %d of %d captures that miss nothing", d.rule, sum[0][0], sum[0][2])
		}
	}
	for r := range finding.Rule(finding.RuleCount) {
		if r.MetaRoCE() && !tried[r] {
			t.Errorf("%s: no deviation", r)
		}
	}
}
