package service_test

import (
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/cmd/rocelens/internal/service"
)

// refused runs a service that cannot start.
func refused(t *testing.T, config service.Config) error {
	t.Helper()
	config.Logger = slog.New(slog.DiscardHandler)
	return service.Run(t.Context(), config, func(net.Addr) error {
		t.Error("it started")
		return nil
	})
}

func TestWhatKeepsTheServiceFromStarting(t *testing.T) {
	needDatabase(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, taken.Close()) })
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	missing := filepath.Join(t.TempDir(), "libchdb.so")

	for _, tc := range []struct {
		name   string
		config service.Config
		want   string
	}{
		{"port in use", service.Config{Listen: taken.Addr().String(), DataDir: t.TempDir()}, taken.Addr().String() + " is in use by another program: stop it, or choose another port with --listen"},
		{"no port", service.Config{Listen: "127.0.0.1", DataDir: t.TempDir()}, "--listen 127.0.0.1: write it as HOST:PORT"},
		{"not of this machine", service.Config{Listen: "192.0.2.1:0", DataDir: t.TempDir()}, "192.0.2.1:0 is not an address of this machine"},
		{"data is a file", service.Config{Listen: "127.0.0.1:0", DataDir: file}, file + " is not a directory: choose another with --data"},
		{"workers below none", service.Config{Listen: "127.0.0.1:0", DataDir: t.TempDir(), Workers: -5}, "--workers -5: write 1 or more, or 0"},
		{"expiry in the past", service.Config{Listen: "127.0.0.1:0", DataDir: t.TempDir(), UploadExpiry: -time.Hour}, "--upload-expiry -1h0m0s: write a time that is to come"},
		{"no name of a database", service.Config{Listen: "127.0.0.1:0", DataDir: t.TempDir(), Database: service.Database{Name: "a-b"}}, "--clickhouse-database a-b: write letters, digits and underscores"},
		{"no address of HTTP", service.Config{Listen: "127.0.0.1:0", DataDir: t.TempDir(), Database: service.Database{Address: "127.0.0.1:1", HTTPAddress: "http://ch"}}, "--clickhouse-http http://ch: write it as HOST:PORT"},
		{"a URL for an address", service.Config{Listen: "127.0.0.1:0", DataDir: t.TempDir(), Database: service.Database{Address: "http://ch"}}, "--clickhouse http://ch: write it as HOST:PORT"},
		{"library is missing", service.Config{Listen: "127.0.0.1:0", DataDir: t.TempDir(), Database: service.Database{Library: missing}}, "make"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := refused(t, tc.config)
			require.ErrorContains(t, err, tc.want)
			require.NotContains(t, err.Error(), "\n", "one sentence")
		})
	}
}

func TestDataDirectoryBelongsToOneService(t *testing.T) {
	dir := t.TempDir()
	start(t, service.Config{DataDir: dir})
	err := refused(t, service.Config{Listen: "127.0.0.1:0", DataDir: dir})
	require.ErrorContains(t, err, "is used by another rocelens (process ")
	require.ErrorContains(t, err, "choose another directory with --data")
}
