package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/internal/vethtest"
)

// lockedBuffer is written by the agent and read by the test.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) Bytes() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.b.Bytes())
}

type line struct {
	Type          string
	Up            bool
	Interface     string
	Source        string
	Retransmitted *uint64
	VLAN          *uint64 `json:"vlan"`
	Dropped       *uint64 `json:"dropped_packets"`
	Totals        struct {
		RDMA          uint64 `json:"rdma_packets"`
		Retransmitted uint64 `json:"retransmitted_packets"`
		ICRC          uint64 `json:"icrc_errors"`
		CNPs          uint64 `json:"cnp_packets"`
	}
}

func lines(t *testing.T, out []byte) []line {
	t.Helper()
	var all []line
	decoder := json.NewDecoder(bytes.NewReader(out))
	for {
		var l line
		err := decoder.Decode(&l)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return all
		}
		require.NoError(t, err)
		all = append(all, l)
	}
}

func TestAgentReportsFlowsAndStopsInOrder(t *testing.T) {
	left, right := vethtest.Pair(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var stdout, stderr lockedBuffer
	code := -1
	done := right.Go(t, func() {
		code = run(ctx, []string{"run", "--interface", right.Interface, "--interval", "2s"}, &stdout, &stderr)
	})
	reported := func(packets int) func() bool {
		return func() bool {
			all := lines(t, stdout.Bytes())
			return len(all) > 0 && all[len(all)-1].Totals.RDMA == uint64(packets)
		}
	}

	frames := framesOf(t, "allreduce-loss.pcapng", "derived/enc-vlan-pcp3.pcap")
	// Right behind the end of an interval, so that all frames fall into the next one.
	require.Eventually(t, reported(0), 20*time.Second, 20*time.Millisecond)
	left.Send(t, frames)
	require.Eventually(t, reported(len(frames)), 20*time.Second, 20*time.Millisecond)
	cancel()
	<-done
	assert.Zero(t, code, "%s", stderr.Bytes())
	assert.NotContains(t, string(stderr.Bytes()), "level=WARN")
	assert.NotContains(t, string(stderr.Bytes()), "level=ERROR")

	all := lines(t, stdout.Bytes())
	require.NotEmpty(t, all)
	end := all[len(all)-1] // printed by the stop
	assert.Equal(t, "interval", end.Type)
	assert.Equal(t, right.Interface, end.Interface)
	assert.EqualValues(t, len(frames), end.Totals.RDMA)
	assert.EqualValues(t, 24, end.Totals.Retransmitted)
	assert.EqualValues(t, 4, end.Totals.CNPs)
	assert.Zero(t, end.Totals.ICRC)
	require.NotNil(t, end.Dropped)
	assert.Zero(t, *end.Dropped)
	tagged := 0
	for _, l := range all {
		if l.VLAN != nil {
			assert.EqualValues(t, 100, *l.VLAN)
			tagged++
		}
	}
	assert.Equal(t, 4, tagged, "flows in VLAN 100, whose tag the kernel took out")
}

func TestAgentSaysWhatIsWrong(t *testing.T) {
	for _, test := range []struct {
		args []string
		says string
		code int
	}{
		{[]string{"run", "--interface", "no-such-if"}, "there is no such network interface", exitFailure},
		{[]string{"run"}, "--interface", exitUsage},
		{[]string{"run", "-i", "lo", "--interval", "0s"}, "--interval must be between 1s and 1m0s", exitFailure},
	} {
		var stdout, stderr bytes.Buffer
		assert.Equal(t, test.code, run(t.Context(), test.args, &stdout, &stderr))
		assert.Contains(t, stderr.String(), test.says)
		assert.Equal(t, 1, bytes.Count(stderr.Bytes(), []byte("\n")), "one sentence: %s", stderr.String())
		assert.Empty(t, stdout.String())
	}
}
