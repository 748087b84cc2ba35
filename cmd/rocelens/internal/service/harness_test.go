package service_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/cmd/rocelens/internal/service"
	"github.com/rocelens/rocelens/internal/capgen"
	"github.com/rocelens/rocelens/server/api"
)

// running is a service that was started by a test.
type running struct {
	base   string // http://127.0.0.1:PORT
	dir    string // of its data
	cancel context.CancelFunc
	ended  chan struct{}
	err    error // valid once ended is closed
	log    *logBuffer
}

type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// launch starts a service and waits until it is ready.
func launch(config service.Config) (*running, error) {
	r := &running{dir: config.DataDir, ended: make(chan struct{}), log: &logBuffer{}}
	config.Version, config.Listen = "v0.0.0-test", "127.0.0.1:0"
	config.Database.Name = "rocelens"
	config.Logger = slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	ready := make(chan string, 1)
	go func() {
		defer close(r.ended)
		r.err = service.Run(ctx, config, func(address net.Addr) error {
			ready <- "http://" + address.String()
			return nil
		})
	}()
	select {
	case r.base = <-ready:
		return r, nil
	case <-r.ended:
		cancel()
		return nil, fmt.Errorf("%w\n%s", r.err, r.log)
	}
}

// stop ends the service in order.
func (r *running) stop() error {
	r.cancel()
	<-r.ended
	client.CloseIdleConnections()
	return r.err
}

// start is a service of the test's own.
func start(t *testing.T, config service.Config) *running {
	t.Helper()
	needDatabase(t)
	if config.DataDir == "" {
		config.DataDir = t.TempDir()
	}
	r, err := launch(config)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, r.stop())
		if t.Failed() {
			t.Log(r.log)
		}
	})
	return r
}

// shared is one service for all tests that do not mind each other.
var shared sharedService

type sharedService struct {
	mu  sync.Mutex
	r   *running
	err error
	dir string
}

// bombLimit is what may come out of one compressed file in the shared service.
const bombLimit = 1 << 20

func (s *sharedService) stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.r == nil {
		return nil
	}
	return errors.Join(s.r.stop(), os.RemoveAll(s.dir))
}

// troubles are the lines of the shared service's log that tell of some.
func (s *sharedService) troubles() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.r == nil {
		return ""
	}
	var out []string
	for line := range strings.Lines(s.r.log.String()) {
		if strings.Contains(line, "level=ERROR") || strings.Contains(line, "level=WARN") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "")
}

func web(t *testing.T) *running {
	t.Helper()
	needDatabase(t)
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.r == nil && shared.err == nil {
		shared.dir, shared.err = os.MkdirTemp("", "rocelens-shared-*") //nolint:usetesting // outlives the test that asks first
		if shared.err == nil {
			shared.r, shared.err = launch(service.Config{DataDir: shared.dir, MaxUpload: 64 << 20, MaxUnpacked: bombLimit, Workers: 1})
		}
	}
	require.NoError(t, shared.err)
	return shared.r
}

var client = &http.Client{Timeout: 2 * time.Minute}

// reply is an answer that was read to its end.
type reply struct {
	status int
	header http.Header
	body   []byte
}

func (r reply) into(t *testing.T, v any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(r.body, v), "%s", r.body)
}

// problem is the answer as a problem of a status.
func (r reply) problem(t *testing.T, status int) api.Problem {
	t.Helper()
	require.Equal(t, status, r.status, "%s", r.body)
	require.Equal(t, "application/problem+json", r.header.Get("Content-Type"))
	var p api.Problem
	r.into(t, &p)
	require.Equal(t, status, p.Status)
	require.NotEmpty(t, p.Title)
	require.NotNil(t, p.Detail)
	require.Contains(t, p.Type, "/api/docs#problem-")
	return p
}

// do sends a request and holds the answer against the API's document.
func (r *running) do(t *testing.T, method, path string, body io.Reader, header ...string) reply {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, r.base+path, body)
	require.NoError(t, err)
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			request.Host = header[i+1]
		}
		request.Header.Set(header[i], header[i+1])
	}
	response, err := client.Do(request)
	require.NoError(t, err)
	data, err := io.ReadAll(response.Body)
	require.NoError(t, errors.Join(err, response.Body.Close()))
	out := reply{status: response.StatusCode, header: response.Header, body: data}
	hold(t, request, out)
	return out
}

func (r *running) get(t *testing.T, path string) reply {
	t.Helper()
	return r.do(t, http.MethodGet, "/api/v1"+path, nil)
}

// document is the API's document, and what of it the tests have seen answered.
var document = sync.OnceValues(func() (*openapi3.T, error) { return openapi3.NewLoader().LoadFromData(api.YAML) })

var (
	seenMu sync.Mutex
	seen   = map[string]bool{} // operation ids
)

