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

// TestReadmeExamplesAreWhatIsPrinted runs the commands that README shows and compares what it claims.
func TestReadmeExamplesAreWhatIsPrinted(t *testing.T) {
	root := filepath.Join(packageDirectory, "..", "..")
	t.Chdir(root)
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	examples := readmeExample.FindAllStringSubmatch(string(text), -1)
	require.NotEmpty(t, examples, "README.md shows no command")
	for _, example := range examples {
		command, want := example[1], example[2]
		got := execute(t, nil, words(command)...)
		require.Equal(t, 0, got.code, got.err)
		if d := cmp.Diff(want, got.out); d != "" && !*update {
			t.Errorf("README.md shows another output of rocelens %s (- README, + printed; -update rewrites it):\n%s", command, d)
		}
		text = []byte(strings.Replace(string(text), example[0], "```console\n$ bin/rocelens "+command+"\n"+got.out+"```", 1))
	}
	if *update {
		require.NoError(t, os.WriteFile("README.md", text, 0o644))
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
