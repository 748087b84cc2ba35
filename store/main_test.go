package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rocelens/rocelens/store"
	"github.com/rocelens/rocelens/store/access"
	"github.com/rocelens/rocelens/store/embedded"
)

// server is one embedded database for all tests, program the file that runs it; unavailable says why there is none.
var (
	server      *embedded.Server
	program     string
	unavailable string
)

func TestMain(m *testing.M) {
	directory, err := os.MkdirTemp("", "rocelens-store-*")
	if err == nil {
		err = startServer(directory)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if server != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		err = server.Stop(ctx)
		cancel()
	}
	if err = errors.Join(err, os.RemoveAll(directory)); err == nil {
		err = goleak.Find()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func startServer(directory string) error {
	if _, err := embedded.FindLibrary(""); errors.Is(err, embedded.ErrNoLibrary) {
		unavailable = err.Error()
		return nil
	}
	program = filepath.Join(directory, "rocelens-clickhouse")
	command := exec.Command("go", "build", "-o", program, "github.com/rocelens/rocelens/cmd/rocelens-clickhouse")
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build rocelens-clickhouse: %w\n%s", err, output)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var err error
	server, err = embedded.Start(ctx, embedded.Options{Data: filepath.Join(directory, "data"), Program: program})
	return err
}

// open opens a database of the test's own. Only the one named rocelens is the reader's.
func open(tb testing.TB, database string) *store.Store {
	tb.Helper()
	s, err := store.Open(tb.Context(), config(tb, database))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

func config(tb testing.TB, database string) store.Config {
	tb.Helper()
	if unavailable != "" {
		if os.Getenv("CI") == "true" {
			tb.Fatal(unavailable)
		}
		tb.Skip(unavailable)
	}
	user, password := server.Credentials()
	reader, readerPassword := server.ReaderCredentials()
	return store.Config{
		Address:     server.Address(),
		HTTPAddress: server.HTTPAddress(),
		Account:     access.Account{User: user, Password: password},
		Reader:      access.Account{User: reader, Password: readerPassword},
		Database:    database,
	}
}
