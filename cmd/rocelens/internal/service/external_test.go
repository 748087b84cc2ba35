package service_test

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/cmd/rocelens/internal/service"
	"github.com/rocelens/rocelens/server/api"
	"github.com/rocelens/rocelens/store/embedded"
)

func TestUsesAServerOfTheUsersOwn(t *testing.T) {
	needDatabase(t)
	server, err := embedded.Start(t.Context(), embedded.Options{Data: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.Background())) })
	database := service.Database{Address: server.Address(), HTTPAddress: server.HTTPAddress()}
	database.User, database.Password = server.Credentials()
	database.Reader, database.ReaderPassword = server.ReaderCredentials()
	// No library is needed, and none is looked for.
	database.Library = "/nowhere/libchdb.so"
	s := start(t, service.Config{Database: database})

	var about api.Service
	s.get(t, "/service").into(t, &about)
	require.False(t, about.Embedded)
	require.True(t, about.QueryEnabled)
	content, truth := generated(t, 500)
	c, _ := s.upload(t, "external.pcap", content)
	c = s.analysed(t, c.Id)
	require.Equal(t, api.CaptureStatusDone, c.Status, "%v", c.Message)
	require.EqualValues(t, truth.Packets, c.Totals.Packets)
	require.Equal(t, "\"n\"\n1\n", string(s.query(t, map[string]any{"sql": "SELECT 1 AS n", "format": "csv"}).body))

	// While the database is away the service says so, and afterwards it goes on.
	process, err := os.FindProcess(server.ProcessID())
	require.NoError(t, err)
	require.NoError(t, process.Signal(syscall.SIGSTOP))
	p := s.get(t, "/healthz").problem(t, http.StatusServiceUnavailable)
	require.Equal(t, "The database does not answer.", *p.Detail)
	require.NoError(t, process.Signal(syscall.SIGCONT))
	require.Equal(t, http.StatusOK, s.get(t, "/healthz").status)
	require.Equal(t, c, s.capture(t, c.Id))
}

func TestDatabaseThatDoesNotAnswer(t *testing.T) {
	err := refused(t, service.Config{Listen: "127.0.0.1:0", DataDir: t.TempDir(), Database: service.Database{Address: "127.0.0.1:1", Name: "rocelens"}})
	require.ErrorContains(t, err, "nothing listens at 127.0.0.1:1: start ClickHouse there, or correct --clickhouse")
}
