package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/internal/vethtest"
	"github.com/rocelens/rocelens/store/embedded"
)

const testToken = "0123456789abcdef0123456789abcdef"

// remote is a service that takes rows of agents, as a process of its own.
type remote struct {
	program, data, address string
	process                *exec.Cmd
}

// newRemote builds one.
func newRemote(t *testing.T) *remote {
	t.Helper()
	if _, err := embedded.FindLibrary(""); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	directory := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", directory, "github.com/rocelens/rocelens/cmd/rocelens", "github.com/rocelens/rocelens/cmd/rocelens-clickhouse")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close()) // the same port at each start
	return &remote{program: filepath.Join(directory, "rocelens"), data: filepath.Join(directory, "data"), address: listener.Addr().String()}
}

// start returns when the service is ready.
func (r *remote) start(t *testing.T) {
	t.Helper()
	r.process = exec.CommandContext(t.Context(), r.program, "serve", "--listen", r.address, "--data", r.data)
	library, err := embedded.FindLibrary("")
	require.NoError(t, err)
	r.process.Env = append(os.Environ(), "ROCELENS_INGEST_TOKEN="+testToken, embedded.LibraryVariable+"="+library)
	var stderr lockedBuffer
	r.process.Stderr = &stderr
	stdout, err := r.process.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, r.process.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err, "%s", stderr.Bytes())
	require.Contains(t, line, "is ready at")
}

// kill ends it as a lack of memory would.
func (r *remote) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, r.process.Process.Kill())
	_ = r.process.Wait() // it was killed, which is an error
}

// ask is the one row of a query's answer; empty while the service does not answer.
func (r *remote) ask(t *testing.T, sql string) string {
	t.Helper()
	body, err := json.Marshal(map[string]string{"sql": sql, "format": "csv"})
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+r.address+"/api/v1/query", bytes.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, "%s", text)
	_, row, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return row
}

// What is sent is what the rows count, though the service and its database are killed meanwhile.
func TestRowsGoThroughTheService(t *testing.T) {
	service := newRemote(t)
	service.start(t)
	t.Cleanup(func() { service.kill(t) })
	left, right := vethtest.Pair(t)
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte(testToken+"\n"), 0o600))
	agent := start(t, right, "--server", "http://"+service.address, "--server-token-file", token, "--interval", "1s", "--state", t.TempDir(), "--host", "node7")
	require.Eventually(t, func() bool { return service.ask(t, "SELECT count() > 0 AS n FROM agents") == "1" }, patience, glance, "%s", agent.stderr.Bytes())
	frames := framesOf(t, "allreduce-loss.pcapng")
	left.Send(t, frames)
	service.kill(t)
	left.Send(t, frames)
	service.start(t)
	left.Send(t, frames)
	sent := 3 * len(frames)
	require.Eventually(t, func() bool {
		return service.ask(t, "SELECT sum(packets) >= "+strconv.Itoa(sent)+" AS n FROM agent_flows") == "1"
	}, patience, glance, "%s", agent.stderr.Bytes())
	agent.end(t)
	assert.Equal(t, strconv.Itoa(sent), service.ask(t, "SELECT sum(packets) AS n FROM agent_flows"))
	assert.Equal(t, "1", service.ask(t, "SELECT (SELECT sum(spool_out) FROM agent_intervals) = (SELECT sum(packets) FROM agent_flows) AS same"))
	assert.Equal(t, "0", service.ask(t, "SELECT count() - uniqExact(interface, interval_end) AS doubled FROM agent_intervals"))
}

func TestServerFlags(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte(testToken+"\n"), 0o600))
	for _, test := range []struct {
		name string
		args []string
		says string
		code int
	}{
		{"right", []string{"--server", "https://rocelens.example.net", "--server-token-file", token}, "", 0},
		{"unencrypted", []string{"--server", "http://rocelens.example.net", "--server-token-file", token}, "unencrypted", 0},
		{"unencrypted, within the host", []string{"--server", "http://127.0.0.1:8790", "--server-token", testToken}, "", 0},
		{"no token", []string{"--server", "https://rocelens.example.net"}, "needs the token", exitFailure},
		{"no such file", []string{"--server", "https://rocelens.example.net", "--server-token-file", token + "s"}, "no such file", exitFailure},
		{"no URL", []string{"--server", "rocelens.example.net", "--server-token", testToken}, "is not a URL such as https://", exitFailure},
		{"two tokens", []string{"--server", "https://rocelens.example.net", "--server-token", testToken, "--server-token-file", token}, "leave one out", exitFailure},
		{"two targets", []string{"--server", "https://rocelens.example.net", "--server-token", testToken, "--clickhouse", "db:9000"}, "rows go to one of them", exitFailure},
		{"no server", []string{"--server-token", testToken}, "of no use without --server", exitFailure},
		{"no TLS", []string{"--server", "http://localhost", "--server-token", testToken, "--server-ca", token}, "of no use without https", exitFailure},
		{"no certificate", []string{"--server", "https://localhost", "--server-token", testToken, "--server-ca", token}, "no PEM certificate", exitFailure},
	} {
		t.Run(test.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			assert.Equal(t, test.code, run(t.Context(), append([]string{"run", "-i", "lo", "--check"}, test.args...), &stdout, &stderr))
			if test.says == "" {
				assert.Empty(t, stderr.String())
			}
			assert.Contains(t, stderr.String(), test.says)
		})
	}
}