// hold checks that an answer is one that the document promises.
func hold(t *testing.T, request *http.Request, got reply) {
	t.Helper()
	path, ok := strings.CutPrefix(request.URL.Path, "/api/v1")
	if !ok {
		return
	}
	d, err := document()
	require.NoError(t, err)
	for pattern, item := range d.Paths.Map() {
		operation := item.GetOperation(request.Method)
		if operation == nil || !matches(pattern, path) || pattern != path && d.Paths.Value(path) != nil {
			continue
		}
		if got.status < http.StatusBadRequest {
			seenMu.Lock()
			seen[operation.OperationID] = true
			seenMu.Unlock()
		}
		route := &routers.Route{Spec: d, Path: pattern, PathItem: item, Method: request.Method, Operation: operation}
		input := &openapi3filter.ResponseValidationInput{
			RequestValidationInput: &openapi3filter.RequestValidationInput{Request: request, Route: route},
			Status:                 got.status, Header: got.header,
			Options: &openapi3filter.Options{IncludeResponseStatus: true, ExcludeResponseBody: len(got.body) == 0},
		}
		input.SetBodyBytes(got.body)
		require.NoError(t, openapi3filter.ValidateResponse(t.Context(), input), "%s %s answered %d:\n%.2000s", request.Method, path, got.status, got.body)
		return
	}
}

func matches(pattern, path string) bool {
	a, b := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] && (!strings.HasPrefix(a[i], "{") || b[i] == "") {
			return false
		}
	}
	return true
}

func init() {
	for _, mediaType := range []string{"application/x-ndjson", "text/csv", "text/event-stream"} {
		openapi3filter.RegisterBodyDecoder(mediaType, func(body io.Reader, _ http.Header, _ *openapi3.SchemaRef, _ openapi3filter.EncodingFn) (any, error) {
			data, err := io.ReadAll(body)
			return string(data), err
		})
	}
}

// checkCoverage fails when an operation of the document was never answered.
func checkCoverage() int {
	d, err := document()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var missing []string
	for path, item := range d.Paths.Map() {
		for method, operation := range item.Operations() {
			if !seen[operation.OperationID] {
				missing = append(missing, method+" "+path)
			}
		}
	}
	if len(missing) == 0 {
		return 0
	}
	slices.Sort(missing)
	fmt.Fprintf(os.Stderr, "no test saw these operations of the API's document answered: %s\n", strings.Join(missing, ", "))
	return 1
}

// upload posts a file.
func (r *running) upload(t *testing.T, name string, content []byte) (api.Capture, int) {
	t.Helper()
	got := r.do(t, http.MethodPost, "/api/v1/captures?name="+url.QueryEscape(name), bytes.NewReader(content), "Content-Type", "application/octet-stream")
	require.Less(t, got.status, 300, "%s", got.body)
	var c api.Capture
	got.into(t, &c)
	return c, got.status
}

// fresh posts a file that another test may have posted, and makes it new again.
func (r *running) fresh(t *testing.T, name string, content []byte) api.Capture {
	t.Helper()
	c, status := r.upload(t, name, content)
	if status == http.StatusOK {
		require.Equal(t, http.StatusNoContent, r.do(t, http.MethodDelete, "/api/v1/captures/"+c.Id.String(), nil).status)
		c, status = r.upload(t, name, content)
	}
	require.Equal(t, http.StatusCreated, status)
	return c
}

func (r *running) capture(t *testing.T, id uuid.UUID) api.Capture {
	t.Helper()
	got := r.get(t, "/captures/"+id.String())
	require.Equal(t, http.StatusOK, got.status, "%s", got.body)
	var c api.Capture
	got.into(t, &c)
	return c
}

// until asks for a capture until it is as wanted.
func (r *running) until(t *testing.T, id uuid.UUID, wanted func(api.Capture) bool) api.Capture {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		c := r.capture(t, id)
		if wanted(c) {
			return c
		}
		select {
		case <-ticker.C:
		case <-t.Context().Done():
			t.Fatalf("the capture stayed %s", c.Status)
		}
	}
}

// ended waits for the end of an analysis.
func (r *running) analysed(t *testing.T, id uuid.UUID) api.Capture {
	t.Helper()
	return r.until(t, id, func(c api.Capture) bool {
		return c.Status != api.CaptureStatusQueued && c.Status != api.CaptureStatusAnalyzing
	})
}

// sql runs a query and returns its rows.
func (r *running) sql(t *testing.T, query string) [][]any {
	t.Helper()
	got := r.query(t, map[string]any{"sql": query})
	require.Equal(t, http.StatusOK, got.status, "%s", got.body)
	var result api.QueryResult
	got.into(t, &result)
	return result.Rows
}

func (r *running) query(t *testing.T, body map[string]any) reply {
	t.Helper()
	data, err := json.Marshal(body)
	require.NoError(t, err)
	return r.do(t, http.MethodPost, "/api/v1/query", bytes.NewReader(data), "Content-Type", "application/json")
}

// captures that were generated, so that no two have the same content.
var generations atomic.Uint64

// generated is a capture, and the truth about it.
func generated(t *testing.T, packets int) ([]byte, capgen.Truth) {
	t.Helper()
	return generate(t, packets, capgen.Faults{LossBefore: 0.05, Mark: 0.05})
}

func generate(t *testing.T, packets int, faults capgen.Faults) ([]byte, capgen.Truth) {
	t.Helper()
	config := capgen.Default()
	config.Seed, config.Packets, config.Connections, config.Faults = generations.Add(1), packets, 4, faults
	// Small packets: it is their number that takes the time to be tested.
	config.PathMTU, config.MinMessage, config.MaxMessage = 256, 16<<10, 16<<10
	var out bytes.Buffer
	truth, err := capgen.Generate(&out, pcapfile.FormatPcap, config)
	require.NoError(t, err)
	return out.Bytes(), truth
}

// fixture is a file of testdata/derived.
func fixture(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "testdata", "derived", name))
	require.NoError(t, err)
	return data
}
