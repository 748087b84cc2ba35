package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// byteCount is a number of bytes, written with or without a unit: 500MB, 20GiB.
type byteCount int64

var byteUnits = map[string]float64{
	"": 1, "b": 1, "k": 1 << 10, "kib": 1 << 10, "m": 1 << 20, "mib": 1 << 20, "g": 1 << 30, "gib": 1 << 30,
	"t": 1 << 40, "tib": 1 << 40, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (n *byteCount) UnmarshalText(text []byte) error {
	s := strings.ToLower(strings.TrimSpace(string(text)))
	digits := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyz ")
	unit, known := byteUnits[strings.TrimSpace(s[len(digits):])]
	value, err := strconv.ParseFloat(digits, 64)
	if err != nil || !known || value < 0 || value*unit > math.MaxInt64/2 {
		return fmt.Errorf("%q is no number of bytes: write it as 500MB or 20GiB", text)
	}
	*n = byteCount(value * unit)
	return nil
}
