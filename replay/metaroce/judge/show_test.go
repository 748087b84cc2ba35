package judge_test

import (
	"flag"
	"maps"
	"regexp"
	"slices"
	"testing"

	"github.com/rocelens/rocelens/replay/metaroce/scenario"
)

var show = flag.String("show", "", "with -seed: print the packets near the sender that match")

var empty = regexp.MustCompile(` [A-Z]+:\{[^1-9}]*\}`)

// dump prints packets of a place.
func dump(t *testing.T, w *scenario.World, place int) {
	t.Helper()
	if *show == "" {
		return
	}
	match := regexp.MustCompile(*show)
	for _, n := range slices.Sorted(maps.Keys(w.Numbers[place])) {
		if s := w.Numbers[place][n]; match.MatchString(s) {
			t.Log(empty.ReplaceAllString(s, ""))
		}
	}
}
