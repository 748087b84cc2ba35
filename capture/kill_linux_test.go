package capture_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/internal/vethtest"
)

// TestMain lets the test program capture and wait, for a test that kills it.
func TestMain(m *testing.M) {
	by, name, found := strings.Cut(os.Getenv("ROCELENS_TEST_CAPTURE"), ";")
	if !found {
		os.Exit(m.Run())
	}
	all := sources()
	s, err := all[slices.IndexFunc(all, func(l live) bool { return l.name == by })].open(name, 0)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(s.Interfaces()[0].Description)
	_, _ = bufio.NewReader(os.Stdin).ReadByte() // for ever
}

// The kernel detaches the programs of an agent that is killed.
func TestKillLeavesNoProgram(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	for by, want := range map[string]string{
		"headers by native XDP": "headers by native XDP, frames in pieces in, TCX out",
		"AF_XDP by native XDP":  "AF_XDP by native XDP, frames in pieces, copied, frames in pieces",
	} {
		t.Run(by, func(t *testing.T) {
			_, right := vethtest.Pair(t)
			attached := func() string {
				out, err := exec.CommandContext(t.Context(), "ip", "-n", right.Namespace, "-d", "link", "show", right.Interface).CombinedOutput()
				require.NoError(t, err)
				return string(out)
			}
			agent := exec.CommandContext(t.Context(), "ip", "netns", "exec", right.Namespace, program)
			agent.Env = append(os.Environ(), "ROCELENS_TEST_CAPTURE="+by+";"+right.Interface)
			_, err := agent.StdinPipe()
			require.NoError(t, err)
			said, err := agent.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, agent.Start())
			line, err := bufio.NewReader(said).ReadString('\n')
			require.NoError(t, err)
			assert.Equal(t, want, strings.TrimSpace(line))
			assert.Contains(t, attached(), "prog/xdp")
			require.NoError(t, agent.Process.Kill())
			require.Error(t, agent.Wait())
			require.Eventually(t, func() bool { return !strings.Contains(attached(), "prog/xdp") }, 10*time.Second, 10*time.Millisecond)
		})
	}
}
