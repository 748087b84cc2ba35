package embedded_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/rocelens/rocelens/store/embedded"
)

// program is rocelens-clickhouse, built for these tests; unavailable says why there is none.
var (
	program     string
	unavailable string
)

func TestMain(m *testing.M) {
	directory, err := os.MkdirTemp("", "rocelens-embedded-*")
	if err == nil {
		err = build(directory)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := os.RemoveAll(directory); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(code)
	}))
}

func build(directory string) error {
	if _, err := embedded.FindLibrary(""); errors.Is(err, embedded.ErrNoLibrary) {
		unavailable = err.Error()
	}
	program = filepath.Join(directory, "rocelens-clickhouse")
	command := exec.Command("go", "build", "-o", program, "github.com/rocelens/rocelens/cmd/rocelens-clickhouse")
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build rocelens-clickhouse: %w\n%s", err, output)
	}
	return nil
}

func needLibrary(t *testing.T) {
	t.Helper()
	if unavailable != "" {
		if os.Getenv("CI") == "true" {
			t.Fatal(unavailable)
		}
		t.Skip(unavailable)
	}
}
