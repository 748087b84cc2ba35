package store_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"testing"

	"github.com/rocelens/rocelens/store"
)

// TestAnswersLeftUnreadDoNotHarmTheDatabase leaves answers in every way that a client may. The engine aborts when a
// connection is reset while it writes.
func TestAnswersLeftUnreadDoNotHarmTheDatabase(t *testing.T) {
	s := open(t, "rocelens")
	deaths := server.Restarts()
	const big = "SELECT number, repeat('x', 100) FROM numbers(50000000)"
	for range 100 {
		result, err := s.Query(t.Context(), "SELECT number FROM numbers(5)", 3)
		if err != nil || !result.Truncated || len(result.Rows) != 3 {
			t.Fatalf("cut answer: %d rows, %t, %v", len(result.Rows), result.Truncated, err)
		}
	}
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := s.Stream(ctx, big, func([]store.Column) func([]any) error {
			return func([]any) error { cancel(); return nil }
		})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("cancelled answer: %v", err)
		}
		download, err := s.Download(t.Context(), big, store.FormatCSV)
		if err != nil {
			t.Fatal(err)
		}
		if err := download.Body.Close(); err != nil {
			t.Fatal(err)
		}
		reset(t, big)
	}
	await(t, "SELECT count() FROM system.processes WHERE user = 'reader'", "0")
	if now := server.Restarts(); now != deaths {
		t.Errorf("the database died %d times", now-deaths)
	}
}

// reset asks and leaves as a client does that is killed.
func reset(t *testing.T, statement string) {
	t.Helper()
	var conn *net.TCPConn
	user, password := server.ReaderCredentials()
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		dialed, err := new(net.Dialer).DialContext(ctx, network, address)
		if err == nil {
			conn = dialed.(*net.TCPConn)
		}
		return dialed, err
	}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+server.HTTPAddress()+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.URL.RawQuery = "query=" + url.QueryEscape(statement)
	request.SetBasicAuth(user, password)
	response, err := transport.RoundTrip(request) //nolint:bodyclose // that is what it is about
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(response.Body, make([]byte, 1000)); err != nil {
		t.Fatalf("%s: %v", response.Status, err)
	}
	if err := errors.Join(conn.SetLinger(0), conn.Close()); err != nil {
		t.Fatal(err)
	}
}
