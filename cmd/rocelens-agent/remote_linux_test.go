package main

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const testToken = "0123456789abcdef0123456789abcdef"

// service is rocelens serve, a process of its own, on the test's database. It takes rows of agents.
type service struct {
	db            database
	program       string
	address, data string
	process       *exec.Cmd
	said          lockedBuffer
}

// newService starts one, whose address and data stay the same when it is started again.
func newService(t *testing.T, db database) *service {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	s := &service{db: db, program: program(t, "rocelens"), address: listener.Addr().String(), data: t.TempDir()}
	require.True(t, s.start(t), "%s", s.said.Bytes())
	t.Cleanup(func() { s.kill(t) })
	return s
}

// start tells whether the service has become ready, which it does not while its database is away.
func (s *service) start(t *testing.T) bool {
	t.Helper()
	user, password := s.db.Credentials()
	reader, readerPassword := s.db.ReaderCredentials()
	s.process = exec.Command(s.program, "serve", "--listen", s.address, "--data", s.data,
		"--clickhouse", s.db.Address(), "--clickhouse-http", s.db.HTTPAddress(), "--clickhouse-user", user, "--clickhouse-reader", reader)
	s.process.Env = append(os.Environ(), "ROCELENS_CLICKHOUSE_PASSWORD="+password, "ROCELENS_CLICKHOUSE_READER_PASSWORD="+readerPassword, "ROCELENS_INGEST_TOKEN="+testToken)
	s.process.Stderr = &s.said
	stdout, err := s.process.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, s.process.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err == nil && strings.Contains(line, "is ready at") {
		return true
	}
	_ = s.process.Wait() // its log says why
	return false
}

// kill ends it as a lack of memory would.
func (s *service) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, s.process.Process.Kill())
	_ = s.process.Wait() // it was killed, which is an error
}

// revive starts it again, as often as its database needs to come back.
func (s *service) revive(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { return s.start(t) }, 2*patience, time.Second/4, "%s", s.said.Bytes())
}
