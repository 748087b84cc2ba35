package service_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/rocelens/rocelens/store/embedded"
)

// unavailable says why no database can be started; empty: one can.
var unavailable string

func TestMain(m *testing.M) {
	directory, err := os.MkdirTemp("", "rocelens-service-*")
	if err == nil {
		err = prepare(directory)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	flag.Parse()
	code := m.Run()
	if code != 0 {
		fmt.Fprintln(os.Stderr, shared.troubles())
	}
	if err := shared.stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	if code == 0 && unavailable == "" && flag.Lookup("test.run").Value.String() == "" {
		code = checkCoverage()
	}
	if code == 0 {
		// The upload handler lets go of a request a second after its end.
		if err := goleak.Find(goleak.IgnoreAnyFunction("github.com/tus/tusd/v2/pkg/handler.newDelayedContext.func1")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if err := os.RemoveAll(directory); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// prepare builds the database's process.
func prepare(directory string) error {
	library, err := embedded.FindLibrary("")
	if errors.Is(err, embedded.ErrNoLibrary) {
		unavailable = err.Error()
		return nil
	}
	if err != nil {
		return err
	}
	program := filepath.Join(directory, "rocelens-clickhouse")
	command := exec.Command("go", "build", "-o", program, "github.com/rocelens/rocelens/cmd/rocelens-clickhouse")
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build rocelens-clickhouse: %w\n%s", err, output)
	}
	return errors.Join(os.Setenv(embedded.LibraryVariable, library), os.Setenv(embedded.ProgramVariable, program))
}

func needDatabase(t *testing.T) {
	t.Helper()
	if unavailable == "" {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatal(unavailable)
	}
	t.Skip(unavailable)
}
