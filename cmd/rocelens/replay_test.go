package main

import (
	"encoding/json"
	"encoding/xml"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/analysis/document"
	"github.com/rocelens/rocelens/replay/finding"
)

// replayed is the document of a file, and the exit code.
func replayed(t *testing.T, args ...string) (*document.Replay, int) {
	t.Helper()
	o := execute(t, nil, append([]string{"replay", "--json"}, args...)...)
	var d document.Replay
	require.NoError(t, json.Unmarshal([]byte(o.out), &d), o.out)
	return &d, o.code
}

// A capture of our own, which everybody has: a lossy hop, NAKs, marks and CNPs, and nobody at fault.
func TestReplayOfALossyRing(t *testing.T) {
	d, code := replayed(t, "../../testdata/allreduce-loss.pcapng")
	assert.Zero(t, code)
	assert.EqualValues(t, 4, d.Totals.Connections)
	assert.Zero(t, d.Totals.Diverging)
	o := execute(t, nil, "replay", "../../testdata/allreduce-loss.pcapng")
	assert.Zero(t, o.code)
	assert.Contains(t, o.out, "of 4 connections held against the reference")
}

func TestReplayFailsOnWhatItWasTold(t *testing.T) {
	file := filepath.Join(sharedCaptures(t), "derived/roce-many-qps.pcap") // every QP uses several source ports: a notice
	_, code := replayed(t, file)
	assert.Equal(t, exitDiverges, code)
	_, code = replayed(t, "--fail-on", "warning", file)
	assert.Zero(t, code)
}

func TestReplayJUnit(t *testing.T) {
	o := execute(t, nil, "replay", "--junit", "../../testdata/allreduce-loss.pcapng")
	assert.Zero(t, o.code)
	var suite junitSuite
	require.NoError(t, xml.Unmarshal([]byte(o.out), &suite))
	assert.Equal(t, len(suite.Cases), suite.Tests)
	assert.Zero(t, suite.Failures)
	assert.Less(t, suite.Skipped, suite.Tests)
}

// What does not fail by the exit code does not fail in the report, either, and a file that could not be read is told.
func TestReplayJUnitFailsWithTheExitCode(t *testing.T) {
	o := execute(t, nil, "replay", "--junit", "--fail-on", "error", "../../testdata/derived/sit-nak-all.pcap", "no-such-file.pcap")
	assert.Equal(t, exitDiverges, o.code)
	var suite junitSuite
	require.NoError(t, xml.Unmarshal([]byte(o.out), &suite))
	assert.Equal(t, 1, suite.Failures)
	assert.Contains(t, suite.Err, "no-such-file.pcap")
	once := finding.Tally{Diverges: 1}
	for least, fails := range map[finding.Severity]bool{finding.Notice: true, finding.Warning: false, finding.Error: false} {
		c := (&replayJUnit{least: least}).testCase(finding.RoCESourcePort, &once) // a notice
		assert.Equal(t, fails, c.Failure != nil, least)
		assert.Equal(t, fails, c.Out == "", least)
	}
}

func TestReplayOfNothing(t *testing.T) {
	o := execute(t, nil, "replay", "no-such-file.pcap")
	assert.Equal(t, exitFailure, o.code)
	assert.Contains(t, o.err, "no-such-file.pcap")
	o = execute(t, nil, "replay", "--json", "--junit", "../../testdata/allreduce-loss.pcapng")
	assert.Equal(t, exitUsage, o.code)
	assert.Contains(t, o.err, "exclude each other")
}

// TestReplayNamesFailedAttempts: sixteen equal REQs are one attempt, and a REJ is shown with its reason.
func TestReplayNamesFailedAttempts(t *testing.T) {
	shared := sharedCaptures(t)
	d, code := replayed(t, filepath.Join(shared, "derived/sit-cm-noanswer.pcap"))
	assert.Zero(t, code)
	assert.Equal(t, []document.Attempt{{From: "10.0.0.1", To: "10.0.0.2", Service: "TCP port 7471", Tries: 16, Packets: []uint64{1, 16}}}, d.FailedAttempts)
	d, _ = replayed(t, filepath.Join(shared, "derived/sit-cm-reject.pcap"))
	require.Len(t, d.FailedAttempts, 1)
	require.NotNil(t, d.FailedAttempts[0].Reason)
	assert.Equal(t, "consumer reject", *d.FailedAttempts[0].Reason)
	d, _ = replayed(t, filepath.Join(shared, "magnate3-linux-riscv-dev/send.pcap"))
	assert.Empty(t, d.FailedAttempts)
}

// Captures of the reference endpoint over real sockets: whatever was done to the network, it diverges nowhere.
func TestReplayOfTheReferenceEndpoint(t *testing.T) {
	files, err := filepath.Glob("../../testdata/metaroce/*.pcap")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range append(files, "../../testdata/metaroce-spray.pcap") {
		d, code := replayed(t, file)
		assert.Zero(t, code, file)
		assert.Zero(t, d.Totals.Diverging, file)
		assert.NotZero(t, d.Totals.Connections, file)
	}
}
