package service_test

import (
	"bytes"
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/cmd/rocelens/internal/service"
	"github.com/rocelens/rocelens/store/shipping"
	"github.com/rocelens/rocelens/store/spool"
)

const ingestToken = "0123456789abcdef0123456789abcdef"

// carrying is an agent's shipper that goes by way of a service, and its spool.
func carrying(t *testing.T, target shipping.ServerTarget, batches ...shipping.AgentBatch) (*shipping.Shipper, *spool.Spool) {
	t.Helper()
	from, err := spool.Open(t.TempDir(), spool.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, from.Close()) })
	for _, b := range batches {
		require.NoError(t, from.Add(spool.Entry{Data: b.Data, Units: b.Rows, Time: 1}))
	}
	require.NoError(t, from.Sync())
	s, err := shipping.NewShipper(shipping.ShipperConfig{Server: &target, FirstDelay: time.Millisecond, LastDelay: 50 * time.Millisecond}, from)
	require.NoError(t, err)
	return s, from
}

// until ships until nothing waits.
func until(t *testing.T, s *shipping.Shipper, from *spool.Spool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	for from.State().Records > 0 {
		select {
		case <-s.Progress():
		case <-t.Context().Done():
			t.Fatal(s.State().Problem)
		}
	}
	cancel()
	require.NoError(t, <-ended)
}

// post sends a body to where agents send theirs.
func (r *running) post(t *testing.T, token string, body []byte) reply {
	t.Helper()
	header := []string{"Content-Type", "application/octet-stream"}
	if token != "" {
		header = append(header, "Authorization", token)
	}
	return r.do(t, http.MethodPost, "/api/v1/ingest/batches", bytes.NewReader(body), header...)
}

func TestIngest(t *testing.T) {
	dir := t.TempDir()
	s := start(t, service.Config{DataDir: dir, IngestToken: ingestToken})
	for _, tc := range []struct {
		name, token string
		body        []byte
		status      int
		detail      string
	}{
		{"no token", "", []byte("x"), http.StatusUnauthorized, "--ingest-token-file"},
		{"another token", "Bearer " + strings.Repeat("0", 32), []byte("x"), http.StatusUnauthorized, "--ingest-token-file"},
		{"another scheme", "Basic " + ingestToken, []byte("x"), http.StatusUnauthorized, "--ingest-token-file"},
		{"no batch", "Bearer " + ingestToken, []byte("INSERT INTO flows VALUES (1)"), http.StatusBadRequest, "batch 1 is"},
		{"nothing", "Bearer " + ingestToken, nil, http.StatusBadRequest, "There is no batch"},
		{"too much", "Bearer " + ingestToken, make([]byte, 64<<20+1), http.StatusRequestEntityTooLarge, "64 MiB"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := s.post(t, tc.token, tc.body)
			p := got.problem(t, tc.status)
			require.Contains(t, strings.ToLower(*p.Detail), strings.ToLower(tc.detail))
			require.Equal(t, tc.status == http.StatusUnauthorized, got.header.Get("WWW-Authenticate") == "Bearer")
		})
	}

	agent := simulate("far")
	var batches []shipping.AgentBatch
	for range 5 {
		batches = append(batches, agent.report(4, "")...)
	}
	// A service that is killed, and one that a proxy stands before which loses answers.
	lost, answered := 0, reply{}
	target, err := url.Parse(s.base)
	require.NoError(t, err)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: func(r *http.Response) error {
			if lost++; lost <= 2 {
				return http.ErrAbortHandler // what was stored is not told
			}
			body, err := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			answered = reply{status: r.StatusCode, header: r.Header, body: body}
			return err
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	before := httptest.NewServer(proxy)
	t.Cleanup(before.Close)
	sender, from := carrying(t, shipping.ServerTarget{URL: before.URL, Token: ingestToken}, batches...)
	until(t, sender, from)
	require.Greater(t, lost, 2)
	before.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/api/v1/ingest/batches", http.NoBody)
	require.NoError(t, err)
	hold(t, request, answered)
	require.EqualValues(t, 2, sender.State().Failures)
	require.Empty(t, sender.State().Problem)
	require.Equal(t, [][]any{{20.0, 20.0, 5.0}}, s.sql(t, "SELECT count(), uniqExact(interval_end, flow_id), uniqExact(batch) FROM agent_flows"))
	require.Equal(t, [][]any{{5.0}}, s.sql(t, "SELECT count() FROM agent_intervals"))
	require.Equal(t, [][]any{{"far"}}, s.sql(t, "SELECT host FROM agents"))

	said := string(s.do(t, http.MethodGet, "/metrics", nil).body)
	require.Regexp(t, `\nrocelens_ingest_rows_total [1-9]`, said)
	require.Regexp(t, `\nrocelens_ingest_inserts_total [1-9]`, said)
	require.Contains(t, said, "\nrocelens_ingest_batches_waiting 0\n")
	require.Contains(t, said, `{code="401",method="POST",route="/api/v1/ingest/batches"} 3`)

	shipsOnAfterAReload(t, s)

	wrong, _ := carrying(t, shipping.ServerTarget{URL: s.base, Token: strings.Repeat("0", 32)}, agent.report(1, "")...)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- wrong.Run(ctx) }()
	for wrong.State().Failures < 2 {
		require.NoError(t, ctx.Err())
	}
	cancel()
	require.NoError(t, <-ended)
	require.Contains(t, wrong.State().Problem, "--ingest-token-file")
}

