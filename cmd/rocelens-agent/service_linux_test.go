package main

import (
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rocelens/rocelens/internal/vethtest"
)

const (
	unit    = "../../deploy/rocelens-agent.service"
	example = "../../deploy/rocelens-agent.toml"
	nobody  = 65534
)

// unitCapabilities are those that the unit gives, from its own text.
func unitCapabilities(t *testing.T) (bits []uintptr) {
	t.Helper()
	text, err := os.ReadFile(unit)
	require.NoError(t, err)
	known := map[string]uintptr{
		"CAP_NET_RAW": unix.CAP_NET_RAW, "CAP_NET_ADMIN": unix.CAP_NET_ADMIN, "CAP_BPF": unix.CAP_BPF, "CAP_PERFMON": unix.CAP_PERFMON,
	}
	for line := range strings.Lines(string(text)) {
		if list, ok := strings.CutPrefix(line, "AmbientCapabilities="); ok {
			for name := range strings.FieldsSeq(list) {
				require.Contains(t, known, name)
				bits = append(bits, known[name])
			}
		}
	}
	require.NotEmpty(t, bits)
	return bits
}

// readable is a directory that everybody may enter, unlike that of t.TempDir.
func readable(t *testing.T) string {
	t.Helper()
	directory := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(directory), 0o755))
	require.NoError(t, os.Chmod(directory, 0o777))
	return directory
}

// copyOf is the test program where another user can run it.
func copyOf(t *testing.T, directory string) string {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	from, err := os.Open(path)
	require.NoError(t, err)
	defer from.Close()
	program := filepath.Join(directory, "rocelens-agent")
	to, err := os.OpenFile(program, os.O_CREATE|os.O_WRONLY, 0o755)
	require.NoError(t, err)
	_, err = io.Copy(to, from)
	require.NoError(t, err)
	require.NoError(t, to.Close())
	return program
}

// The agent works as the unit runs it: as nobody, with the unit's capabilities and no other, and tells its manager how it is.
func TestAgentWorksWithTheRightsOfItsUnit(t *testing.T) {
	left, right := vethtest.Pair(t)
	directory := readable(t)
	program := copyOf(t, directory)
	socket := filepath.Join(directory, "notify")
	listener, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	require.NoError(t, err)
	defer listener.Close()
	require.NoError(t, os.Chmod(socket, 0o777))
	said := make(chan string, 1000)
	go func() {
		defer close(said)
		buffer := make([]byte, 4096)
		for {
			n, err := listener.Read(buffer)
			if err != nil {
				return
			}
			said <- string(buffer[:n])
		}
	}()

	var stdout, stderr lockedBuffer
	agent := exec.CommandContext(t.Context(), program, "run", "--interface", right.Interface, "--interval", "1s")
	agent.Env = append(os.Environ(), "ROCELENS_TEST_AGENT=1", "NOTIFY_SOCKET="+socket, "WATCHDOG_USEC=200000")
	agent.Stdout, agent.Stderr = &stdout, &stderr
	agent.SysProcAttr = &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: nobody, Gid: nobody}, AmbientCaps: unitCapabilities(t),
	}
	<-right.Go(t, func() {
		assert.NoError(t, agent.Start())
	})
	require.NotNil(t, agent.Process)
	assert.Equal(t, "READY=1", <-said, "%s", stderr.Bytes())

	status, err := os.ReadFile("/proc/" + strconv.Itoa(agent.Process.Pid) + "/status")
	require.NoError(t, err)
	assert.Regexp(t, `(?m)^Uid:\s+65534\s+65534\s+65534\s+65534$`, string(status))
	var want uint64
	for _, bit := range unitCapabilities(t) {
		want |= 1 << bit
	}
	held, known := uint64(0), false
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "CapEff:\t"); ok {
			held, err = strconv.ParseUint(strings.TrimSpace(text), 16, 64)
			known = err == nil
		}
	}
	assert.True(t, known)
	assert.Equal(t, want, held, "capabilities in effect")

	assert.Equal(t, "WATCHDOG=1", <-said)
	frames := framesOf(t, "allreduce-loss.pcapng")
	left.Send(t, frames)
	require.Eventually(t, func() bool {
		all := lines(t, stdout.Bytes())
		return len(all) > 0 && all[len(all)-1].Totals.RDMA == uint64(len(frames))
	}, patience, glance, "%s", stderr.Bytes())

	require.NoError(t, agent.Process.Signal(syscall.SIGTERM))
	require.NoError(t, agent.Wait(), "%s", stderr.Bytes())
	require.NoError(t, listener.Close())
	last := ""
	for word := range said {
		last = word
	}
	assert.Equal(t, "STOPPING=1", last)
}

// The unit is one that systemd takes without a complaint, and that it holds to be hardened.
func TestUnitIsSound(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("checking the unit needs the program systemd-analyze (systemd)")
	}
	text, err := os.ReadFile(unit)
	require.NoError(t, err)
	program, err := os.Executable()
	require.NoError(t, err)
	// The program that the unit names is not installed here.
	path := filepath.Join(t.TempDir(), "rocelens-agent.service")
	require.NoError(t, os.WriteFile(path, bytes.ReplaceAll(text, []byte("/usr/bin/rocelens-agent"), []byte(program)), 0o600))
	out, err := exec.CommandContext(t.Context(), "systemd-analyze", "verify", "--man=no", "--recursive-errors=no", path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Empty(t, string(out))
	// 100 is a service that may do all, 25 one that its makers call OK.
	out, err = exec.CommandContext(t.Context(), "systemd-analyze", "security", "--no-pager", "--offline=true", "--threshold=25", path).CombinedOutput()
	assert.NoError(t, err, "%s", out)
}

func TestExampleConfigurationIsRight(t *testing.T) {
	var stdout, stderr bytes.Buffer
	assert.Zero(t, run(t.Context(), []string{"run", "--config", example, "--check"}, &stdout, &stderr), "%s", stderr.Bytes())
}
