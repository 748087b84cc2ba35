package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/internal/vethtest"
)

// framesOf are the frames of captures in testdata.
func framesOf(t *testing.T, names ...string) (frames [][]byte) {
	t.Helper()
	for _, name := range names {
		source, err := pcapfile.Open(filepath.Join("..", "..", "testdata", name), pcapfile.Options{})
		require.NoError(t, err)
		var batch capture.Batch
		for source.Next(&batch) == nil {
			for _, f := range batch.Frames {
				frames = append(frames, bytes.Clone(f.Data))
			}
		}
		require.NoError(t, source.Close())
	}
	return frames
}

// process is an agent at work at one end of a cable.
type process struct {
	stdout, stderr lockedBuffer
	stop           context.CancelFunc
	done           <-chan struct{}
	code           int
}

func start(t *testing.T, at vethtest.End, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	p := &process{stop: cancel, code: -1}
	p.done = at.Go(t, func() {
		p.code = run(ctx, append([]string{"run", "--interface", at.Interface}, args...), &p.stdout, &p.stderr)
	})
	return p
}

// end stops the agent in order.
func (p *process) end(t *testing.T) {
	t.Helper()
	p.stop()
	<-p.done
	require.Zero(t, p.code, "%s", p.stderr.Bytes())
}

const patience, glance = 30 * time.Second, 50 * time.Millisecond

// What is sent is what the rows count, the ledger's stages agree, and the agent says how it is.
func TestRowsCountWhatWasSent(t *testing.T) {
	db := newDatabase(t)
	left, right := vethtest.Pair(t)
	agent := start(t, right, append(db.flags(), "--interval", "1s", "--state", t.TempDir(), "--host", "node7", "--listen", "127.0.0.1:0")...)
	require.Eventually(t, func() bool { return db.ask(t, "SELECT count() FROM agents") != "0" }, patience, glance, "no heartbeat")
	frames := framesOf(t, "allreduce-loss.pcapng", "metaroce-spray.pcap", "derived/enc-vlan-pcp3.pcap")
	for range 3 {
		left.Send(t, frames)
	}
	sent := 3 * len(frames)
	require.Eventually(t, func() bool {
		return db.ask(t, "SELECT sum(source_out) >= "+strconv.Itoa(sent)+" FROM agent_intervals") == "1"
	}, patience, glance, "%s", agent.stderr.Bytes())
	agent.end(t)

	assert.Equal(t, strconv.Itoa(sent), db.ask(t, "SELECT sum(decode_out) FROM agent_intervals"))
	assert.Equal(t, "1", db.ask(t, "SELECT sum(source_in) = sum(source_out) + sum(drops['source: ring full']) + argMax(source_held, interval_end) FROM agent_intervals"))
	for _, stage := range []string{
		"source_out = decode_out + arraySum(mapValues(mapFilter((k, v) -> startsWith(k, 'decode'), drops)))",
		"decode_out = track_out + arraySum(mapValues(mapFilter((k, v) -> startsWith(k, 'track'), drops)))",
		"track_out = spool_out + arraySum(mapValues(mapFilter((k, v) -> startsWith(k, 'spool'), drops)))",
		"flow_rows + path_rows = spooled_rows",
	} {
		assert.Equal(t, "0", db.ask(t, "SELECT countIf(NOT ("+stage+")) FROM agent_intervals"), "%s: %s", stage, db.ask(t, "SELECT decode_out, track_out, spool_out, flow_rows, path_rows, spooled_rows, drops FROM agent_intervals WHERE NOT ("+stage+") LIMIT 3"))
	}
	assert.Equal(t, db.ask(t, "SELECT sum(spool_out), sum(spooled_rows) FROM agent_intervals"),
		db.ask(t, "SELECT (SELECT sum(packets) FROM agent_flows), (SELECT count() FROM agent_flows) + (SELECT count() FROM agent_paths)"))
	assert.Equal(t, `"node7",1,"","['no RDMA device']","[0]"`, db.ask(t, "SELECT host, length(interfaces), problem, rdma, bypassed FROM agents FINAL"))
}

// Rows wait on disk while the database is away, through a stop and a start of the agent, and arrive once.
func TestRowsWaitForTheDatabase(t *testing.T) {
	db := newDatabase(t)
	left, right := vethtest.Pair(t)
	state := t.TempDir()
	away := []string{"--clickhouse", "127.0.0.1:1", "--interval", "1s", "--state", state, "--print"}
	frames := framesOf(t, "allreduce-loss.pcapng")
	first := start(t, right, away...)
	require.Eventually(t, func() bool { return len(lines(t, first.stdout.Bytes())) > 0 }, patience, glance)
	left.Send(t, frames)
	require.Eventually(t, func() bool {
		all := lines(t, first.stdout.Bytes())
		return all[len(all)-1].Totals.RDMA == uint64(len(frames))
	}, patience, glance)
	first.end(t)
	assert.Contains(t, string(first.stderr.Bytes()), "rows wait on disk for the next start")

	second := start(t, right, append(db.flags(), "--interval", "1s", "--state", state)...)
	require.Eventually(t, func() bool { return db.ask(t, "SELECT sum(packets) FROM agent_flows") == strconv.Itoa(len(frames)) }, patience, glance, "%s", second.stderr.Bytes())
	second.end(t)
	assert.Equal(t, strconv.Itoa(len(frames)), db.ask(t, "SELECT sum(packets) FROM agent_flows"))
	assert.Equal(t, "1,2", db.ask(t, "SELECT uniqExact(agent_id), uniqExact(run) FROM agent_intervals"), "one agent, two runs")
}

