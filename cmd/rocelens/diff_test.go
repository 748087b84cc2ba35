package main

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/analysis/diff"
)

func diffOf(t *testing.T, args ...string) (*diff.Document, map[string]diff.DocumentFigure) {
	t.Helper()
	o := execute(t, nil, append([]string{"diff", "--json"}, args...)...)
	require.Zero(t, o.code, o.err)
	var d diff.Document
	require.NoError(t, json.Unmarshal([]byte(o.out), &d), o.out)
	figures := map[string]diff.DocumentFigure{}
	for _, f := range d.Figures {
		figures[f.Figure] = f
	}
	return &d, figures
}

func testCapture(parts ...string) string {
	return filepath.Join(append([]string{packageDirectory, "..", "..", "testdata"}, parts...)...)
}

// One sender is told of its loss by a NAK, the other waits for its timer.
func TestDiffTellsNAKFromTimeout(t *testing.T) {
	d, figures := diffOf(t, testCapture("derived", "sit-loss-nak.pcap"), testCapture("derived", "sit-timeout-repeat.pcap"))
	for name, want := range map[string][2]float64{
		"packets": {10, 8}, "retransmitted": {3, 1}, "retransmitted_after_nak": {3, 0}, "retransmitted_after_timeout": {0, 1},
		"naks": {1, 0}, "timer_waits": {0, 1}, "lost_before": {1, 0}, "divergences": {0, 0},
	} {
		f := figures[name]
		require.NotNil(t, f.A, name)
		require.NotNil(t, f.B, name)
		assert.Equal(t, want, [2]float64{*f.A, *f.B}, name)
		assert.InDelta(t, want[1]-want[0], *f.Change, 0, name)
		assert.Nil(t, f.Unknown, name)
	}
	trip := figures["round_trip_min_ns"]
	require.NotNil(t, trip.A)
	assert.Nil(t, trip.B, "no answer shows a round trip, which is then unknown and not 0")
	assert.Nil(t, trip.Change)
	assert.NotEmpty(t, trip.Unknown)
	require.NotEmpty(t, d.Rules)
	assert.Equal(t, "roce.ack-request-unanswered", d.Rules[0].Rule, "what the sides differ in stands first")
	assert.Len(t, d.Notes, 1)
}

func TestDiffCountsDivergencesByRule(t *testing.T) {
	d, figures := diffOf(t, testCapture("derived", "sit-nak-all.pcap"), testCapture("derived", "sit-rnr.pcap"))
	require.Equal(t, "roce.syndrome", d.Rules[0].Rule)
	require.NotNil(t, d.Rules[0].A)
	assert.Equal(t, diff.DocumentTally{Diverges: 3, Conforms: 6, Connections: 1, DivergingConnections: 1}, *d.Rules[0].A)
	assert.InDelta(t, 1, *figures["diverging_connections"].A, 0)
	assert.Positive(t, *figures["rnr_naks"].B)
}

// Of two connections of one file each side has its own packets, and what neither of them has is in none.
func TestDiffOfTwoConnections(t *testing.T) {
	file := testCapture("allreduce-loss.pcapng")
	d, figures := diffOf(t, file, file, "--connection-a", "8805495794882141813", "--connection-b", "11390520069680212486")
	assert.InDelta(t, 24, *figures["retransmitted"].A, 0)
	assert.InDelta(t, 0, *figures["retransmitted"].B, 0)
	assert.Nil(t, figures["retransmitted"].Unknown)
	assert.EqualValues(t, 1, d.A.Connections)
	assert.Equal(t, "8805495794882141813", *d.A.ConnectionID)
	_, swapped := diffOf(t, file, file, "--connection-a", "11390520069680212486", "--connection-b", "8805495794882141813")
	for name, f := range figures {
		assert.Equal(t, f.A, swapped[name].B, name)
		assert.Equal(t, f.B, swapped[name].A, name)
	}
}

func TestDiffOfTransportsSaysWhatIsOfOneAlone(t *testing.T) {
	d, figures := diffOf(t, testCapture("allreduce-loss.pcapng"), testCapture("metaroce", "loss.pcap"))
	assert.Len(t, d.Notes, 2)
	assert.Nil(t, figures["completion_p50_ns"].A)
	assert.Positive(t, *figures["completion_p50_ns"].B)
	assert.Nil(t, figures["timer_waits"].B)
}

func TestDiffRefuses(t *testing.T) {
	file, other := testCapture("allreduce-loss.pcapng"), testCapture("read-write-mix.pcap")
	for _, c := range []struct {
		name string
		code int
		args []string
		says string
	}{
		{"one file twice", exitUsage, []string{file, file}, "--connection-a"},
		{"one connection twice", exitUsage, []string{file, file, "--connection-a", "7", "--connection-b", "7"}, "same connection"},
		{"no number", exitUsage, []string{file, other, "--connection-b", "qp7"}, `--connection-b: "qp7"`},
		{"standard input twice", exitUsage, []string{"-", "-"}, "one side only"},
		{"no such connection", exitFailure, []string{file, other, "--connection-a", "7"}, "no connection 7"},
		{"no such file", exitFailure, []string{file, "none.pcap"}, "none.pcap"},
		{"no capture", exitFailure, []string{"diff_test.go", file}, "diff_test.go"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := execute(t, nil, append([]string{"diff"}, c.args...)...)
			assert.Equal(t, c.code, o.code)
			assert.Contains(t, o.err, c.says)
			assert.Empty(t, o.out)
		})
	}
}

func TestDiffPrintsForPeople(t *testing.T) {
	o := execute(t, nil, "diff", testCapture("derived", "sit-loss-nak.pcap"), testCapture("derived", "sit-timeout-repeat.pcap"))
	require.Zero(t, o.code, o.err)
	for _, line := range []string{
		`(?m)^loss +Packets sent again +3 +1 +−66\.7 % +better$`,
		`(?m)^latency +Round trip behind the vantage point, least +1 ms +– +–$`,
		`(?m)^roce\.ack-request-unanswered +0 / 0 +0 / 1$`,
		`One side lasts longer than the other`,
	} {
		assert.Regexp(t, line, o.out)
	}
}
