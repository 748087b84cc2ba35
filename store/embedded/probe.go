package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// probe finds out by trying whether the reader can read a file: of this machine, of the database's process, its
// configuration, its logs and its data. Each has to be refused.
func (s *Server) probe(ctx context.Context) (confined bool, err error) {
	file, err := os.CreateTemp("", "rocelens-probe-*")
	if err != nil {
		return false, fmt.Errorf("make a temporary file: %w", err)
	}
	defer func() { err = errors.Join(err, os.Remove(file.Name())) }()
	if err := file.Close(); err != nil {
		return false, fmt.Errorf("make a temporary file: %w", err)
	}
	for _, path := range []string{
		file.Name(),
		"/proc/self/environ", "/proc/self/cmdline", "/proc/self/maps", "/proc/self/status",
		s.layout.users(), s.layout.config(), s.layout.errorLog(), filepath.Join(s.layout.logs(), "clickhouse.log"),
		filepath.Join(s.layout.database(), "status"),
	} {
		status, err := s.askAsReader(ctx, "SELECT file('"+strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(path)+"')")
		if err != nil {
			return false, fmt.Errorf("ask the database: %w", err)
		}
		if status == http.StatusOK {
			return false, nil
		}
	}
	return true, nil
}

// askAsReader runs a statement and returns HTTP's status, which is 200 only when it was not refused.
func (s *Server) askAsReader(ctx context.Context, statement string) (status int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.HTTPAddress()+"/", strings.NewReader(statement))
	if err != nil {
		return 0, err
	}
	request.SetBasicAuth(s.ReaderCredentials())
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}
