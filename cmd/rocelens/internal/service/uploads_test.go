package service_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/cmd/rocelens/internal/service"
	"github.com/rocelens/rocelens/server/api"
)

// begin creates a tus upload and returns its path.
func (r *running) begin(t *testing.T, name string, size int) string {
	t.Helper()
	got := r.do(t, http.MethodPost, "/api/v1/uploads/", nil, "Tus-Resumable", "1.0.0", "Upload-Length", strconv.Itoa(size),
		"Upload-Metadata", "filename "+base64.StdEncoding.EncodeToString([]byte(name)))
	require.Equal(t, http.StatusCreated, got.status, "%s", got.body)
	location := got.header.Get("Location")
	require.True(t, strings.HasPrefix(location, "/api/v1/uploads/"), "%s", location)
	return location
}

func (r *running) patch(t *testing.T, location string, offset int, content []byte) reply {
	t.Helper()
	return r.do(t, http.MethodPatch, location, bytes.NewReader(content), "Tus-Resumable", "1.0.0",
		"Upload-Offset", strconv.Itoa(offset), "Content-Type", "application/offset+octet-stream")
}

func (r *running) offset(t *testing.T, location string) (int, http.Header) {
	t.Helper()
	got := r.do(t, http.MethodHead, location, nil, "Tus-Resumable", "1.0.0")
	require.Equal(t, http.StatusOK, got.status)
	n, err := strconv.Atoi(got.header.Get("Upload-Offset"))
	require.NoError(t, err)
	return n, got.header
}

// hang sends a part of what it announces and keeps the connection open, after the service has taken the part.
func (r *running) hang(t *testing.T, location string, announced int, content []byte) net.Conn {
	t.Helper()
	connection, err := net.Dial("tcp", strings.TrimPrefix(r.base, "http://"))
	require.NoError(t, err)
	_, err = fmt.Fprintf(connection, "PATCH %s HTTP/1.1\r\nHost: localhost\r\nTus-Resumable: 1.0.0\r\nUpload-Offset: 0\r\n"+
		"Content-Type: application/offset+octet-stream\r\nContent-Length: %d\r\n\r\n", location, announced)
	require.NoError(t, err)
	_, err = connection.Write(content)
	require.NoError(t, err)
	path := filepath.Join(r.dir, "uploads", filepath.Base(location))
	for ticker := time.NewTicker(10 * time.Millisecond); ; <-ticker.C {
		info, err := os.Stat(path)
		require.NoError(t, err)
		if info.Size() == int64(len(content)) {
			ticker.Stop()
			return connection
		}
	}
}

// breakOff sends a part of what it announces, then resets the connection.
func (r *running) breakOff(t *testing.T, location string, announced int, content []byte) {
	t.Helper()
	connection, err := net.Dial("tcp", strings.TrimPrefix(r.base, "http://"))
	require.NoError(t, err)
	_, err = fmt.Fprintf(connection, "PATCH %s HTTP/1.1\r\nHost: localhost\r\nTus-Resumable: 1.0.0\r\nUpload-Offset: 0\r\n"+
		"Content-Type: application/offset+octet-stream\r\nContent-Length: %d\r\n\r\n", location, announced)
	require.NoError(t, err)
	_, err = connection.Write(content)
	require.NoError(t, err)
	require.NoError(t, connection.(*net.TCPConn).CloseWrite())
	// The answer shows that the service has taken note of the end.
	_, err = bufio.NewReader(connection).ReadByte()
	_ = err
	require.NoError(t, connection.Close())
}

