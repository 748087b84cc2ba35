package main

import (
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/internal/vethtest"
)

// Where the programs may not be loaded, auto captures by AF_PACKET and says why; what was asked for by name is refused.
func TestCaptureFallsBack(t *testing.T) {
	_, right := vethtest.Pair(t)
	for by, want := range map[string][]string{
		"auto":    {"by=AF_PACKET", "fell_back=\"capture headers on", "operation not permitted"},
		"headers": {"operation not permitted", "give the agent CAP_BPF", "--capture afpacket"},
		"afxdp":   {"operation not permitted", "give the agent CAP_BPF", "--capture afpacket"},
	} {
		agent, stderr := apart(t, right, "--capture", by, "--interval", "1s")
		agent.Args = slices.Insert(agent.Args, 4, "setpriv", "--bounding-set", "-all,+net_raw", "--inh-caps", "-all,+net_raw")
		stdout := &lockedBuffer{}
		agent.Stdout = stdout
		require.NoError(t, agent.Start())
		if by == "auto" {
			require.Eventually(t, func() bool { return len(lines(t, stdout.Bytes())) > 0 }, patience, glance, "%s", stderr.Bytes())
			require.NoError(t, agent.Process.Signal(os.Interrupt))
			require.NoError(t, agent.Wait())
		} else {
			require.Error(t, agent.Wait())
		}
		for _, w := range want {
			assert.Contains(t, string(stderr.Bytes()), w, by)
		}
	}
}
