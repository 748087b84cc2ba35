package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/replay/compliance"
)

func TestComplianceOfWhatIsServed(t *testing.T) {
	directory := t.TempDir()
	junit := filepath.Join(directory, "report.xml")
	var got outcome
	served(t, func() {
		got = execute(t, nil, "compliance", "127.78.2.1", "--from", "127.78.2.2", "--scenario", "receiver/cumulative,connecting/reply", "--json", "--junit", junit, "--pcap", directory)
	}, "--listen", "127.78.2.1")
	require.Zero(t, got.code, got.err)
	var report compliance.Report
	require.NoError(t, json.Unmarshal([]byte(strings.ReplaceAll(got.out, `"verdict": "pass"`, `"verdict": 0`)), &report))
	assert.Equal(t, 2, report.Passed)
	assert.Equal(t, "mr0", report.Profile)
	text, err := os.ReadFile(junit)
	require.NoError(t, err)
	assert.Contains(t, string(text), `tests="2" failures="0" skipped="0"`)
	dissected := execute(t, nil, "dissect", filepath.Join(directory, "connecting-reply.pcapng"))
	require.Zero(t, dissected.code, dissected.err)
	assert.Contains(t, dissected.out, "CONN_REP")
}

func TestComplianceIsRefused(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"compliance"}, exitUsage, "name the address"},
		{[]string{"compliance", "nowhere"}, exitUsage, "is no address"},
		{[]string{"compliance", "127.78.2.3", "--scenario", "none"}, exitUsage, `no scenario is named "none"`},
		{[]string{"compliance", "127.78.2.3", "--timeout", "10ms"}, exitFailure, "no answer from 127.78.2.3:51791"},
	} {
		got := execute(t, nil, c.args...)
		assert.Equal(t, c.code, got.code, c.args)
		assert.Contains(t, got.err, c.says)
		assert.Equal(t, 1, strings.Count(got.err, "\n"), got.err)
	}
}
