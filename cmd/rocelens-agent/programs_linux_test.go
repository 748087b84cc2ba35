package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/store/embedded"
)

// compiled makes the programs, as they are released.
var compiled = sync.OnceValue(func() error {
	const path = "github.com/rocelens/rocelens/cmd/"
	command := exec.Command("go", "build", "-o", directory, path+"rocelens", path+"rocelens-agent", path+"rocelens-clickhouse")
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	return nil
})

func programFile(name string) string { return filepath.Join(directory, name) }

// program is the path of one that is compiled.
func program(t *testing.T, name string) string {
	t.Helper()
	require.NoError(t, compiled())
	return programFile(name)
}

// needLibrary skips a test where no database can be started, and tells where the library is.
func needLibrary(t *testing.T) string {
	t.Helper()
	library, err := embedded.FindLibrary("")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	return library
}
