package store_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rocelens/rocelens/store"
)

// ask runs a statement as the service, past the store.
func ask(tb testing.TB, query string) string {
	tb.Helper()
	request, err := http.NewRequestWithContext(tb.Context(), http.MethodPost, "http://"+server.HTTPAddress()+"/", strings.NewReader(query))
	if err != nil {
		tb.Fatal(err)
	}
	request.SetBasicAuth(server.Credentials())
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		tb.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		tb.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		tb.Fatalf("%s: %s", query, body)
	}
	return strings.TrimSpace(string(body))
}

func newCapture(name string) *store.Capture {
	return &store.Capture{
		ID: uuid.New(), Name: name, Size: 1 << 40, SHA256: strings.Repeat("0a", 32), Status: store.StatusQueued,
		UploadedAt: time.Unix(0, start).UTC(),
	}
}

// forwarder is a connection to the database that can be cut.
type forwarder struct {
	target   string
	listener net.Listener
	mutex    sync.Mutex
	open     map[net.Conn]struct{}
	down     bool
	done     sync.WaitGroup
}

func newForwarder(t *testing.T, target string) *forwarder {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &forwarder{target: target, listener: listener, open: map[net.Conn]struct{}{}}
	f.done.Go(f.accept)
	t.Cleanup(func() {
		f.cut()
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
		f.done.Wait()
	})
	return f
}

func (f *forwarder) address() string { return f.listener.Addr().String() }

func (f *forwarder) accept() {
	for {
		client, err := f.listener.Accept()
		if err != nil {
			return
		}
		database, err := net.Dial("tcp", f.target)
		if err != nil || !f.keep(client, database) {
			client.Close()
			continue
		}
		for _, pair := range [][2]net.Conn{{client, database}, {database, client}} {
			f.done.Go(func() {
				_, _ = io.Copy(pair[0], pair[1])
				pair[0].Close()
				pair[1].Close()
			})
		}
	}
}

func (f *forwarder) keep(connections ...net.Conn) bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for _, c := range connections {
		if f.down {
			c.Close()
		}
		f.open[c] = struct{}{}
	}
	return !f.down
}

// cut closes all connections and refuses new ones.
func (f *forwarder) cut() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.down = true
	for c := range f.open {
		c.Close()
	}
	clear(f.open)
}

func (f *forwarder) mend(t *testing.T) {
	t.Helper()
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.down = false
}
