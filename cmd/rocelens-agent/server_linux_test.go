package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestServerFlags(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte(testToken+"\n"), 0o600))
	for _, test := range []struct {
		name string
		args []string
		says string
		code int
	}{
		{"right", []string{"--server", "https://rocelens.example.net", "--server-token-file", token}, "", 0},
		{"unencrypted", []string{"--server", "http://rocelens.example.net", "--server-token-file", token}, "unencrypted", 0},
		{"unencrypted, within the host", []string{"--server", "http://127.0.0.1:8790", "--server-token", testToken}, "", 0},
		{"no token", []string{"--server", "https://rocelens.example.net"}, "needs the token", exitFailure},
		{"no such file", []string{"--server", "https://rocelens.example.net", "--server-token-file", token + "s"}, "no such file", exitFailure},
		{"no URL", []string{"--server", "rocelens.example.net", "--server-token", testToken}, "is not a URL such as https://", exitFailure},
		{"two tokens", []string{"--server", "https://rocelens.example.net", "--server-token", testToken, "--server-token-file", token}, "leave one out", exitFailure},
		{"two targets", []string{"--server", "https://rocelens.example.net", "--server-token", testToken, "--clickhouse", "db:9000"}, "rows go to one of them", exitFailure},
		{"no server", []string{"--server-token", testToken}, "of no use without --server", exitFailure},
		{"no TLS", []string{"--server", "http://localhost", "--server-token", testToken, "--server-ca", token}, "of no use without https", exitFailure},
		{"no certificate", []string{"--server", "https://localhost", "--server-token", testToken, "--server-ca", token}, "no PEM certificate", exitFailure},
	} {
		t.Run(test.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			assert.Equal(t, test.code, run(t.Context(), append([]string{"run", "-i", "lo", "--check"}, test.args...), &stdout, &stderr))
			if test.says == "" {
				assert.Empty(t, stderr.String())
			}
			assert.Contains(t, stderr.String(), test.says)
		})
	}
}
