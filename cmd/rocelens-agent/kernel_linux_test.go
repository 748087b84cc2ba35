package main

import (
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/internal/vethtest"
)

// counting is an agent of the kernel tier as a process of its own, and its latest line.
func counting(t *testing.T, at vethtest.End) (agent *exec.Cmd, latest func() line, stderr *lockedBuffer) {
	t.Helper()
	agent, stderr = apart(t, at, "--tier", "kernel", "--interval", "1s")
	stdout := &lockedBuffer{}
	agent.Stdout = stdout
	require.NoError(t, agent.Start())
	latest = func() line {
		all := lines(t, stdout.Bytes())
		if len(all) == 0 {
			return line{}
		}
		return all[len(all)-1]
	}
	require.Eventually(t, func() bool { return latest().Up }, patience, glance, "%s", stderr.Bytes())
	return agent, latest, stderr
}

// An interface that is down is waited for, and where another has its name, packets are counted on that.
func TestCountedInterfaceGoesAndComesBack(t *testing.T) {
	left, right := vethtest.Pair(t)
	agent, latest, stderr := counting(t, right)
	frames := framesOf(t, "allreduce-loss.pcapng")
	sent := 0
	send := func() {
		left.Send(t, frames)
		sent += len(frames)
		require.Eventually(t, func() bool { return latest().Totals.RDMA == uint64(sent) }, patience, glance, "%s", stderr.Bytes())
	}
	send()
	for range 2 {
		right.Down(t)
		require.Eventually(t, func() bool { return !latest().Up }, patience, glance)
		right.Up(t)
		require.Eventually(t, func() bool { return latest().Up }, patience, glance)
		send()
	}
	left.Send(t, frames) // which nobody has read when the interface goes
	sent += len(frames)
	ip := func(words ...string) {
		out, err := exec.CommandContext(t.Context(), "ip", strings.Fields(strings.Join(words, " "))...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	ip("-n", right.Namespace, "link delete", right.Interface)
	require.Eventually(t, func() bool { return !latest().Up }, patience, glance)
	ip("link add", left.Interface, "netns", left.Namespace, "type veth peer name", right.Interface, "netns", right.Namespace)
	left.Up(t)
	right.Up(t)
	require.Eventually(t, func() bool { return latest().Up }, patience, glance, "%s", stderr.Bytes())
	send()
	require.NoError(t, agent.Process.Signal(os.Interrupt))
	require.NoError(t, agent.Wait(), "%s", stderr.Bytes())
	assert.Equal(t, 3, strings.Count(string(stderr.Bytes()), "is down or has gone away"), "%s", stderr.Bytes())
	assert.Equal(t, 3, strings.Count(string(stderr.Bytes()), "is back"))
	assert.Empty(t, attachedTo(t, right))
}

// attachedTo are the programs at an interface, by where they are.
func attachedTo(t *testing.T, at vethtest.End) (places []string) {
	t.Helper()
	var i *net.Interface
	var err error
	<-at.Go(t, func() {
		if i, err = net.InterfaceByName(at.Interface); err != nil {
			return
		}
		for name, place := range map[string]ebpf.AttachType{"XDP": ebpf.AttachXDP, "TCX in": ebpf.AttachTCXIngress, "TCX out": ebpf.AttachTCXEgress} {
			found, err := link.QueryPrograms(link.QueryOptions{Target: i.Index, Attach: place})
			if err == nil && len(found.Programs) > 0 {
				places = append(places, name)
			}
		}
	})
	require.NoError(t, err)
	out, err := exec.CommandContext(t.Context(), "ip", "-n", at.Namespace, "-d", "link", "show", at.Interface).CombinedOutput()
	require.NoError(t, err)
	if strings.Contains(string(out), "prog/xdp") {
		places = append(places, "prog/xdp")
	}
	return places
}

// The kernel detaches what an agent had attached that was killed, and a new one counts on.
func TestKilledAgentLeavesNoProgram(t *testing.T) {
	left, right := vethtest.Pair(t)
	frames := framesOf(t, "allreduce-loss.pcapng")
	for range 2 {
		agent, latest, stderr := counting(t, right)
		assert.ElementsMatch(t, []string{"prog/xdp", "TCX out"}, attachedTo(t, right))
		left.Send(t, frames)
		require.Eventually(t, func() bool { return latest().Totals.RDMA == uint64(len(frames)) }, patience, glance, "%s", stderr.Bytes())
		require.NoError(t, agent.Process.Kill())
		require.Error(t, agent.Wait())
		require.Eventually(t, func() bool { return len(attachedTo(t, right)) == 0 }, patience, glance)
	}
}

// strangers are packets each of a connection of its own.
func strangers(t *testing.T, from, count int) [][]byte {
	t.Helper()
	frames := make([][]byte, count)
	for i := range frames {
		f := build.Frame{
			Source: netip.MustParseAddr("10.0.0.1"), Destination: netip.MustParseAddr("10.0.0.2"), SourcePort: 50000,
			BTH: infiniband.BTH{Opcode: 0x04, PartitionKey: 0xffff, DestinationQP: uint32(1 + from + i)}, // RC SEND Only
		}
		var err error
		frames[i], err = f.AppendTo(nil)
		require.NoError(t, err)
	}
	return frames
}

// Where there are more connections than the kernel has room for, they are read before it is lost, or are counted as what
// found no room.
func TestFullTableIsEmptied(t *testing.T) {
	for _, test := range []struct {
		name          string
		bursts, burst int // of connections; a burst fits into the ring that takes what the table does not
		fits          bool
	}{{"in bursts", 3, 4000, true}, {"at once", 1, 40_000, false}} {
		t.Run(test.name, func(t *testing.T) {
			db := newDatabase(t)
			left, right := vethtest.Pair(t)
			agent := start(t, right, append(db.flags(), "--tier", "kernel", "--kernel-entries", "1024", "--max-flows", "1024", "--interval", "1s", "--state", t.TempDir())...)
			require.Eventually(t, func() bool { return db.ask(t, "SELECT count() FROM agents") != "0" }, patience, glance, "%s", agent.stderr.Bytes())
			for i := range test.bursts {
				left.Send(t, strangers(t, i*test.burst, test.burst))
				seen := func() bool {
					return db.ask(t, "SELECT sum(decode_out) FROM agent_intervals") == strconv.Itoa((i+1)*test.burst)
				}
				require.Eventually(t, seen, patience, glance, "%s", agent.stderr.Bytes())
			}
			agent.end(t)
			sent := strconv.Itoa(test.bursts * test.burst)
			db.agrees(t)
			assert.Equal(t, sent, db.ask(t, "SELECT sum(track_out) + sum(drops['track: table full']) FROM agent_intervals"))
			assert.Equal(t, "1", db.ask(t, "SELECT sum(packets) = uniqExact(flow_id) FROM agent_flows"), "no packet is counted twice")
			assert.Equal(t, "0", db.ask(t, "SELECT countIf(missed != drops['track: table full']) FROM agent_intervals"))
			if test.fits {
				assert.Equal(t, sent, db.ask(t, "SELECT sum(packets) FROM agent_flows"))
			}
			t.Logf("%s packets were too many", db.ask(t, "SELECT sum(missed) FROM agent_intervals"))
		})
	}
}

// The heartbeat says, too, what an agent fell back from.
func TestHeartbeatSaysWhyPacketsAreFollowed(t *testing.T) {
	db := newDatabase(t)
	_, right := vethtest.Pair(t)
	agent := start(t, right, append(db.flags(), "--tier", "auto", "--recorder", "2", "--interval", "1s", "--state", t.TempDir())...)
	require.Eventually(t, func() bool { return db.ask(t, "SELECT count() FROM agents") != "0" }, patience, glance, "%s", agent.stderr.Bytes())
	agent.end(t)
	assert.Regexp(t, `packet \(.*the kernel tier has no flight recorder\)`, db.ask(t, "SELECT tiers FROM agents FINAL"))
}
