package embedded_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/rocelens/rocelens/store/embedded"
)

func start(t *testing.T, options embedded.Options) *embedded.Server {
	t.Helper()
	options.Program = program
	server, err := embedded.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := server.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return server
}

// ask runs a statement over HTTP and returns status and body.
func ask(t *testing.T, server *embedded.Server, user, password, query string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+server.HTTPAddress()+"/", strings.NewReader(query))
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth(user, password)
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, strings.TrimSpace(string(body))
}

func service(t *testing.T, server *embedded.Server, query string) string {
	t.Helper()
	user, password := server.Credentials()
	status, body := ask(t, server, user, password, query)
	if status != http.StatusOK {
		t.Fatalf("%s: %d %s", query, status, body)
	}
	return body
}

func TestDataSurvivesARestart(t *testing.T) {
	needLibrary(t)
	data := t.TempDir()
	first, err := embedded.Start(t.Context(), embedded.Options{Data: data, Program: program})
	if err != nil {
		t.Fatal(err)
	}
	service(t, first, "CREATE DATABASE kept")
	service(t, first, "CREATE TABLE kept.t (n UInt64) ENGINE = MergeTree ORDER BY n")
	service(t, first, "INSERT INTO kept.t SELECT number FROM numbers(1000)")
	if err := first.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := start(t, embedded.Options{Data: data})
	if got := service(t, second, "SELECT sum(n) FROM kept.t"); got != "499500" {
		t.Errorf("sum after the restart = %s, want 499500", got)
	}
	if !second.Confined() {
		t.Error("the database is not confined to its own files")
	}
}

func TestASecondServiceIsRefused(t *testing.T) {
	needLibrary(t)
	data := t.TempDir()
	start(t, embedded.Options{Data: data})
	_, err := embedded.Start(t.Context(), embedded.Options{Data: data, Program: program})
	wantError(t, err, "the data directory is in use by another rocelens: "+data)
}

func TestAKilledDatabaseComesBack(t *testing.T) {
	needLibrary(t)
	server := start(t, embedded.Options{Data: t.TempDir()})
	service(t, server, "CREATE DATABASE kept")
	address := server.HTTPAddress()
	killed(t, server, syscall.SIGKILL)
	if server.HTTPAddress() != address {
		t.Errorf("address = %s, before it was %s", server.HTTPAddress(), address)
	}
	if got := service(t, server, "SELECT count() FROM system.databases WHERE name = 'kept'"); got != "1" {
		t.Errorf("databases named kept = %s, want 1", got)
	}
}

// killed sends a signal to the database and waits for the next one.
func killed(t *testing.T, server *embedded.Server, signal syscall.Signal) {
	t.Helper()
	restarts := server.Restarts()
	if err := syscall.Kill(server.ProcessID(), signal); err != nil {
		t.Fatal(err)
	}
	for server.Restarts() == restarts {
		select {
		case <-server.Done():
			t.Fatal(server.Err())
		case <-t.Context().Done():
			t.Fatal("not started again")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func TestTheLogTellsWhatTheEngineSaysOfItsEnd(t *testing.T) {
	needLibrary(t)
	var log bytes.Buffer // written before a restart is counted
	server := start(t, embedded.Options{Data: t.TempDir(), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	killed(t, server, syscall.SIGABRT)
	if !strings.Contains(log.String(), "Signal description: Aborted") {
		t.Errorf("an abort is not explained: %s", log.String())
	}
	log.Reset()
	killed(t, server, syscall.SIGKILL)
	if strings.Contains(log.String(), "Aborted") {
		t.Errorf("an end is explained by another: %s", log.String())
	}
}

func TestNobodyIsDefault(t *testing.T) {
	needLibrary(t)
	server := start(t, embedded.Options{Data: t.TempDir()})
	status, body := ask(t, server, "default", "", "SELECT 1")
	if status == http.StatusOK || !strings.Contains(body, "USER_SESSION_LIMIT_EXCEEDED") {
		t.Errorf("default may ask: %d %s", status, body)
	}
}

// The engine ends with every client that fails before it is logged in: it must not meet one.
func TestWhoKnocksAndIsNotLetInDoesNoHarm(t *testing.T) {
	needLibrary(t)
	server := start(t, embedded.Options{Data: t.TempDir()})
	service, _ := server.Credentials()
	for name, user := range map[string]clickhouse.Auth{
		"wrong password": {Database: "system", Username: service, Password: "wrong"},
		"nobody":         {Database: "system", Username: "nobody"},
		"default":        {Database: "system", Username: "default"},
	} {
		conn, err := clickhouse.Open(&clickhouse.Options{Addr: []string{server.Address()}, Auth: user})
		if err != nil {
			t.Fatal(err)
		}
		var refusal *clickhouse.Exception
		if err := conn.Ping(t.Context()); !errors.As(err, &refusal) || refusal.Code != 516 || !strings.HasPrefix(refusal.Message, user.Username+": Authentication failed") {
			t.Errorf("%s: %v, want code 516", name, err)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
	for name, sent := range map[string]string{
		"nothing": "", "half a packet": "\x00\x10", "HTTP": "GET / HTTP/1.1\r\n\r\n", "TLS": "\x16\x03\x01\x02\x00\x01",
		"a text without an end": "\x00\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "another packet": "\x01",
	} {
		for _, address := range []string{server.Address(), server.HTTPAddress()} {
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(conn, sent); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	user, password := server.Credentials()
	if status, body := ask(t, server, user, password, "SELECT 1"); status != http.StatusOK || server.Restarts() != 0 {
		t.Errorf("afterwards: %d %s, started again %d times", status, body, server.Restarts())
	}
}

func TestTheEngineKeepsNoLogTables(t *testing.T) {
	needLibrary(t)
	server := start(t, embedded.Options{Data: t.TempDir()})
	service(t, server, "SYSTEM FLUSH LOGS")
	if got := service(t, server, "SELECT count() FROM system.tables WHERE engine LIKE '%MergeTree'"); got != "0" {
		t.Errorf("tables of the engine's own = %s, want 0", got)
	}
}

func TestSentences(t *testing.T) {
	needLibrary(t)
	library, err := embedded.FindLibrary("")
	if err != nil {
		t.Fatal(err)
	}
	notALibrary := filepath.Join(t.TempDir(), "libchdb.so")
	if err := os.WriteFile(notALibrary, []byte("not a library at all"), 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	taken := listener.Addr().(*net.TCPAddr).AddrPort().Port()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		options embedded.Options
		want    string
	}{
		"library absent":     {embedded.Options{Library: "/nowhere/libchdb.so"}, "the ClickHouse library is not installed at /nowhere/libchdb.so"},
		"library is none":    {embedded.Options{Library: notALibrary}, "is not a shared library"},
		"program absent":     {embedded.Options{Library: library, Program: "/nowhere/program"}, "the program rocelens-clickhouse"},
		"port taken":         {embedded.Options{Library: library, HTTPPort: taken}, "a port of the database is in use by another program"},
		"disk too full":      {embedded.Options{Library: library, MinFree: math.MaxUint64}, "GiB free and the database needs"},
		"no directory":       {embedded.Options{Library: library, Data: file}, "the data directory cannot be made"},
		"name of a database": {embedded.Options{Library: library, Database: "a; DROP"}, "is no name for the database"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.options.Data == "" {
				test.options.Data = t.TempDir()
			}
			if test.options.Program == "" {
				test.options.Program = program
			}
			_, err := embedded.Start(t.Context(), test.options)
			wantError(t, err, test.want)
		})
	}
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error = %v, want one line with %q", err, want)
	}
}
