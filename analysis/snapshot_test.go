package analysis_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/analysis"
	"github.com/rocelens/rocelens/internal/capgen"
)

// TestSnapshotWhileRunning watches a run from another goroutine: figures only grow, and end where the result does.
func TestSnapshotWhileRunning(t *testing.T) {
	data, truth := generate(t, capgen.Config{Seed: 1, Packets: 20_000, Background: 10})
	a := analysis.New(analysis.Config{})
	source := open(t, data)
	done := make(chan error)
	go func() { done <- a.Add(t.Context(), "test", source) }()
	var seen uint64
	for running := true; running; {
		select {
		case err := <-done:
			require.NoError(t, err)
			running = false
		default:
		}
		now := a.Snapshot()
		assert.GreaterOrEqual(t, now.Totals.Packets, seen)
		seen = now.Totals.Packets
	}
	assert.Equal(t, truth.Packets, seen)
	last := a.Snapshot()
	result, err := a.Finish()
	require.NoError(t, err)
	assert.Equal(t, result.Beside, last.Beside)
	assert.Equal(t, result.LastTime, last.LastTime)
}

func TestPausesByPriority(t *testing.T) {
	result := analyzeFile(t, filepath.Join("..", "testdata", "derived", "pfc.pcap"))
	want := analysis.Pause{Link: analysis.Pauses{XOFF: 1, XON: 1, Quanta: 65535, MaxQuanta: 65535, FirstFrame: 6, LastFrame: 7}, NoClass: 1}
	want.Priorities[3] = analysis.Pauses{XOFF: 3, XON: 1, Quanta: 2*65535 + 100, MaxQuanta: 65535, FirstFrame: 1, LastFrame: 4}
	want.Priorities[4] = analysis.Pauses{XOFF: 1, Quanta: 200, MaxQuanta: 200, FirstFrame: 4, LastFrame: 4}
	assert.Equal(t, want, result.Pause)
}
