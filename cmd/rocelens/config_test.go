package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
)

// written is a configuration file with a content.
func written(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rocelens.toml")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// TestConfigurationThatCannotBeUsed asks for one sentence that names the file, and for the exit code of failures: the
// command line itself was right.
func TestConfigurationThatCannotBeUsed(t *testing.T) {
	for content, wanted := range map[string]string{
		"listen = {port = 1}":            "listen cannot be a table",
		"[listen]\nport = 1":             "listen cannot be a table",
		"allow-host = [{name = \"a\"}]":  "allow-host cannot be a list of tables",
		"workers = [1, 2]":               "workers cannot be a list",
		"listen = 1979-05-27":            "listen cannot be a date",
		"[serve]\nworkers = 1":           "unknown keys serve; there are allow-host, ",
		"listen = ":                      "line 1, column 10",
		"listen = \"a\"\nlisten = \"b\"": "listen is already defined",
		"check = true":                   "unknown keys check",
	} {
		path := written(t, content)
		got := execute(t, nil, "serve", "--check", "--config", path)
		require.Equal(t, exitFailure, got.code, "%s: %s", content, got.err)
		require.Regexp(t, `^rocelens: configuration file `+path+`[:,] [^\n]*\n$`, got.err, content)
		require.Contains(t, got.err, wanted, content)
		require.Empty(t, got.out)
	}
}

func TestConfigurationIsRead(t *testing.T) {
	path := written(t, `
workers = 2
listen = "127.0.0.1:0"
clickhouse = "127.0.0.1:9000"
allow-host = ["one.example", "with, comma"]
upload-expiry = "1h"
max-upload = "2GiB"
`)
	got := execute(t, nil, "serve", "--check", "--config", path)
	require.Zero(t, got.code, got.err)
	require.Equal(t, "the configuration is good\n", got.out)
	got = execute(t, nil, "serve", "--check", "--config", path, "--workers=-1")
	require.Contains(t, got.err, "--workers -1", "the command line goes before the file")
	t.Setenv("ROCELENS_WORKERS", "-3")
	got = execute(t, nil, "serve", "--check", "--config", path)
	require.Contains(t, got.err, "--workers -3", "the environment does, too")
	got = execute(t, nil, "serve", "--check", "--config", filepath.Join(t.TempDir(), "none.toml"))
	require.Equal(t, exitFailure, got.code)
	require.Contains(t, got.err, "there is no configuration file")
}

// TestEmptySettingsAreNone: compose files pass variables on that nobody has set.
func TestEmptySettingsAreNone(t *testing.T) {
	library := filepath.Join(t.TempDir(), "libchdb.so")
	for _, name := range []string{"ROCELENS_CLICKHOUSE_LIBRARY", "ROCELENS_CLICKHOUSE_CA", "ROCELENS_DATA", "ROCELENS_CLICKHOUSE"} {
		t.Setenv(name, "")
	}
	var flags struct {
		databaseFlags `embed:""`
	}
	parser, err := kong.New(&flags)
	require.NoError(t, err)
	_, err = parser.Parse(nil)
	require.NoError(t, err)
	require.Empty(t, flags.Library)
	require.Empty(t, flags.ClickHouseCA)
	_, err = parser.Parse([]string{"--library", library, "--clickhouse-ca", "~/ca.pem"})
	require.NoError(t, err)
	require.Equal(t, library, flags.database().Library)
	require.True(t, filepath.IsAbs(flags.database().CAFile))
}
