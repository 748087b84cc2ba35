package replay_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/replay"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/roce/scenario"
)

// run feeds one seeded scenario to a watcher, which may not be told which directions belong together.
func run(t *testing.T, seed uint64, connections int, config replay.Config, told bool) *watcher {
	t.Helper()
	c, missing := scenarioOf(seed)
	c.Connections, c.BothWays = connections, true
	w := newWatcher(seed, missing)
	w.engine = replay.New(config, w)
	c.Tap = w.tap
	r, err := scenario.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if told {
		w.expect(r.Connections)
	}
	r.Go()
	if !told {
		w.expect(r.Connections)
		for flow, partner := range w.partners {
			if flow < partner {
				w.engine.Pair(flow, partner, "late")
			}
		}
	}
	w.engine.Flush()
	return w
}

// Directions that are paired only when all was seen are judged as if they had been known from the first packet.
func TestLatePairsAreJudgedInOrder(t *testing.T) {
	roomy := replay.Config{MaxWaiting: 1 << 20, MaxWaitingEach: 1 << 20}
	for seed := range uint64(8) {
		early, late := run(t, seed, 1, roomy, true), run(t, seed, 1, roomy, false)
		if diff := cmp.Diff(early.findings, late.findings); diff != "" {
			t.Errorf("seed %d: %s", seed, diff)
		}
		if len(late.connections) != 1 || late.connections[0].OneWay || late.connections[0].Tallies != early.connections[0].Tallies {
			t.Errorf("seed %d: %d connections", seed, len(late.connections))
		}
	}
}

// With room for few, directions are judged alone, or joined later, and connections are reported early. All packets are
// accounted for, and nobody is accused for want of room.
func TestLittleRoom(t *testing.T) {
	seeds := uint64(8)
	if underRace() {
		seeds = 1
	}
	for name, config := range map[string]replay.Config{
		"few packets wait": {MaxWaitingEach: 4},
		"none waits":       {MaxWaiting: 1},
		"few connections":  {MaxConnections: 3},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range seeds {
				for _, told := range []bool{true, false} {
					w := run(t, seed, 9, config, told)
					for i := range w.findings {
						if f := &w.findings[i]; f.Verdict == finding.Diverges {
							t.Errorf("seed %d: %s: %s", seed, f.Rule, f.Sentence)
						}
					}
					var packets uint64
					for i := range w.connections {
						for k := range w.connections[i].Directions {
							packets += w.connections[i].Directions[k].Packets
						}
					}
					totals := w.engine.Totals()
					if totals.Connections != uint64(len(w.connections)) || packets+totals.Unjudged != totals.Packets {
						t.Errorf("seed %d: %d connections with %d packets were reported, of %d with %d", seed,
							len(w.connections), packets, totals.Connections, totals.Packets)
					}
					if config.MaxConnections == 3 && totals.Evicted == 0 {
						t.Errorf("seed %d: nothing was reported early", seed)
					}
				}
			}
		})
	}
}
