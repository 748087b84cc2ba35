package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/rocelens/rocelens/flow"
)

// unknown stands for what the capture cannot tell.
const unknown = "–"

// countText writes a number with commas between thousands.
func countText(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func knownText(c flow.Count) string {
	if !c.Known {
		return unknown
	}
	return countText(c.N)
}

// scale writes a value with three digits and a decimal prefix.
func scale(v float64, unit string) string {
	prefixes := [...]string{"", "k", "M", "G", "T", "P"}
	i := 0
	for v >= 999.5 && i < len(prefixes)-1 {
		v /= 1000
		i++
	}
	switch {
	case i == 0 || v >= 99.95:
		return fmt.Sprintf("%.0f %s%s", v, prefixes[i], unit)
	case v >= 9.995:
		return fmt.Sprintf("%.1f %s%s", v, prefixes[i], unit)
	}
	return fmt.Sprintf("%.2f %s%s", v, prefixes[i], unit)
}

func bytesText(n uint64) string { return scale(float64(n), "B") }

// timeText is a time stamp in UTC.
func timeText(ns int64) string {
	return time.Unix(0, ns).UTC().Format("2006-01-02 15:04:05.000000000")
}

// durationText rounds to three digits: "1.28 ms", "16.7 s", "2h3m0s".
func durationText(ns int64) string {
	units := [...]struct {
		name string
		ns   float64
	}{{"ns", 1}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}}
	v := float64(ns)
	for _, u := range units {
		if x := v / u.ns; x < 999.5 && (u.name != "s" || x < 600) {
			return strconv.FormatFloat(x, 'g', 3, 64) + " " + u.name
		}
	}
	return time.Duration(ns).Round(time.Second).String()
}

// plural is "1 packet", "2 packets".
func plural(n uint64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return countText(n) + " " + noun + "s"
}
