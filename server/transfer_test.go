package server

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// uploading is a service of uploads alone, and an upload of 100 bytes that was begun there.
func uploading(t *testing.T) (u *uploads, address, location string) {
	t.Helper()
	s := &Server{opt: Options{DataDir: t.TempDir()}, metrics: newMetrics()}
	s.opt.setDefaults()
	s.opt.DiskReserve, s.log = 1, s.opt.Logger
	require.NoError(t, os.MkdirAll(s.opt.uploadDir(), 0o750))
	u, err := newUploads(s)
	require.NoError(t, err)
	web := httptest.NewServer(s.observed(u))
	t.Cleanup(web.Close)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL+uploadsPath, nil)
	require.NoError(t, err)
	request.Header.Set("Tus-Resumable", "1.0.0")
	request.Header.Set("Upload-Length", "100")
	response, err := web.Client().Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusCreated, response.StatusCode)
	return u, strings.TrimPrefix(web.URL, "http://"), response.Header.Get("Location")
}

// beginTransfer sends the head of a request and the first bytes of its body, and returns what its answer will be read from.
func beginTransfer(t *testing.T, address, method, location, bytes string) *bufio.Reader {
	t.Helper()
	connection, err := net.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, connection.Close()) })
	length := ""
	if method == http.MethodPatch {
		length = "Content-Type: application/offset+octet-stream\r\nUpload-Offset: 0\r\nContent-Length: 100\r\n"
	}
	_, err = fmt.Fprintf(connection, "%s %s HTTP/1.1\r\nHost: localhost\r\nTus-Resumable: 1.0.0\r\n%s\r\n%s", method, location, length, bytes)
	require.NoError(t, err)
	return bufio.NewReader(connection)
}

func answerOf(t *testing.T, method string, from *bufio.Reader) (status int, header http.Header) {
	t.Helper()
	response, err := http.ReadResponse(from, &http.Request{Method: method})
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode, response.Header
}

// arrived waits until so many bytes of an upload are on the disk.
func arrived(t *testing.T, u *uploads, location string, n int64) {
	t.Helper()
	path := u.store.path(strings.TrimPrefix(location, uploadsPath), "")
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for {
		stat, err := os.Stat(path)
		require.NoError(t, err)
		if stat.Size() == n {
			return
		}
		select {
		case <-ticker.C:
		case <-t.Context().Done():
			t.Fatal("the bytes did not arrive")
		}
	}
}

func TestTransferEndsWithTheService(t *testing.T) {
	u, address, location := uploading(t)
	hanging := beginTransfer(t, address, http.MethodPatch, location, "0123456789")
	arrived(t, u, location, 10)
	u.interrupt()
	status, _ := answerOf(t, http.MethodPatch, hanging)
	require.Equal(t, http.StatusServiceUnavailable, status)
	arrived(t, u, location, 10)

	late := beginTransfer(t, address, http.MethodPatch, location, "")
	status, _ = answerOf(t, http.MethodPatch, late)
	require.GreaterOrEqual(t, status, http.StatusBadRequest, "nothing is begun any more")
}

func TestTransferGivesWayToAnotherOfTheSameUpload(t *testing.T) {
	u, address, location := uploading(t)
	hanging := beginTransfer(t, address, http.MethodPatch, location, "0123456789")
	arrived(t, u, location, 10)
	_, head := answerOf(t, http.MethodHead, beginTransfer(t, address, http.MethodHead, location, ""))
	require.Equal(t, "10", head.Get("Upload-Offset"))
	status, _ := answerOf(t, http.MethodPatch, hanging)
	require.Equal(t, http.StatusBadRequest, status)
}
