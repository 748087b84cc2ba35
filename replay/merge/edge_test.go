package merge_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rocelens/rocelens/replay/merge"
	"github.com/rocelens/rocelens/replay/roce/scenario"
)

// longRun is a run with losses between two points, which lasts some milliseconds.
func longRun(t *testing.T, seed uint64) *truth {
	t.Helper()
	c := scenario.DefaultConfig()
	c.Seed, c.Connections, c.Messages, c.Mix, c.Loss = seed, 2, 300, scenario.Writes, 0.005
	return runTwice(t, c, [2]scenario.Vantage{scenario.NearRequester, scenario.NearResponder})
}

func align(a, b []merge.Sighting) (*merge.Clocks, error) {
	var samples [2]*merge.Sample
	for i, all := range [2][]merge.Sighting{a, b} {
		samples[i] = merge.NewSample()
		for k := range all {
			samples[i].Add(&all[k])
		}
	}
	return merge.Align(samples[0], samples[1])
}

func TestCapturesThatHaveNothingInCommonAreNotMerged(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	a, _ := longRun(t, 1).sightings(0, clock{}, false, r)
	b, _ := longRun(t, 2).sightings(1, clock{}, false, r)
	for name, pair := range map[string][2][]merge.Sighting{"other traffic": {a, b}, "empty": {a, nil}, "both empty": {nil, nil}} {
		if _, err := align(pair[0], pair[1]); !errors.Is(err, merge.ErrNothingInCommon) {
			t.Errorf("%s: %v", name, err)
		}
	}
	half := len(a) / 2
	if _, err := align(a[:half], a[half:]); !errors.Is(err, merge.ErrNothingInCommon) {
		t.Errorf("one after the other: %v", err)
	}
}

// One capture given twice was made at one point: nothing was lost and no time passed.
func TestACaptureWithItselfLosesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	a, _ := longRun(t, 3).sightings(0, clock{}, false, r)
	clocks, result := merged(t, merge.Config{}, a, slices.Clone(a))
	if p := clocks.Pieces[0]; len(clocks.Pieces) != 1 || p.Offset != 0 {
		t.Errorf("%d pieces, offset %d", len(clocks.Pieces), p.Offset)
	}
	for i := range result.Directions {
		d := &result.Directions[i]
		if d.Only[0].Sum()+d.Only[1].Sum()+d.Lost[1]+d.Reordered != 0 {
			t.Errorf("%+v", d)
		}
	}
}

// A packet of the time when the other capture was not running is said to be neither lost nor missed.
func TestWhatOneCaptureWasNotThereForIsOutside(t *testing.T) {
	run := longRun(t, 4)
	r := rand.New(rand.NewPCG(1, 1))
	a, _ := run.sightings(0, clock{}, false, r)
	b, _ := run.sightings(1, clock{offset: time.Hour}, false, r)
	_, result := merged(t, merge.Config{}, a[:2*len(a)/3], b[len(b)/3:])
	outside := uint64(0)
	for i := range result.Directions {
		for _, o := range result.Directions[i].Only {
			if o.Missed > 0 {
				t.Errorf("%+v", result.Directions[i])
			}
			outside += o.Outside
		}
	}
	if outside < uint64(len(a))/2 {
		t.Errorf("%d of %d packets outside", outside, len(a))
	}
}

// A clock that is set while both capture makes two pieces, each with its own offset, and accuses nobody.
func TestAClockThatIsSetMakesTwoPieces(t *testing.T) {
	run := longRun(t, 5)
	r := rand.New(rand.NewPCG(1, 1))
	a, _ := run.sightings(0, clock{}, false, r)
	b, _ := run.sightings(1, clock{offset: time.Second}, false, r)
	for i := len(b) / 2; i < len(b); i++ {
		b[i].Time += 5e6
	}
	clocks, result := merged(t, merge.Config{}, a, b)
	if len(clocks.Pieces) != 2 {
		t.Fatalf("%d pieces: %+v", len(clocks.Pieces), clocks.Pieces)
	}
	for i, want := range []int64{1e9, 1e9 + 5e6} {
		if p := clocks.Pieces[i]; max(p.Offset-want, want-p.Offset) > p.OffsetDoubt || p.OffsetDoubt > 1e5 {
			t.Errorf("piece %d: offset %d ± %d, is %d", i, p.Offset, p.OffsetDoubt, want)
		}
	}
	if result.Missed != [2]uint64{} {
		t.Errorf("missed %v, though nothing was", result.Missed)
	}
}

// With next to no memory less is told, but nothing wrong.
func TestABoundOnWhatWaitsAccusesNobody(t *testing.T) {
	run := longRun(t, 6)
	r := rand.New(rand.NewPCG(1, 1))
	a, _ := run.sightings(0, clock{}, false, r)
	b, _ := run.sightings(1, clock{offset: -time.Minute, drift: 1e-4}, false, r)
	_, result := merged(t, merge.Config{MaxWaiting: 64, MaxDirections: 3}, a, b)
	if result.Left == 0 || result.Window >= 200e6 {
		t.Errorf("%d packets left out, window %d ns: no bound was reached", result.Left, result.Window)
	}
	if result.Missed != [2]uint64{} {
		t.Errorf("missed %v, though nothing was", result.Missed)
	}
}