// apart starts the agent as a process of its own, all of whose threads, and whose sysfs, are in the namespace. What it
// ships to is out of its reach there: its rows wait on disk for one that is started with the same state.
func apart(t *testing.T, at vethtest.End, args ...string) (agent *exec.Cmd, stderr *lockedBuffer) {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	stderr = &lockedBuffer{}
	agent = exec.CommandContext(t.Context(), "ip", append([]string{"netns", "exec", at.Namespace, program, "run", "--interface", at.Interface}, args...)...)
	agent.Env = append(os.Environ(), "ROCELENS_TEST_AGENT=1")
	agent.Stderr = stderr
	agent.Cancel = func() error { return agent.Process.Signal(os.Interrupt) }
	return agent, stderr
}

// What the interface counts arrives beside what the capture saw, and where nothing bypasses the kernel the agent says so.
func TestCountersBesidePackets(t *testing.T) {
	db := newDatabase(t)
	left, right := vethtest.Pair(t)
	state := t.TempDir()
	first, stderr := apart(t, right, "--clickhouse", "127.0.0.1:1", "--interval", "1s", "--state", state, "--print")
	var stdout lockedBuffer
	first.Stdout = &stdout
	require.NoError(t, first.Start())
	seen := func(packets int) func() bool {
		return func() bool {
			all := lines(t, stdout.Bytes())
			return len(all) > 0 && all[len(all)-1].Totals.RDMA >= uint64(packets)
		}
	}
	frames := framesOf(t, "allreduce-loss.pcapng")
	require.Eventually(t, seen(0), patience, glance, "%s", stderr.Bytes())
	left.Send(t, frames)
	require.Eventually(t, seen(len(frames)), patience, glance, "%s", stderr.Bytes())
	require.NoError(t, first.Process.Signal(os.Interrupt))
	require.NoError(t, first.Wait(), "%s", stderr.Bytes())

	second := start(t, right, append(db.flags(), "--interval", "1s", "--state", state, "--no-counters")...)
	require.Eventually(t, func() bool {
		return db.ask(t, "SELECT sum(packets) FROM agent_flows") == strconv.Itoa(len(frames)) && db.ask(t, "SELECT count() > 0 FROM agents") == "1"
	}, patience, glance, "%s", second.stderr.Bytes())
	second.end(t)
	assert.Equal(t, "1", db.ask(t, "SELECT sum(delta) >= "+strconv.Itoa(len(frames))+" FROM port_counters WHERE name = 'rx_packets' AND source = 'interface' AND device = ''"))
	assert.Equal(t, "1", db.ask(t, "SELECT uniqExact(interval_end, interface) = (SELECT uniqExact(interval_end, interface) FROM agent_intervals WHERE run IN (SELECT run FROM agent_intervals WHERE decode_out > 0)) FROM port_counters"),
		"each interval of the first agent has them")
	assert.Equal(t, "1", db.ask(t, "SELECT uniqExact(interface, name, device, interval_end) = count() FROM port_counters"), "each once")
	assert.NotContains(t, string(stderr.Bytes()), "past the kernel")
}

// An interface that goes down is waited for, and what comes then is seen.
func TestInterfaceGoesDownAndComesBack(t *testing.T) {
	left, right := vethtest.Pair(t)
	program, err := os.Executable()
	require.NoError(t, err)
	var stdout, stderr lockedBuffer
	// A process of its own: every thread of it is in the namespace, and finds the interface again.
	agent := exec.CommandContext(t.Context(), "ip", "netns", "exec", right.Namespace, program, "run", "--interface", right.Interface, "--interval", "1s")
	agent.Env = append(os.Environ(), "ROCELENS_TEST_AGENT=1")
	agent.Stdout, agent.Stderr = &stdout, &stderr
	agent.Cancel = func() error { return agent.Process.Signal(os.Interrupt) }
	require.NoError(t, agent.Start())
	last := func() line {
		all := lines(t, stdout.Bytes())
		if len(all) == 0 {
			return line{}
		}
		return all[len(all)-1]
	}
	require.Eventually(t, func() bool { return last().Up }, patience, glance)
	frames := framesOf(t, "allreduce-loss.pcapng")
	left.Send(t, frames)
	for range 6 { // more often than there are buffers
		right.Down(t) // with frames in the ring that nobody has read
		require.Eventually(t, func() bool { return !last().Up }, patience, glance)
		right.Up(t)
		require.Eventually(t, func() bool { return last().Up }, patience, glance)
	}
	left.Send(t, frames)
	require.Eventually(t, func() bool { return last().Totals.RDMA == uint64(2*len(frames)) }, patience, glance)
	require.NoError(t, agent.Process.Signal(os.Interrupt))
	require.NoError(t, agent.Wait(), "%s", stderr.Bytes())
	assert.Equal(t, 6, bytes.Count(stderr.Bytes(), []byte("is down or has gone away")))
	assert.Equal(t, 6, bytes.Count(stderr.Bytes(), []byte("is back")))
}

