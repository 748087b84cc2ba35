package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/internal/vethtest"
)

type uploaded struct {
	ID, Name, Status string
	Notes            []string
}

// captures are what the service has, all of them analysed.
func (s *service) captures(t *testing.T) (all []uploaded) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.address+"/api/v1/captures", http.NoBody)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	var page struct{ Captures []uploaded }
	require.NoError(t, json.NewDecoder(response.Body).Decode(&page))
	for _, c := range page.Captures {
		if c.Status != "queued" && c.Status != "analyzing" {
			all = append(all, c)
		}
	}
	return all
}

// gate is the way to the service, which may be closed, or break after some bytes.
type gate struct {
	listener net.Listener
	mutex    sync.Mutex
	target   string
	left     int // connections break when so many bytes have passed; negative: never
}

func newGate(t *testing.T, target string) *gate {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g := &gate{listener: listener, target: target, left: -1}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			go g.pass(in)
		}
	}()
	return g
}

func (g *gate) set(left int) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.left = left
}

// take is how many of so many bytes may pass.
func (g *gate) take(n int) int {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.left < 0 {
		return n
	}
	n = min(n, g.left)
	g.left -= n
	return n
}

func (g *gate) pass(in net.Conn) {
	defer in.Close()
	out, err := new(net.Dialer).Dial("tcp", g.target)
	if err != nil {
		return
	}
	defer out.Close()
	go func() {
		_, _ = io.Copy(in, out)
		_ = in.Close()
	}()
	buffer := make([]byte, 1024)
	for {
		n, err := in.Read(buffer)
		may := g.take(n)
		if _, failed := out.Write(buffer[:may]); failed != nil || err != nil || may < n {
			return
		}
	}
}

// recording starts an agent with a flight recorder that uploads by the gate.
func recording(t *testing.T, db database, at vethtest.End, state string, through *gate) (p *process, telemetry string) {
	t.Helper()
	p = start(t, at, append(db.flags(), "--interval", "1s", "--state", state, "--host", "node7", "--listen", "127.0.0.1:0",
		"--recorder", "8", "--recorder-before", "1m", "--recorder-after", "200ms", "--recorder-every", "100ms", "--trigger", "naks=3",
		"--upload", "http://"+through.listener.Addr().String())...)
	require.Eventually(t, func() bool {
		if found := regexp.MustCompile(`address=(\S+)`).FindSubmatch(p.stderr.Bytes()); found != nil {
			telemetry = string(found[1])
		}
		return telemetry != "" && bytes.Contains(p.stderr.Bytes(), []byte("the flight recorder is ready"))
	}, patience, glance, "%s", p.stderr.Bytes())
	return p, telemetry
}

// trigger posts to /trigger in the namespace of the agent.
func trigger(t *testing.T, at vethtest.End, address string, headers http.Header) (status int) {
	t.Helper()
	var err error
	<-at.Go(t, func() {
		var connection net.Conn
		if connection, err = new(net.Dialer).DialContext(t.Context(), "tcp", address); err != nil {
			return
		}
		defer connection.Close()
		var request *http.Request
		if request, err = http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/trigger", strings.NewReader("rack 7 is slow")); err != nil {
			return
		}
		request.Close = true
		maps.Copy(request.Header, headers)
		if err = request.Write(connection); err != nil {
			return
		}
		answer := make([]byte, 64)
		if _, err = connection.Read(answer); err == nil {
			_, err = fmt.Sscanf(string(answer), "HTTP/1.1 %d", &status)
		}
	})
	require.NoError(t, err)
	return status
}

