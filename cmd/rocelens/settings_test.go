package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
)

// Files beside the program name its settings; a name that is wrong there is ignored without a word.
func TestSettingsThatFilesNameExist(t *testing.T) {
	var root commandLine
	parser, err := kong.New(&root, kong.Vars{"flow_sorts": flowSortNames()})
	require.NoError(t, err)
	known := map[string]bool{configEnv: true, "ROCELENS_CLICKHOUSE_PROGRAM": true}
	var visit func(*kong.Node)
	visit = func(node *kong.Node) {
		for _, flag := range node.Flags {
			known["--"+flag.Name] = true
			for _, name := range flag.Envs {
				known[name] = true
			}
		}
		for _, child := range node.Children {
			visit(child)
		}
	}
	visit(parser.Model.Node)
	for file, setting := range map[string]*regexp.Regexp{
		"Dockerfile":         regexp.MustCompile(`ROCELENS_[A-Z_]+`),
		"docker-compose.yml": regexp.MustCompile(`ROCELENS_[A-Z_]+`),
		"docs/serve.md":      regexp.MustCompile(`ROCELENS_[A-Z_]+|--[a-z][a-z-]+`),
	} {
		text, err := os.ReadFile(filepath.Join(packageDirectory, "..", "..", file))
		require.NoError(t, err)
		names := setting.FindAllString(string(text), -1)
		require.NotEmpty(t, names, file)
		for _, name := range names {
			require.True(t, known[name], "%s names %s", file, name)
		}
	}
}
