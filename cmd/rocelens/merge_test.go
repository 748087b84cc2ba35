package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/analysis/document"
	"github.com/rocelens/rocelens/replay/roce/scenario"
)

// point is a capture of a scenario: where, by which clock, and how much of it is missing.
type point struct {
	at      scenario.Vantage
	offset  time.Duration
	drift   float64
	missing float64
}

// captured is the capture as a pcap file with nanoseconds, and how many packets passed the point.
func captured(t *testing.T, c scenario.Config, p point) []byte {
	t.Helper()
	out := binary.LittleEndian.AppendUint32(nil, 0xa1b23c4d)
	out = append(out, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0)
	r := rand.New(rand.NewPCG(c.Seed, uint64(p.at)))
	c.Vantage = p.at
	c.Tap = func(f scenario.Frame) {
		if r.Float64() < p.missing {
			return
		}
		at := 1_700_000_000_000_000_000 + int64(f.Time) + int64(p.offset) + int64(math.Round(p.drift*float64(f.Time)))
		for _, x := range []uint32{uint32(at / 1e9), uint32(at % 1e9), uint32(len(f.Data)), uint32(len(f.Data))} {
			out = binary.LittleEndian.AppendUint32(out, x)
		}
		out = append(out, f.Data...)
	}
	run, err := scenario.New(c)
	require.NoError(t, err)
	run.Go()
	return out
}

func exampleScenario() (scenario.Config, [2]point) {
	c := scenario.DefaultConfig()
	c.Seed, c.Connections, c.Messages, c.Mix, c.Loss, c.MarkChance = 7, 1, 60, scenario.Writes, 0.01, 0.02
	return c, [2]point{{at: scenario.NearRequester}, {at: scenario.NearResponder, offset: 37*time.Millisecond + 1234567, drift: 23e-6, missing: 0.01}}
}

// The captures of the worked example are what the reference endpoints did.
func TestTheMergeExampleIsWhatHappened(t *testing.T) {
	c, points := exampleScenario()
	for i, name := range []string{"merge-requester.pcap", "merge-responder.pcap"} {
		path := filepath.Join(packageDirectory, "..", "..", "testdata", name)
		data := captured(t, c, points[i])
		if *update {
			require.NoError(t, os.WriteFile(path, data, 0o644))
		}
		have, err := os.ReadFile(path)
		require.NoError(t, err, "run: go test ./cmd/rocelens -update")
		require.True(t, bytes.Equal(have, data), "%s is not what the scenario gives; -update rewrites it", name)
	}
}

func mergedFiles(t *testing.T, want int, files ...string) *document.Merge {
	t.Helper()
	o := execute(t, nil, append([]string{"replay", "--merge", "--json"}, files...)...)
	require.Equal(t, want, o.code, o.err)
	var d document.Merge
	require.NoError(t, json.Unmarshal([]byte(o.out), &d), o.out)
	return &d
}

// Through the binary: the clocks' truth lies within the doubt, what was lost within the bounds, whichever file is first.
func TestMergeTellsClocksAndLosses(t *testing.T) {
	c, points := exampleScenario()
	complete := points[1]
	complete.missing = 0
	dir := t.TempDir()
	files := []string{filepath.Join(dir, "a.pcap"), filepath.Join(dir, "b.pcap"), filepath.Join(dir, "whole.pcap")}
	for i, p := range []point{points[0], points[1], complete} {
		require.NoError(t, os.WriteFile(files[i], captured(t, c, p), 0o644))
	}
	whole := mergedFiles(t, 0, files[0], files[2])
	lost := map[string]uint64{}
	for _, d := range whole.Directions {
		require.NotNil(t, d.LostMax, d.Order)
		assert.Zero(t, d.Missed)
		lost[d.FlowID] += *d.LostMax
	}
	for i, pair := range [][]string{{files[0], files[1]}, {files[1], files[0]}} {
		d := mergedFiles(t, 0, pair...)
		require.Len(t, d.Clock, 1)
		require.NotNil(t, d.Clock[0].OffsetDoubtNS)
		sign := float64(1 - 2*i)
		assert.InDelta(t, sign*23, *d.Clock[0].DriftPPM, *d.Clock[0].DriftDoubtPPM+0.01)
		offset, err := time.ParseDuration(d.Clock[0].OffsetNS + "ns")
		require.NoError(t, err)
		doubt, err := time.ParseDuration(*d.Clock[0].OffsetDoubtNS + "ns")
		require.NoError(t, err)
		assert.InDelta(t, sign*float64(points[1].offset), float64(offset), float64(doubt)+23e-6*1e9)
		assert.Zero(t, d.Missed[i], "the capture at the requester missed nothing")
		assert.NotZero(t, d.Missed[1-i])
		for _, x := range d.Directions {
			assert.LessOrEqual(t, *x.LostMin, lost[x.FlowID])
		}
	}
}

func TestMergeOfWhatCannotBeMerged(t *testing.T) {
	ring, mix := "../../testdata/allreduce-loss.pcapng", "../../testdata/read-write-mix.pcap"
	for name, x := range map[string]struct {
		args []string
		code int
		err  string
	}{
		"one file":       {[]string{ring}, exitUsage, "takes two captures, not 1"},
		"standard input": {[]string{ring, "-"}, exitUsage, "reads each capture twice"},
		"JUnit":          {[]string{"--junit", ring, mix}, exitUsage, "excludes --junit"},
		"other traffic":  {[]string{ring, mix}, exitFailure, "have no packet in common"},
		"no such file":   {[]string{ring, "no-such-file.pcap"}, exitFailure, "no-such-file.pcap"},
	} {
		o := execute(t, nil, append([]string{"replay", "--merge"}, x.args...)...)
		assert.Equal(t, x.code, o.code, name)
		assert.Contains(t, o.err, x.err, name)
		assert.Empty(t, o.out, name)
	}
}

// A capture with itself: one point, no loss, of RoCE and of MetaRoCE.
func TestMergeOfACaptureWithItself(t *testing.T) {
	for _, file := range []string{"../../testdata/allreduce-loss.pcapng", "../../testdata/metaroce/loss.pcap"} {
		d := mergedFiles(t, 0, file, file)
		assert.Equal(t, "0", d.Clock[0].OffsetNS, file)
		assert.NotZero(t, d.Both, file)
		for _, x := range d.Directions {
			assert.Zero(t, x.Missed, file)
			assert.Zero(t, x.Only, file)
			assert.Zero(t, x.Reordered, file)
		}
	}
}
