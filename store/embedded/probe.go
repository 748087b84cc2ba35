package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

// probe finds out by trying whether the reader can read a file outside the data directory.
func (s *Server) probe(ctx context.Context) (confined bool, err error) {
	secret := randomPassword()
	file, err := os.CreateTemp("", "rocelens-probe-*")
	if err != nil {
		return false, fmt.Errorf("make a temporary file: %w", err)
	}
	defer func() { err = errors.Join(err, os.Remove(file.Name())) }()
	_, err = file.WriteString(secret)
	if err = errors.Join(err, file.Close()); err != nil {
		return false, fmt.Errorf("write a temporary file: %w", err)
	}
	query := "SELECT file('" + strings.ReplaceAll(file.Name(), "'", "''") + "')"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.HTTPAddress()+"/", strings.NewReader(query))
	if err != nil {
		return false, fmt.Errorf("ask the database: %w", err)
	}
	request.SetBasicAuth(s.ReaderCredentials())
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false, fmt.Errorf("ask the database: %w", err)
	}
	body, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return false, fmt.Errorf("ask the database: %w", err)
	}
	return response.StatusCode != http.StatusOK && !strings.Contains(string(body), secret), nil
}
