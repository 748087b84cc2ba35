package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// lineRate is what 800 Gbit/s in packets of 4,096 bytes leaves for one packet, in nanoseconds.
const lineRate = 42

// hotPath is a benchmark and the one that it is held against, which runs in the same process.
type hotPath struct {
	title, pkg     string
	bench, against string // names as `go test -bench` prints them
	limit          float64
}

// hotPaths are the benchmarks that the table shows.
func hotPaths() []hotPath {
	const gopacket = "Decode/WriteMiddle/gopacket-to-UDP"
	paths := []hotPath{}
	for _, shape := range []string{"WriteMiddle", "WriteFirst", "ACK", "UDSendOnly", "WriteOnlyImmediate", "VLAN", "IPv6", "RoCEv1", "VXLAN"} {
		limit := 0.0
		if shape == "WriteMiddle" {
			limit = 0.5
		}
		paths = append(paths, hotPath{"decode " + shape, "./dissector", "Decode/" + shape, gopacket, limit})
	}
	for _, c := range []struct {
		connections string
		against     string
		limit       float64
	}{
		{"1", "Observe/connections=1/gopacket-to-UDP", 0},
		{"1024", "Observe/connections=1024/gopacket-to-UDP", 1},
		{"1048576", "Observe/connections=1024/decode+track", 3},
	} {
		paths = append(paths, hotPath{
			"decode and track, " + c.connections + " connections", "./flow",
			"Observe/connections=" + c.connections + "/decode+track", c.against, c.limit,
		})
	}
	return paths
}

// measurement is one line of a benchmark.
type measurement struct{ nanoseconds, allocations float64 }

// compareHotPaths runs the benchmarks, rounds times each, in turns, and prints their medians.
func compareHotPaths(ctx context.Context, out io.Writer, directory string, rounds int) error {
	results := map[string][]measurement{}
	for _, pkg := range []struct{ path, pattern string }{
		{"./dissector", "^BenchmarkDecode$"},
		{"./flow", "^BenchmarkObserve$/^connections=(1|1024|1048576)$/^(decode.track|gopacket-to-UDP)$"},
	} {
		program := filepath.Join(directory, filepath.Base(pkg.path)+".test")
		if text, err := exec.CommandContext(ctx, "go", "test", "-c", "-o", program, pkg.path).CombinedOutput(); err != nil { //nolint:gosec // packages of this tree
			return fmt.Errorf("build the benchmarks of %s: %w\n%s", pkg.path, err, text)
		}
		for range rounds {
			command := exec.CommandContext(ctx, program, "-test.run=^$", "-test.bench="+pkg.pattern, "-test.benchtime=200ms", "-test.benchmem") //nolint:gosec // built above
			command.Dir = pkg.path
			text, err := command.CombinedOutput()
			if err != nil {
				return fmt.Errorf("run the benchmarks of %s: %w\n%s", pkg.path, err, text)
			}
			collect(results, text)
		}
	}
	fmt.Fprintf(out, "%-38s %9s %7s %7s %7s %7s\n", "in memory, one core", "ns/packet", "allocs", "ratio", "limit", "of 42ns")
	for _, p := range hotPaths() {
		own, peer := middle(results[p.bench]), middle(results[p.against])
		limit := "–"
		if p.limit > 0 {
			limit = strconv.FormatFloat(p.limit, 'f', 1, 64)
		}
		fmt.Fprintf(out, "%-38s %9.1f %7.0f %7.2f %7s %6.0f%%\n", p.title, own.nanoseconds, own.allocations,
			own.nanoseconds/peer.nanoseconds, limit, own.nanoseconds/lineRate*100)
	}
	fmt.Fprint(out, "\nratio: to gopacket's DecodingLayerParser, which gets to UDP only, on the same bytes in the same run;\n"+
		"       at a million connections to our own at 1,024\n\n")
	return nil
}

// collect reads lines such as "BenchmarkDecode/ACK-2   12345   17.2 ns/op   0 B/op   0 allocs/op".
func collect(results map[string][]measurement, text []byte) {
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name := strings.TrimPrefix(fields[0], "Benchmark")
		if dash := strings.LastIndexByte(name, '-'); dash > 0 {
			if _, err := strconv.Atoi(name[dash+1:]); err == nil {
				name = name[:dash]
			}
		}
		var m measurement
		for i := 2; i+1 < len(fields); i += 2 {
			value, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				break
			}
			switch fields[i+1] {
			case "ns/op":
				m.nanoseconds = value
			case "allocs/op":
				m.allocations = value
			}
		}
		results[name] = append(results[name], m)
	}
}

// middle is the median by time.
func middle(m []measurement) measurement {
	if len(m) == 0 {
		return measurement{}
	}
	sorted := slices.Clone(m)
	slices.SortFunc(sorted, func(a, b measurement) int { return cmp.Compare(a.nanoseconds, b.nanoseconds) })
	return sorted[len(sorted)/2]
}
