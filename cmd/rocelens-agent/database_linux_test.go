package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/store"
	"github.com/rocelens/rocelens/store/access"
	"github.com/rocelens/rocelens/store/embedded"
)

// directory is where the programs and the shared database are.
var directory string

// TestMain lets the test program be the agent, for tests that need it as a process of its own.
func TestMain(m *testing.M) {
	if os.Getenv("ROCELENS_TEST_AGENT") != "" {
		main()
		return
	}
	var err error
	if directory, err = os.MkdirTemp("", "rocelens-agent-*"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if running != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		err = running.Stop(ctx)
		cancel()
	}
	if err = errors.Join(err, os.RemoveAll(directory)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// database is a ClickHouse with our tables.
type database struct{ *embedded.Server }

// startDatabase starts one and makes the tables.
func startDatabase(ctx context.Context, options embedded.Options) (*embedded.Server, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	server, err := embedded.Start(ctx, options)
	if err != nil {
		return nil, err
	}
	user, password := server.Credentials()
	reader, readerPassword := server.ReaderCredentials()
	s, err := store.Open(ctx, store.Config{
		Address: server.Address(), HTTPAddress: server.HTTPAddress(), Account: access.Account{User: user, Password: password},
		Reader: access.Account{User: reader, Password: readerPassword}, Database: "rocelens",
	})
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		return nil, errors.Join(err, server.Stop(ctx))
	}
	return server, nil
}

// shared is one database for all tests that do not harm it, running the same once it is.
var (
	running *embedded.Server
	shared  = sync.OnceValue(func() (err error) {
		if err = compiled(); err == nil {
			running, err = startDatabase(context.Background(), embedded.Options{Data: filepath.Join(directory, "data"), Program: programFile("rocelens-clickhouse")})
		}
		return err
	})
)

// newDatabase is the shared one, of which all tables are empty.
func newDatabase(t *testing.T) database {
	t.Helper()
	needLibrary(t)
	require.NoError(t, shared())
	db := database{running}
	for name := range strings.FieldsSeq(db.ask(t, "SELECT name FROM system.tables WHERE database = 'rocelens' AND engine LIKE '%MergeTree' AND name NOT LIKE '%version%'")) {
		db.do(t, "TRUNCATE TABLE "+strings.Trim(name, `"`))
	}
	return db
}

// ownDatabase is one of the test's own.
func ownDatabase(t *testing.T) database {
	t.Helper()
	needLibrary(t)
	server, err := startDatabase(t.Context(), embedded.Options{Data: t.TempDir(), Program: program(t, "rocelens-clickhouse"), Restarts: 1000})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		assert.NoError(t, server.Stop(ctx))
	})
	return database{server}
}

// flags name the database on the command line.
func (d database) flags() []string {
	user, password := d.Credentials()
	return []string{"--clickhouse", d.Address(), "--clickhouse-user", user, "--clickhouse-password", password}
}

// ask is the answer to a query as CSV.
func (d database) ask(t *testing.T, query string) string {
	t.Helper()
	return d.do(t, query+" FORMAT CSV")
}

func (d database) do(t *testing.T, statement string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+d.HTTPAddress()+"/?database=rocelens", strings.NewReader(statement))
	require.NoError(t, err)
	request.SetBasicAuth(d.Credentials())
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, "%s: %s", statement, body)
	return strings.TrimSpace(string(body))
}
