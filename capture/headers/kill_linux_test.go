package headers_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/capture/headers"
	"github.com/rocelens/rocelens/internal/vethtest"
)

// TestMain lets the test program capture and wait, for a test that kills it.
func TestMain(m *testing.M) {
	name := os.Getenv("ROCELENS_TEST_CAPTURE")
	if name == "" {
		os.Exit(m.Run())
	}
	s, err := headers.Open(name, headers.Options{})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(s.Interfaces()[0].Description)
	_, _ = bufio.NewReader(os.Stdin).ReadByte() // for ever
}

// The kernel detaches the programs of an agent that is killed.
func TestKillLeavesNoProgram(t *testing.T) {
	_, right := vethtest.Pair(t)
	program, err := os.Executable()
	require.NoError(t, err)
	attached := func() string {
		out, err := exec.CommandContext(t.Context(), "ip", "-n", right.Namespace, "-d", "link", "show", right.Interface).CombinedOutput()
		require.NoError(t, err)
		return string(out)
	}
	agent := exec.CommandContext(t.Context(), "ip", "netns", "exec", right.Namespace, program)
	agent.Env = append(os.Environ(), "ROCELENS_TEST_CAPTURE="+right.Interface)
	_, err = agent.StdinPipe()
	require.NoError(t, err)
	said, err := agent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, agent.Start())
	line, err := bufio.NewReader(said).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "headers by native XDP, frames in pieces in, TCX out", strings.TrimSpace(line))
	assert.Contains(t, attached(), "prog/xdp")
	require.NoError(t, agent.Process.Kill())
	require.Error(t, agent.Wait())
	require.Eventually(t, func() bool { return !strings.Contains(attached(), "prog/xdp") }, 10*time.Second, 10*time.Millisecond)
}
