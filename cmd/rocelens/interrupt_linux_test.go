package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rocelens/rocelens/store/embedded"
)

// buildService makes the two programs of the service and returns their folder.
func buildService(t *testing.T) string {
	t.Helper()
	if _, err := embedded.FindLibrary(""); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	programs := t.TempDir()
	build := exec.Command("go", "build", "-o", programs, ".", "../rocelens-clickhouse")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	output, err := build.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return programs
}

// timeout(1), for one, sends SIGTERM to the process and again to its group.
func TestServiceEndsInOrderWhenItIsTerminatedTwice(t *testing.T) {
	service := exec.Command(filepath.Join(buildService(t), "rocelens"), "serve", "--listen", "127.0.0.1:0", "--data", t.TempDir())
	var said bytes.Buffer
	service.Stderr = &said
	stdout, err := service.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, service.Start())
	_, err = bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, service.Process.Signal(syscall.SIGTERM))
	require.NoError(t, service.Process.Signal(syscall.SIGTERM))
	require.NoError(t, service.Wait(), "%s", said.String())
	require.Contains(t, said.String(), "stopped serving")
}

func TestServiceIsWatchedAndInterruptedTwice(t *testing.T) {
	programs := buildService(t)
	service := exec.Command(filepath.Join(programs, "rocelens"), "serve", "--listen", "127.0.0.1:0", "--data", t.TempDir())
	said, err := service.StderrPipe()
	require.NoError(t, err)
	stdout, err := service.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, service.Start())
	ready, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, ready, "rocelens is ready at http://127.0.0.1:")

	listen := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(ready), "rocelens is ready at http://"), "/")
	well := execute(t, nil, "health", "--listen", listen)
	require.Zero(t, well.code, well.err)

	// A database that cannot end holds the service up.
	database := childOf(t, service.Process.Pid)
	handle, err := unix.PidfdOpen(database, 0)
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(database, syscall.SIGSTOP))
	ill := execute(t, nil, "health", "--listen", listen)
	require.Equal(t, exitFailure, ill.code)
	require.Equal(t, "rocelens: the service at http://"+listen+"/ is not well: it answers 503 Service Unavailable\n", ill.err)
	require.NoError(t, service.Process.Signal(os.Interrupt))
	lines := bufio.NewScanner(said)
	for !strings.Contains(lines.Text(), "stopped serving") {
		require.True(t, lines.Scan())
	}
	require.NoError(t, service.Process.Signal(os.Interrupt))
	require.True(t, lines.Scan())
	require.Equal(t, "rocelens: ended at once by the second signal, without waiting for what was still to end", lines.Text())
	require.Error(t, service.Wait())
	require.Equal(t, exitInterrupted, service.ProcessState.ExitCode())

	// The database ends by itself.
	require.NoError(t, syscall.Kill(database, syscall.SIGCONT))
	poll := []unix.PollFd{{Fd: int32(handle), Events: unix.POLLIN}}
	for {
		if _, err = unix.Poll(poll, -1); err != unix.EINTR { //nolint:errorlint // a bare errno
			break
		}
	}
	require.NoError(t, err)
	require.NoError(t, unix.Close(handle))
	require.Contains(t, execute(t, nil, "health", "--listen", listen).err, "rocelens: no service answers at http://"+listen+"/: ")
}

// childOf is the one child of a process.
func childOf(t *testing.T, parent int) int {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	require.NoError(t, err)
	var all bytes.Buffer
	for _, path := range tasks {
		children, err := os.ReadFile(path)
		require.NoError(t, err)
		all.Write(children)
	}
	children := strings.Fields(all.String())
	require.Len(t, children, 1)
	child, err := strconv.Atoi(children[0])
	require.NoError(t, err)
	return child
}