func TestUploadGoesOnAfterABrokenConnection(t *testing.T) {
	s := web(t)
	content, truth := generated(t, 2000)
	location := s.begin(t, "broken.pcap", len(content))
	half := len(content) / 2
	s.breakOff(t, location, len(content), content[:half])
	offset, header := s.offset(t, location)
	require.Equal(t, half, offset)
	require.Empty(t, header.Get("Rocelens-Capture-Id"))

	s.patch(t, location, 0, content).problem(t, http.StatusConflict)
	got := s.patch(t, location, offset, content[offset:])
	require.Equal(t, http.StatusNoContent, got.status, "%s", got.body)
	id, err := uuid.Parse(got.header.Get("Rocelens-Capture-Id"))
	require.NoError(t, err)
	c := s.analysed(t, id)
	require.Equal(t, api.CaptureStatusDone, c.Status)
	require.Equal(t, "broken.pcap", c.Name)
	require.EqualValues(t, truth.Packets, c.Totals.Packets)
	sum := sha256.Sum256(content)
	require.Equal(t, hex.EncodeToString(sum[:]), c.Sha256)

	require.Empty(t, got.header.Get("Rocelens-Capture-Known"))

	// The answer to the last bytes may be lost: then the client asks.
	offset, header = s.offset(t, location)
	require.Equal(t, len(content), offset)
	require.Equal(t, id.String(), header.Get("Rocelens-Capture-Id"))

	again := s.begin(t, "again.pcap", len(content))
	got = s.patch(t, again, 0, content)
	require.Equal(t, http.StatusNoContent, got.status)
	require.Equal(t, id.String(), got.header.Get("Rocelens-Capture-Id"), "the same file is the same capture")
	require.Equal(t, "true", got.header.Get("Rocelens-Capture-Known"))
	_, header = s.offset(t, again)
	require.Equal(t, "true", header.Get("Rocelens-Capture-Known"), "and is so when asked later")
	_, header = s.offset(t, location)
	require.Empty(t, header.Get("Rocelens-Capture-Known"))
}

func TestUploadProtocol(t *testing.T) {
	s := web(t)
	options := s.do(t, http.MethodOptions, "/api/v1/uploads/", nil)
	require.Equal(t, "1.0.0", options.header.Get("Tus-Version"))
	require.Contains(t, options.header.Get("Tus-Extension"), "creation")
	require.Equal(t, strconv.Itoa(64<<20), options.header.Get("Tus-Max-Size"))

	empty := s.do(t, http.MethodPost, "/api/v1/uploads/", nil, "Tus-Resumable", "1.0.0", "Upload-Length", "0", "Upload-Metadata", "filename ZQ==")
	require.Equal(t, http.StatusCreated, empty.status)
	require.NotEmpty(t, empty.header.Get("Rocelens-Capture-Id"), "an empty file is whole at once")

	large := s.do(t, http.MethodPost, "/api/v1/uploads/", nil, "Tus-Resumable", "1.0.0", "Upload-Length", strconv.Itoa(65<<20))
	large.problem(t, http.StatusRequestEntityTooLarge)
	s.do(t, http.MethodPost, "/api/v1/uploads/", nil, "Upload-Length", "5").problem(t, http.StatusPreconditionFailed)
	s.do(t, http.MethodPost, "/api/v1/uploads/", nil, "Tus-Resumable", "1.0.0").problem(t, http.StatusBadRequest)
	s.do(t, http.MethodPost, "/api/v1/uploads/", nil, "Tus-Resumable", "1.0.0", "Upload-Defer-Length", "1").problem(t, http.StatusBadRequest)
	s.do(t, http.MethodGet, "/api/v1/uploads/", nil, "Tus-Resumable", "1.0.0").problem(t, http.StatusMethodNotAllowed)
	s.do(t, http.MethodPatch, "/api/v1/uploads/"+strings.Repeat("0", 32), nil, "Tus-Resumable", "1.0.0", "Upload-Offset", "0",
		"Content-Type", "application/offset+octet-stream").problem(t, http.StatusNotFound)
	s.do(t, http.MethodDelete, "/api/v1/uploads/..%2f..%2flock", nil, "Tus-Resumable", "1.0.0").problem(t, http.StatusNotFound)

	location := s.begin(t, "thrown away.pcap", 100)
	require.Equal(t, http.StatusNoContent, s.patch(t, location, 0, make([]byte, 50)).status)
	require.Equal(t, http.StatusNoContent, s.do(t, http.MethodDelete, location, nil, "Tus-Resumable", "1.0.0").status)
	require.Equal(t, http.StatusNotFound, s.do(t, http.MethodHead, location, nil, "Tus-Resumable", "1.0.0").status)
}

