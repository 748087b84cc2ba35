package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/analysis"
)

// growing is a file with the beginning of a capture, and the rest of it.
func growing(t *testing.T, begin int) (file *os.File, rest []byte) {
	t.Helper()
	whole, err := os.ReadFile(filepath.Join(packageDirectory, "..", "..", "testdata", "derived", "sit-loss-nak.pcap"))
	require.NoError(t, err)
	file, err = os.Create(filepath.Join(t.TempDir(), "growing.pcap"))
	require.NoError(t, err)
	_, err = file.Write(whole[:begin])
	require.NoError(t, err)
	return file, whole[begin:]
}

func TestDissectFollowsAFile(t *testing.T) {
	file, rest := growing(t, 24)
	ctx, cancel := context.WithCancel(t.Context())
	printed, out := io.Pipe()
	var stderr bytes.Buffer
	done := make(chan int)
	go func() {
		code := run(ctx, []string{"dissect", "--follow", "--summary", file.Name()}, &streams{Out: out, Err: &stderr})
		assert.NoError(t, out.Close())
		done <- code
	}()
	lines := bufio.NewScanner(printed)
	const record = 16 + 42 + 12 + 16 + 256 + 4 // the first packet: FIRST with its RETH
	for _, part := range [][]byte{rest[:record], rest[record:]} {
		_, err := file.Write(part)
		require.NoError(t, err)
		require.True(t, lines.Scan())
	}
	assert.Contains(t, lines.Text(), "  2 ")
	for range 8 {
		require.True(t, lines.Scan())
	}
	assert.Contains(t, lines.Text(), " 10 ")
	cancel()
	assert.False(t, lines.Scan(), "nothing comes after the last packet: %s", lines.Text())
	assert.Zero(t, <-done)
	assert.Empty(t, stderr.String())
	require.NoError(t, file.Close())
}

func TestAnalyzeFollowsUntilInterrupted(t *testing.T) {
	file, rest := growing(t, 24)
	_, err := file.Write(rest)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // what is in the file is read all the same
	var stdout, stderr bytes.Buffer
	assert.Zero(t, run(ctx, []string{"analyze", "--json", "--follow", file.Name()}, &streams{Out: &stdout, Err: &stderr}))
	require.NoError(t, file.Close())
	var got struct {
		Totals struct {
			Packets       int `json:"packets"`
			Retransmitted int `json:"retransmitted_packets"`
		} `json:"totals"`
	}
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &got))
	assert.Equal(t, 10, got.Totals.Packets)
	assert.Equal(t, 3, got.Totals.Retransmitted)
	assert.Empty(t, stderr.String())
}

func TestFollowNeedsOneFile(t *testing.T) {
	for _, args := range [][]string{{"analyze", "--follow", "-"}, {"analyze", "--follow", "a", "b"}, {"dissect", "--follow", "-"}} {
		o := execute(t, strings.NewReader(""), args...)
		assert.Equal(t, exitUsage, o.code)
		assert.Contains(t, o.err, "--follow follows")
	}
	o := execute(t, nil, "analyze", "--follow", filepath.Join(t.TempDir(), "nothing"))
	assert.Equal(t, exitFailure, o.code)
	assert.Contains(t, o.err, "no such file")
}

// TestFindingsAreRedrawn checks that each page takes the place of the one before.
func TestFindingsAreRedrawn(t *testing.T) {
	var screen bytes.Buffer
	view := findings{w: &screen}
	var result analysis.Result
	result.Totals.Packets, result.Totals.RDMAPackets = 5, 5
	view.update(&result)
	first := screen.String()
	height := strings.Count(first, "\n")
	assert.Contains(t, first, "retransmitted  0 packets\n")
	screen.Reset()
	result.Totals.Retransmitted = 2
	view.update(&result)
	up := "\x1b[11A\x1b[J"
	require.Equal(t, 11, height)
	assert.True(t, strings.HasPrefix(screen.String(), up), "%q", screen.String())
	assert.Contains(t, screen.String(), "retransmitted  2 packets\n")
	screen.Reset()
	view.erase()
	assert.Equal(t, up, screen.String())
	screen.Reset()
	view.erase()
	assert.Empty(t, screen.String())
}