// fetch asks by a connection that is made in this very thread.
func fetch(ctx context.Context, address, path string) (body string, status int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, http.NoBody)
	if err != nil {
		return "", 0, err
	}
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return "", 0, err
	}
	defer connection.Close()
	request.Close = true
	if err := request.Write(connection); err != nil {
		return "", 0, err
	}
	response, err := http.ReadResponse(bufio.NewReader(connection), request)
	if err != nil {
		return "", 0, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return string(text), response.StatusCode, err
}

func TestTelemetry(t *testing.T) {
	_, right := vethtest.Pair(t)
	agent := start(t, right, "--clickhouse", "127.0.0.1:1", "--interval", "1s", "--state", t.TempDir(), "--listen", "127.0.0.1:0")
	var address string
	require.Eventually(t, func() bool {
		found := regexp.MustCompile(`address=(\S+)`).FindSubmatch(agent.stderr.Bytes())
		if found != nil {
			address = string(found[1])
		}
		return found != nil
	}, patience, glance)
	get := func(path string) (body string, status int) {
		// In the namespace of the agent, where it listens.
		var err error
		<-right.Go(t, func() { body, status, err = fetch(t.Context(), address, path) })
		require.NoError(t, err)
		return body, status
	}
	var answer struct{ Status, Problem string }
	require.Eventually(t, func() bool {
		body, status := get("/healthz")
		require.NoError(t, json.Unmarshal([]byte(body), &answer))
		return status == http.StatusServiceUnavailable && answer.Status == "problem"
	}, patience, glance)
	assert.Contains(t, answer.Problem, "ClickHouse at 127.0.0.1:1 does not answer")
	var metrics string
	require.Eventually(t, func() bool {
		metrics, _ = get("/metrics")
		return strings.Contains(metrics, "rocelens_agent_interface_up{interface=\""+right.Interface+"\"} 1")
	}, patience, glance)
	for _, name := range []string{"rocelens_agent_packets_total", "rocelens_agent_dropped_packets_total", "rocelens_agent_spool_rows", "rocelens_agent_ship_failures_total", "process_resident_memory_bytes"} {
		assert.Contains(t, metrics, name)
	}
	agent.end(t)
}

func TestConfigurationOfTheAgent(t *testing.T) {
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "agent.toml")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	for _, test := range []struct {
		name string
		args []string
		says string
		code int
	}{
		{"right", []string{"--config", file("interface = ['lo']\ninterval = '5s'\nclickhouse = 'db:9000'"), "--check"}, "", 0},
		{"unknown key", []string{"--config", file("interfaces = ['lo']"), "--check"}, "unknown keys interfaces", exitFailure},
		{"no such file", []string{"--config", "/nowhere/agent.toml", "-i", "lo"}, "there is no configuration file /nowhere/agent.toml", exitFailure},
		{"interval too short", []string{"-i", "lo", "--interval", "10ms"}, "--interval must be between 1s and 1m0s", exitFailure},
		{"ring too small", []string{"-i", "lo", "--ring", "1"}, "--ring must be between", exitFailure},
		{"spool too small", []string{"-i", "lo", "--spool", "0"}, "--spool must be between", exitFailure},
		{"one interface twice", []string{"-i", "lo", "-i", "lo"}, "names one interface twice", exitFailure},
		{"no port", []string{"-i", "lo", "--clickhouse", "db", "--check"}, `--clickhouse "db" is not HOST:PORT`, exitFailure},
		{"no database", []string{"-i", "lo", "--clickhouse-database", "a-b", "--check"}, "is no name for a database", exitFailure},
		{"no TLS", []string{"-i", "lo", "--clickhouse-ca", "ca.pem", "--check"}, "of no use without --clickhouse-tls", exitFailure},
	} {
		t.Run(test.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			assert.Equal(t, test.code, run(t.Context(), append([]string{"run"}, test.args...), &stdout, &stderr))
			assert.Contains(t, stderr.String(), test.says)
		})
	}
}

func TestTwoAgentsNeedTwoStates(t *testing.T) {
	_, right := vethtest.Pair(t)
	state := t.TempDir()
	args := []string{"--clickhouse", "127.0.0.1:1", "--interval", "1s", "--state", state, "--print"}
	first := start(t, right, args...)
	require.Eventually(t, func() bool { return len(lines(t, first.stdout.Bytes())) > 0 }, patience, glance)
	second := start(t, right, args...)
	<-second.done
	assert.Equal(t, exitFailure, second.code)
	assert.Contains(t, string(second.stderr.Bytes()), "give each its own --state")
	first.end(t)
}
