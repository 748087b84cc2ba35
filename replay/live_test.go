package replay_test

import (
	"math/rand/v2"
	"testing"

	"github.com/rocelens/rocelens/replay"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/roce/scenario"
)

// interrupted runs a seeded scenario of which the capture loses whole runs of packets, and says so.
func interrupted(t *testing.T, seed uint64) *watcher {
	t.Helper()
	c, _ := scenarioOf(seed)
	c.Messages = 120
	w := newWatcher(seed, 0)
	random := rand.New(rand.NewPCG(seed, 17))
	until, losing := 300, false
	c.Tap = func(f scenario.Frame) {
		if until--; until < 0 {
			if losing = !losing; losing {
				until = 5 + random.IntN(200)
			} else {
				until = 100 + random.IntN(600)
				w.engine.Lost()
			}
		}
		if !losing {
			w.tap(f)
		}
	}
	r, err := scenario.New(c)
	if err != nil {
		t.Fatal(err)
	}
	w.expect(r.Connections)
	r.Go()
	w.engine.Flush()
	return w
}

// A capture that loses packets and says where accuses nobody who keeps the rules.
func TestGapsOfTheCaptureAccuseNobody(t *testing.T) {
	gaps, seeds := uint64(0), uint64(12)
	if underRace() {
		seeds = 3
	}
	for seed := range seeds {
		w := interrupted(t, seed)
		gaps += w.engine.Totals().Gaps
		for i := range w.findings {
			if f := &w.findings[i]; f.Verdict == finding.Diverges {
				t.Errorf("seed %d: %s: %s", seed, f.Rule, f.Sentence)
			}
		}
	}
	if gaps < 8*seeds {
		t.Errorf("%d gaps show nothing", gaps)
	}
}

// Memory of judges stays within its limit, whatever the connections, and silent ones are forgotten.
func TestJudgesKeepToTheirMemory(t *testing.T) {
	w := run(t, 3, 9, replay.Config{MaxBytes: 64 << 10}, true)
	if w.engine.Totals().Evicted == 0 {
		t.Error("nothing was reported early")
	}
	for i := range w.findings {
		if f := &w.findings[i]; f.Verdict == finding.Diverges {
			t.Errorf("%s: %s", f.Rule, f.Sentence)
		}
	}
	c, _ := scenarioOf(3)
	quiet := newWatcher(3, 0)
	c.Tap = quiet.tap
	r, err := scenario.New(c)
	if err != nil {
		t.Fatal(err)
	}
	quiet.expect(r.Connections)
	r.Go()
	quiet.engine.Expire(1 << 62)
	if got := len(quiet.connections); got != c.Connections {
		t.Errorf("%d of %d connections were reported when they had been silent", got, c.Connections)
	}
}
