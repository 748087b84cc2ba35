// Package bpftest is what tests of programs for the kernel share.
package bpftest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Current fails the test when the committed programs of the package are not what bpf/build.sh makes of their source.
func Current(t *testing.T) {
	t.Helper()
	out := t.TempDir()
	said, err := exec.CommandContext(t.Context(), "bpf/build.sh", out).CombinedOutput() //nolint:gosec // a script of the package under test
	const otherCompiler = 3
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == otherCompiler {
		t.Skipf("the programs cannot be built here: %s", said)
	}
	require.NoError(t, err, "%s", said)
	committed, err := filepath.Glob("*_bpfel*")
	require.NoError(t, err)
	made, err := filepath.Glob(filepath.Join(out, "*_bpfel*"))
	require.NoError(t, err)
	require.Len(t, made, len(committed))
	for _, path := range made {
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Base(path))
		require.NoError(t, err)
		if !bytes.Equal(want, got) {
			t.Errorf("%s is not current: run make bpf and commit", filepath.Base(path))
		}
	}
}
