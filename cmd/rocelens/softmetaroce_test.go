package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/replay/softmetaroce"
)

// served runs the command that serves, with its arguments, while fn runs, and returns what it printed.
func served(t *testing.T, fn func(), args ...string) outcome {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	said, saying := io.Pipe()
	var out bytes.Buffer
	done := make(chan int, 1)
	go func() {
		code := run(ctx, append([]string{"softmetaroce", "serve"}, args...), &streams{Out: &out, Err: saying})
		saying.Close()
		done <- code
	}()
	first := make([]byte, 512)
	n, err := said.Read(first)
	require.NoError(t, err)
	require.Contains(t, string(first[:n]), "serving MetaRoCE, profile mr0")
	fn()
	stop()
	rest, err := io.ReadAll(said)
	require.NoError(t, err)
	return outcome{out.String(), string(first[:n]) + string(rest), <-done}
}

// analysedFlow is what analyze prints of a flow of MetaRoCE.
type analysedFlow struct {
	Destination uint32 `json:"destination_qp"`
	MetaRoCE    struct {
		Paths []struct {
			Path          uint8  `json:"path_id"`
			Packets       uint64 `json:"packets"`
			Bytes         uint64 `json:"bytes"`
			Retransmitted uint64 `json:"retransmitted"`
			CE            uint64 `json:"ce_marked"`
			Probes        uint64 `json:"probes"`
			Ports         []struct {
				Port uint16 `json:"port"`
			} `json:"source_ports"`
		} `json:"paths"`
		Streams []struct {
			Stream        uint16 `json:"stream_id"`
			Packets       uint64 `json:"packets"`
			Retransmitted uint64 `json:"retransmitted"`
		} `json:"streams"`
	} `json:"metaroce"`
}

func compareDirection(t *testing.T, flows []analysedFlow, connection uint32, want softmetaroce.Direction) {
	t.Helper()
	var found *analysedFlow
	for i := range flows {
		if flows[i].Destination == connection {
			require.Nil(t, found)
			found = &flows[i]
		}
	}
	require.NotNil(t, found)
	got := map[uint8][6]uint64{}
	for _, p := range found.MetaRoCE.Paths {
		got[p.Path] = [6]uint64{p.Packets, p.Bytes, p.Retransmitted, p.CE, p.Probes, uint64(len(p.Ports))}
	}
	reported := map[uint8][6]uint64{}
	for _, p := range want.Paths {
		if p.Packets > 0 {
			const ethernet = 14 // which analyze counts, and an endpoint cannot
			reported[p.Path] = [6]uint64{p.Packets, p.Bytes + ethernet*p.Packets, p.Retransmissions, p.CE, p.Probes, uint64(len(p.SourcePorts))}
		}
	}
	for id, counted := range reported {
		assert.Equal(t, counted, got[id], "path %d: packets, bytes, retransmitted, CE, probes, source ports", id)
	}
	gotStreams, reportedStreams := map[uint16][2]uint64{}, map[uint16][2]uint64{}
	for _, s := range found.MetaRoCE.Streams {
		gotStreams[s.Stream] = [2]uint64{s.Packets, s.Retransmitted}
	}
	for _, s := range want.Streams {
		reportedStreams[s.Stream] = [2]uint64{s.Packets, s.Retransmissions}
	}
	assert.Equal(t, reportedStreams, gotStreams, "streams: packets, retransmitted")
}

// What analyze finds in the captures of both ends is what they report, by path and by stream.
func TestSoftmetaroceCapturesAreAnalysedAsReported(t *testing.T) {
	directory := t.TempDir()
	captures := [2]string{filepath.Join(directory, "send.pcap"), filepath.Join(directory, "serve.pcap")}
	var reports [2]softmetaroce.Report
	var sent outcome
	serve := served(t, func() {
		sent = execute(t, nil, "softmetaroce", "send", "--to", "127.78.0.1", "--from", "127.78.0.2", "--size", "2MiB", "--streams", "3",
			"--paths", "4", "--impair", "loss=2%,mark=5%", "--seed", "7", "--json", "--pcap", captures[0])
	}, "--listen", "127.78.0.1", "--json", "--pcap", captures[1])
	require.Zero(t, sent.code, sent.err)
	require.Zero(t, serve.code, serve.err)
	for i, text := range []string{sent.out, serve.out} {
		require.NoError(t, json.Unmarshal([]byte(text), &reports[i]))
		assert.True(t, reports[i].Equal)
		analysed := execute(t, nil, "analyze", "--json", captures[i])
		require.Zero(t, analysed.code, analysed.err)
		var document struct {
			Flows []analysedFlow `json:"flows"`
		}
		require.NoError(t, json.Unmarshal([]byte(analysed.out), &document))
		compareDirection(t, document.Flows, reports[i].Connection.PeerID, reports[i].Connection.Sent)
		compareDirection(t, document.Flows, reports[i].Connection.ID, reports[i].Connection.Received)
	}
	assert.NotZero(t, reports[0].Connection.Sent.Retransmissions)
	assert.NotZero(t, reports[1].Connection.Received.CE)
}

// What is asked for in a wrong way, or cannot be done, is answered by a sentence and an exit code.
func TestSoftmetaroceRefusals(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"send --to nowhere", exitUsage, `"nowhere" is no address`},
		{"send --to 127.78.1.1 --impair lose=1%", exitUsage, "none of loss"},
		{"send --to 127.78.1.1 --size 0", exitFailure, "nothing to be moved"},
		{"send --to ::1", exitFailure, "name a second address"},
		{"send --to 127.78.1.1 --from 127.78.1.2 --op push", exitUsage, "--op"},
		{"send --to 127.78.1.1 --from 127.78.1.2 --mtu 1000", exitFailure, "MTU 1000"},
		{"serve --listen 0.0.0.0", exitFailure, "no address of a host"},
		{"serve --listen 127.78.1.1:51791 --listen 127.78.1.2:51792", exitUsage, "same port"},
	} {
		got := execute(t, nil, append([]string{"softmetaroce"}, strings.Fields(c.args)...)...)
		assert.Equal(t, c.code, got.code, c.args)
		assert.Contains(t, got.err, c.says, c.args)
		assert.Empty(t, got.out, c.args)
	}
}

// People get a summary.
func TestSoftmetaroceSummary(t *testing.T) {
	var sent outcome
	serve := served(t, func() {
		sent = execute(t, nil, "softmetaroce", "send", "--to", "127.78.2.1", "--from", "127.78.2.2", "--size", "1MiB", "--op", "read")
	}, "--listen", "127.78.2.1")
	assert.Zero(t, sent.code, sent.err)
	for _, text := range []string{sent.out, serve.out} {
		assert.Contains(t, text, "MetaRoCE, profile mr0")
		assert.Contains(t, text, "content      equal at both ends")
	}
}
