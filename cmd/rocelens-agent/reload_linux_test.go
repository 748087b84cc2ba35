package main

import (
	"bytes"
	"fmt"
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

	"github.com/rocelens/rocelens/internal/vethtest"
)

// second is another cable between the namespaces of a pair.
func second(t *testing.T, left, right vethtest.End) (vethtest.End, vethtest.End) {
	t.Helper()
	a, b := left, right
	a.Interface, b.Interface = "rl2l", "rl2r"
	ip := func(words ...string) {
		out, err := exec.CommandContext(t.Context(), "ip", words...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	ip("link", "add", a.Interface, "netns", a.Namespace, "type", "veth", "peer", "name", b.Interface, "netns", b.Namespace)
	ip("-n", a.Namespace, "link", "set", a.Interface, "mtu", "9000", "up")
	ip("-n", b.Namespace, "link", "set", b.Interface, "mtu", "9000", "up")
	return a, b
}

// reach is an address in the namespace of an end by which what is listening outside is reached.
func reach(t *testing.T, at vethtest.End, target string) string {
	t.Helper()
	var listener net.Listener
	<-at.Go(t, func() {
		var err error
		listener, err = new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		assert.NoError(t, err)
	})
	require.NotNil(t, listener)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			out, err := new(net.Dialer).DialContext(t.Context(), "tcp", target)
			if err != nil {
				_ = in.Close() // what it leads to is away
				continue
			}
			join := func(to, from net.Conn) {
				_, _ = io.Copy(to, from)
				_ = to.Close()
			}
			go join(in, out)
			go join(out, in)
		}
	}()
	return listener.Addr().String()
}

// SIGHUP takes over interfaces, interval, log level and database. A wrong file changes nothing, and no packet is counted twice or
// not at all.
func TestReloadLosesNothing(t *testing.T) {
	db := newDatabase(t)
	left, right := vethtest.Pair(t)
	left2, right2 := second(t, left, right)
	user, password := db.Credentials()
	file := filepath.Join(t.TempDir(), "agent.toml")
	state := t.TempDir()
	configure := func(interfaces, address, more string) {
		t.Helper()
		text := fmt.Sprintf("interface = [%s]\nclickhouse = %q\nclickhouse-user = %q\nclickhouse-password = %q\nstate = %q\n%s\n", interfaces, address, user, password, state, more)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	one, two := strconv.Quote(right.Interface), strconv.Quote(right2.Interface)
	configure(one, "127.0.0.1:1", `interval = "1s"`)

	program, err := os.Executable()
	require.NoError(t, err)
	var stdout, stderr lockedBuffer
	agent := exec.CommandContext(t.Context(), "ip", "netns", "exec", right.Namespace, program, "run", "--config", file, "--print")
	relay := reach(t, right, db.Address())
	agent.Env = append(os.Environ(), "ROCELENS_TEST_AGENT=1")
	agent.Stdout, agent.Stderr = &stdout, &stderr
	require.NoError(t, agent.Start())
	counted := func(name string) uint64 {
		var rdma uint64
		for _, l := range lines(t, stdout.Bytes()) {
			if l.Type == "interval" && l.Interface == name {
				rdma = l.Totals.RDMA
			}
		}
		return rdma
	}
	says := func(what string) func() bool {
		return func() bool { return bytes.Contains(stderr.Bytes(), []byte(what)) }
	}
	seen := func(name string) func() bool {
		return func() bool {
			return strings.Contains(string(stdout.Bytes()), `"type":"interval","version":1,"interface":"`+name+`"`)
		}
	}
	hangUp := func(what string) {
		t.Helper()
		require.NoError(t, agent.Process.Signal(syscall.SIGHUP))
		require.Eventually(t, says(what), patience, glance, "%s", stderr.Bytes())
	}
	require.Eventually(t, seen(right.Interface), patience, glance, "%s", stderr.Bytes())
	frames := framesOf(t, "allreduce-loss.pcapng")
	n := uint64(len(frames))
	left.Send(t, frames)

	configure(one, relay, "no-such-key = 1")
	hangUp("unknown keys no-such-key")
	configure(one+`, "no-such-if"`, relay, "")
	hangUp("there is no such network interface")
	assert.Equal(t, 2, bytes.Count(stderr.Bytes(), []byte("the new configuration is refused, and the old one goes on")))

	configure(one+", "+two, relay, "interval = \"2s\"\nlog-level = \"debug\"\nring = 8")
	hangUp("the configuration was read again")
	assert.Contains(t, string(stderr.Bytes()), "waits for the next start")
	assert.Contains(t, string(stderr.Bytes()), "settings=ring")
	left.Send(t, frames)
	left2.Send(t, frames)
	require.Eventually(t, func() bool { return counted(right.Interface) == 2*n && counted(right2.Interface) == n }, patience, glance, "%s", stderr.Bytes())

	configure(two, relay, "interval = \"1s\"\nring = 8")
	hangUp("interfaces=" + right2.Interface)
	left.Send(t, frames) // nobody listens there
	left2.Send(t, frames)
	require.Eventually(t, func() bool { return counted(right2.Interface) == 2*n }, patience, glance, "%s", stderr.Bytes())
	require.NoError(t, agent.Process.Signal(os.Interrupt))
	require.NoError(t, agent.Wait(), "%s", stderr.Bytes())

	want := fmt.Sprintf("%q,%d\n%q,%d", right2.Interface, 2*n, right.Interface, 2*n)
	assert.Equal(t, want, db.ask(t, "SELECT interface, sum(packets) FROM agent_flows GROUP BY interface ORDER BY interface"), "%s", stderr.Bytes())
	assert.Equal(t, `"['`+right2.Interface+`']",1`, db.ask(t, "SELECT interfaces, round(interval_ns / 1e9) FROM agents FINAL"))
}
