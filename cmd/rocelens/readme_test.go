package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

var readmeExample = regexp.MustCompile("(?s)```console\n\\$ bin/rocelens ([^\n]*)\n(.*?)```")

// TestReadmeExamplesAreWhatIsPrinted runs the commands that README and docs/replay.md show and compares what they claim.
func TestReadmeExamplesAreWhatIsPrinted(t *testing.T) {
	t.Chdir(filepath.Join(packageDirectory, "..", ".."))
	for _, name := range []string{"README.md", "docs/replay.md"} {
		checkExamples(t, name)
	}
}

func checkExamples(t *testing.T, name string) {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	examples := readmeExample.FindAllStringSubmatch(string(text), -1)
	require.NotEmpty(t, examples, "%s shows no command", name)
	for _, example := range examples {
		command, want := example[1], example[2]
		got := execute(t, nil, words(command)...)
		require.Equal(t, 0, got.code, got.err)
		if d := cmp.Diff(want, got.out); d != "" && !*update {
			t.Errorf("%s shows another output of rocelens %s (- file, + printed; -update rewrites it):\n%s", name, command, d)
		}
		text = []byte(strings.Replace(string(text), example[0], "```console\n$ bin/rocelens "+command+"\n"+got.out+"```", 1))
	}
	if *update {
		require.NoError(t, os.WriteFile(name, text, 0o644))
	}
}

// words splits a command line at spaces, but not inside single quotes.
func words(line string) []string {
	var out []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			out = append(out, part)
		} else {
			out = append(out, strings.Fields(part)...)
		}
	}
	return out
}