func TestUploadsWithoutRoomOnTheDisk(t *testing.T) {
	s := start(t, service.Config{DiskReserve: 1 << 60})
	direct := s.do(t, http.MethodPost, "/api/v1/captures?name=a", strings.NewReader("abc"), "Content-Type", "application/octet-stream")
	require.Contains(t, *direct.problem(t, http.StatusInsufficientStorage).Detail, "The file has 3 bytes, and the disk of the data directory has room for 0 bytes")
	tus := s.do(t, http.MethodPost, "/api/v1/uploads/", nil, "Tus-Resumable", "1.0.0", "Upload-Length", "5")
	require.Contains(t, *tus.problem(t, http.StatusInsufficientStorage).Detail, "delete captures")
	var page api.CaptureList
	s.get(t, "/captures").into(t, &page)
	require.Empty(t, page.Captures)
}

func TestDirectUploadIsLimited(t *testing.T) {
	s := web(t)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/api/v1/captures?name=large", endless{})
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/octet-stream")
	response, err := client.Do(request)
	if err == nil { // otherwise the service hung up while we were still sending, as it may
		require.Equal(t, http.StatusRequestEntityTooLarge, response.StatusCode)
		require.NoError(t, response.Body.Close())
	}
	form := s.do(t, http.MethodPost, "/api/v1/captures?name=a", strings.NewReader("--x--"), "Content-Type", "multipart/form-data; boundary=x")
	require.Contains(t, *form.problem(t, http.StatusUnsupportedMediaType).Detail, "--data-binary")
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestUploadAndAnalysisGoOnAfterARestart(t *testing.T) {
	needDatabase(t)
	config := service.Config{DataDir: t.TempDir(), Workers: 1}
	s, err := launch(config)
	require.NoError(t, err)
	stopped := false
	t.Cleanup(func() {
		if !stopped {
			require.NoError(t, s.stop())
		}
	})

	content, _ := generated(t, 1000)
	location := s.begin(t, "half.pcap", len(content))
	require.Equal(t, http.StatusNoContent, s.patch(t, location, 0, content[:1000]).status)
	large, truth := generated(t, 400_000)
	busy, _ := s.upload(t, "busy.pcap", large)
	waiting, _ := s.upload(t, "waiting.pcap", bulky(t))
	also, _ := s.upload(t, "also waiting.pcap", bulky(t))
	c := s.until(t, busy.Id, func(c api.Capture) bool { return c.Progress != nil && c.Progress.Packets > 0 || c.Analyzed })
	require.Equal(t, api.CaptureStatusAnalyzing, c.Status, "the service is stopped in the middle")
	open := s.begin(t, "open.pcap", len(content))
	hanging := s.hang(t, open, len(content), content[:5000])
	began := time.Now()
	stopped = true
	require.NoError(t, s.stop(), "%s", s.log)
	require.Less(t, time.Since(began), time.Minute)
	require.NoError(t, hanging.Close())
	// A deletion that was begun is finished by the next start.
	require.NoError(t, os.WriteFile(filepath.Join(config.DataDir, "captures", waiting.Id.String()+".deleted"), nil, 0o600))

	s = start(t, config)
	c = s.analysed(t, busy.Id)
	require.Equal(t, api.CaptureStatusDone, c.Status, "%v", c.Message)
	require.EqualValues(t, truth.Packets, c.Totals.Packets)
	require.Equal(t, [][]any{{float64(truth.Packets)}}, s.sql(t, "SELECT toUInt32(count()) FROM packets WHERE capture_id = '"+busy.Id.String()+"'"),
		"nothing of the first attempt is left")
	c = s.analysed(t, also.Id)
	require.Equal(t, api.CaptureStatusDone, c.Status, "%v", c.Message)
	require.EqualValues(t, bulkyPackets, c.Totals.Packets)
	s.get(t, "/captures/"+waiting.Id.String()).problem(t, http.StatusNotFound)

	offset, _ := s.offset(t, open)
	require.Equal(t, 5000, offset, "what had arrived of an open upload was kept")
	offset, _ = s.offset(t, location)
	require.Equal(t, 1000, offset)
	got := s.patch(t, location, offset, content[offset:])
	require.Equal(t, http.StatusNoContent, got.status, "%s", got.body)
	id, err := uuid.Parse(got.header.Get("Rocelens-Capture-Id"))
	require.NoError(t, err)
	c = s.analysed(t, id)
	sum := sha256.Sum256(content)
	require.Equal(t, hex.EncodeToString(sum[:]), c.Sha256)
	require.Equal(t, api.CaptureStatusDone, c.Status)
}
