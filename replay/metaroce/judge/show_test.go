package judge_test

import (
	"flag"
	"maps"
	"regexp"
	"slices"
)

var show = flag.String("show", "", "with -seed: print the packets near the sender that match")

var empty = regexp.MustCompile(` [A-Z]+:\{[^1-9}]*\}`)

// dump prints packets of a place.
func (w *world) dump(place int) {
	if *show == "" {
		return
	}
	match := regexp.MustCompile(*show)
	for _, n := range slices.Sorted(maps.Keys(w.numbers[place])) {
		if s := w.numbers[place][n]; match.MatchString(s) {
			w.tb.Log(empty.ReplaceAllString(s, ""))
		}
	}
}