// shipsOnAfterAReload: what was under way when an agent was told of another address is sent again beside new rows, and is there once.
func shipsOnAfterAReload(t *testing.T, s *running) {
	t.Helper()
	target, err := url.Parse(s.base)
	require.NoError(t, err)
	stored := make(chan struct{})
	before := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: func(r *http.Response) error {
			close(stored)
			<-r.Request.Context().Done() // the agent does not wait for the answer
			return http.ErrAbortHandler
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	})
	t.Cleanup(before.Close)
	agent := simulate("reloaded")
	sender, from := carrying(t, shipping.ServerTarget{URL: before.URL, Token: ingestToken}, agent.report(3, "")...)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- sender.Run(ctx) }()
	<-stored
	cancel()
	require.NoError(t, <-ended)
	for _, b := range agent.report(3, "") {
		require.NoError(t, from.Add(spool.Entry{Data: b.Data, Units: b.Rows, Time: 2}))
	}
	require.NoError(t, from.Sync())
	require.NoError(t, sender.Retarget(shipping.ShipperConfig{Server: &shipping.ServerTarget{URL: s.base, Token: ingestToken}}))
	until(t, sender, from)
	require.Equal(t, [][]any{{6.0, 2.0}}, s.sql(t, "SELECT count(), uniqExact(batch) FROM agent_flows WHERE host = 'reloaded'"))
	require.Equal(t, [][]any{{2.0}}, s.sql(t, "SELECT count() FROM agent_intervals WHERE host = 'reloaded'"))
}

func TestIngestIsOffUnlessATokenIsGiven(t *testing.T) {
	s := web(t)
	p := s.post(t, "Bearer "+ingestToken, []byte("x")).problem(t, http.StatusNotFound)
	require.Contains(t, *p.Detail, "start it with --ingest-token-file")
	err := refused(t, service.Config{Listen: "127.0.0.1:0", DataDir: filepath.Join(t.TempDir(), "data"), IngestToken: "short"})
	require.ErrorContains(t, err, "the token for agents has 5 characters: take 16 or more")
}

// The service is killed with its database, again and again, while agents send: each row is there once.
func TestIngestThroughRestarts(t *testing.T) {
	needDatabase(t)
	dir := t.TempDir()
	config := service.Config{DataDir: dir, IngestToken: ingestToken}
	first, err := launch(config)
	require.NoError(t, err)
	way := &switched{}
	way.to(t, first.base)
	before := httptest.NewServer(way)
	t.Cleanup(before.Close)
	agent := simulate("steadfast")
	const reports, flows = 60, 3
	var batches []shipping.AgentBatch
	for range reports {
		batches = append(batches, agent.report(flows, "")...)
	}
	sender, from := carrying(t, shipping.ServerTarget{URL: before.URL, Token: ingestToken}, batches...)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- sender.Run(ctx) }()
	<-sender.Progress()
	require.NoError(t, first.stop())
	second, err := launch(config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, second.stop()) })
	way.to(t, second.base)
	for from.State().Records > 0 {
		select {
		case <-sender.Progress():
		case <-t.Context().Done():
			t.Fatal(sender.State().Problem)
		}
	}
	cancel()
	require.NoError(t, <-ended)
	const want = float64(reports * flows)
	require.Equal(t, [][]any{{want, want}}, second.sql(t, "SELECT count(), uniqExact(interval_end, flow_id) FROM agent_flows"))
}

// switched leads to one service after the other.
type switched struct {
	proxy atomic.Pointer[httputil.ReverseProxy]
}

func (s *switched) to(t *testing.T, base string) {
	t.Helper()
	target, err := url.Parse(base)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ErrorLog = log.New(io.Discard, "", 0) // between two services there is none
	s.proxy.Store(proxy)
}

func (s *switched) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.proxy.Load().ServeHTTP(w, r) }