// A burst of NAKs becomes one capture of the service, with what came before and behind; so does what people ask for,
// though the service is away for a while, and uploads break.
func TestEventsBecomeCaptures(t *testing.T) {
	db := newDatabase(t)
	s := newService(t, db)
	through := newGate(t, s.address)
	left, right := vethtest.Pair(t)
	state := t.TempDir()
	agent, telemetry := recording(t, db, right, state, through)
	arrived := func(n int) func() bool {
		return func() bool { return len(s.captures(t)) == n }
	}
	signal := func() {
		t.Helper()
		require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGUSR1))
	}
	waiting := func() int {
		files, err := filepath.Glob(filepath.Join(state, "records", "*.pcapng"))
		require.NoError(t, err)
		return len(files)
	}
	burst, calm := deviating(t, "roce.nak-repeated"), framesOf(t, "read-write-mix.pcap")

	// Bytes pass only in part at first, so that the upload goes on where it broke.
	through.set(4096)
	left.Send(t, calm)
	left.Send(t, burst)
	require.Eventually(t, func() bool { return waiting() == 1 }, patience, glance, "%s", agent.stderr.Bytes())
	through.set(-1)
	require.Eventually(t, arrived(1), patience, glance, "%s", agent.stderr.Bytes())
	first := s.captures(t)[0]
	assert.Equal(t, "done", first.Status)
	require.NotEmpty(t, first.Notes)
	assert.Contains(t, first.Notes[0], "Recorded by the agent on node7, interface "+right.Interface)
	assert.Contains(t, first.Notes[0], "NAK burst")
	assert.Zero(t, waiting(), "what has arrived is removed")
	before, naks, behind := shape(t, filepath.Join(s.data, "captures", first.ID+".capture"))
	assert.Positive(t, before)
	assert.GreaterOrEqual(t, naks, 3)
	assert.Positive(t, behind)

	// The same again is the same event. What is asked for is recorded each time.
	left.Send(t, burst)
	require.Eventually(t, func() bool { return trigger(t, right, telemetry, nil) == http.StatusAccepted }, patience, glance)
	require.Eventually(t, arrived(2), patience, glance, "%s", agent.stderr.Bytes())
	var metrics string
	<-right.Go(t, func() { metrics, _, _ = fetch(t.Context(), telemetry, "/metrics") })
	assert.Contains(t, metrics, "rocelens_agent_triggers_total 2")
	assert.Equal(t, http.StatusForbidden, trigger(t, right, telemetry, http.Header{"Sec-Fetch-Site": {"cross-site"}}), "of a page in a browser")

	// While the service is away, records wait.
	through.set(0)
	signal()
	require.Eventually(t, func() bool { return waiting() == 1 }, patience, glance, "%s", agent.stderr.Bytes())
	agent.end(t)
	assert.Equal(t, 1, waiting())
	agent, _ = recording(t, db, right, state, through)
	left.Send(t, burst) // known from before the start
	through.set(-1)
	require.Eventually(t, arrived(3), patience, glance, "%s", agent.stderr.Bytes())
	signal()
	require.Eventually(t, arrived(4), patience, glance, "%s", agent.stderr.Bytes())
	require.Eventually(t, func() bool {
		return db.ask(t, "SELECT countIf(fate = 'uploaded') FROM agent_triggers") == "4" && db.ask(t, "SELECT triggers FROM agents FINAL") == "1"
	}, patience, glance)
	agent.end(t)

	assert.Equal(t, "1", db.ask(t, "SELECT uniqExact(event_id) FROM agent_triggers WHERE kind = 'NAK burst'"))
	assert.Equal(t, "\"recording,recorded,uploaded\"", db.ask(t, "SELECT arrayStringConcat(groupArray(toString(fate)), ',') FROM (SELECT fate FROM agent_triggers WHERE kind = 'NAK burst' ORDER BY fate)"))
	assert.Equal(t, `"`+first.ID+`"`, db.ask(t, "SELECT max(capture_id) FROM agent_triggers WHERE kind = 'NAK burst'"))
	assert.Equal(t, "1,1", db.ask(t, "SELECT min(host = 'node7'), min(sentence != '') FROM agent_triggers"))
	assert.Equal(t, "1", db.ask(t, "SELECT min(connection_id IN (SELECT connection_id FROM agent_flows)) FROM agent_triggers WHERE kind = 'NAK burst'"))
	assert.Equal(t, "1,0,0", db.ask(t, "SELECT last_trigger IS NOT NULL, records_waiting, records_lost FROM agents FINAL"))
}

// shape counts the packets of a capture before the first NAK, the NAKs, and those behind the last.
func shape(t *testing.T, path string) (before, naks, behind int) {
	t.Helper()
	source, err := pcapfile.Open(path, pcapfile.Options{})
	require.NoError(t, err)
	defer source.Close()
	var batch capture.Batch
	var p dissector.Packet
	for source.Next(&batch) == nil {
		for i := range batch.Frames {
			f := &batch.Frames[i]
			_ = dissector.Decode(f.Data, dissector.Meta{LinkType: dissector.LinkTypeEthernet, OriginalLength: f.OriginalLength}, &p) // cut, as it should be
			switch {
			case p.BTH.Opcode.IsAck() && p.AETH.Syndrome.IsNAK():
				naks++
				behind = 0
			case naks == 0:
				before++
			default:
				behind++
			}
		}
	}
	return before, naks, behind
}

func TestConfigurationOfTheFlightRecorder(t *testing.T) {
	for _, test := range []struct{ args, says string }{
		{"--recorder 1", "--recorder must be 0, or between 2"},
		{"--recorder 8 --recorder-bytes 20", "--recorder-bytes must be between 64 and 9216"},
		{"--recorder 8 --recorder-after 2h", "must be between 100ms and 1h"},
		{"--recorder 8 --trigger naks=many", "--trigger naks=many"},
		{"--recorder 8 --trigger divergence=error", "of no use without --replay"},
		{"--recorder 8 --upload server", "--upload: the address of a server begins with http://"},
		{"--upload http://server", "of no use without --recorder"},
		{"--replay --replay-memory 1", "--replay-memory must be between"},
	} {
		var stdout, stderr bytes.Buffer
		args := append([]string{"run", "-i", "lo", "--check"}, strings.Fields(test.args)...)
		assert.Equal(t, exitFailure, run(t.Context(), args, &stdout, &stderr), test.args)
		assert.Contains(t, stderr.String(), test.says)
	}
	local := func(remote, host, token string, headers ...string) bool {
		r := &http.Request{RemoteAddr: remote, Host: host, Header: http.Header{}}
		if len(headers) > 0 {
			r.Header.Set("Authorization", headers[0])
		}
		return permitted(r, token)
	}
	assert.True(t, local("127.0.0.1:1", "127.0.0.1:9477", ""))
	assert.True(t, local("[::1]:1", "localhost:9477", ""))
	assert.False(t, local("10.0.0.1:1", "10.0.0.2:9477", ""))
	assert.False(t, local("127.0.0.1:1", "evil.example:9477", ""), "a name that was pointed here")
	assert.True(t, local("10.0.0.1:1", "10.0.0.2:9477", "secret", "Bearer secret"))
	assert.False(t, local("127.0.0.1:1", "127.0.0.1:9477", "secret"))
	assert.False(t, local("127.0.0.1:1", "127.0.0.1:9477", "secret", "Bearer secre"))
}
