package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tus/tusd/v2/pkg/filestore"
	"github.com/tus/tusd/v2/pkg/handler"
)

func testStore(t *testing.T) *hashingStore {
	t.Helper()
	opt := &Options{DataDir: t.TempDir()}
	opt.setDefaults()
	opt.DiskReserve = 1
	require.NoError(t, os.MkdirAll(opt.uploadDir(), 0o750))
	return &hashingStore{FileStore: filestore.New(opt.uploadDir()), opt: opt, received: func(float64) {}}
}

const testUpload = "0123456789abcdef0123456789abcdef"

func TestChecksumIsThatOfTheWholeUpload(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789"), 1000)
	want := sha256.Sum256(content)
	for _, lose := range []bool{false, true} {
		s := testStore(t)
		u, err := s.NewUpload(t.Context(), handler.FileInfo{ID: testUpload, Size: int64(len(content))})
		require.NoError(t, err)
		n, err := u.WriteChunk(t.Context(), 0, bytes.NewReader(content[:3333]))
		require.NoError(t, err)
		require.EqualValues(t, 3333, n)
		if lose { // as after a crash between the bytes and their checksum
			require.NoError(t, os.Remove(s.path(testUpload, suffixSum)))
		}
		u, err = s.GetUpload(t.Context(), testUpload)
		require.NoError(t, err)
		_, err = u.WriteChunk(t.Context(), 3333, bytes.NewReader(content[3333:]))
		require.NoError(t, err)
		got, err := s.sum(t.Context(), testUpload)
		require.NoError(t, err)
		require.Equal(t, hex.EncodeToString(want[:]), got)
	}
}

func TestUploadEndsWhenTheDiskFillsUp(t *testing.T) {
	s := testStore(t)
	s.opt.DiskReserve = 1 << 60
	body := s.opt.watched(io.LimitReader(zeros{}, 2*diskCheckEvery), 0)
	n, err := io.Copy(io.Discard, body)
	require.GreaterOrEqual(t, n, int64(diskCheckEvery)/2)
	require.Less(t, n, int64(2*diskCheckEvery))
	require.Equal(t, kindDiskFull, asProblem(uploadError(err)).kind)
	require.Equal(t, kindDiskFull, asProblem(uploadError(&os.PathError{Op: "write", Err: syscall.ENOSPC})).kind)
	var theirs handler.Error
	require.ErrorAs(t, tusError(uploadError(err)), &theirs)
	require.Equal(t, 507, theirs.HTTPResponse.StatusCode)
	require.Equal(t, errDiskFull.detail, tusProblem(507, strings.TrimSpace(theirs.HTTPResponse.Body)).detail)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestExpiryLeavesLiveUploadsAlone(t *testing.T) {
	s := testStore(t)
	old := "f" + testUpload[1:]
	for _, id := range []string{testUpload, old} {
		u, err := s.NewUpload(t.Context(), handler.FileInfo{ID: id, Size: 100})
		require.NoError(t, err)
		_, err = u.WriteChunk(t.Context(), 0, strings.NewReader("abc"))
		require.NoError(t, err)
	}
	past := time.Now().Add(-48 * time.Hour)
	for _, suffix := range uploadSuffixes {
		if _, err := os.Stat(s.path(old, suffix)); err == nil {
			require.NoError(t, os.Chtimes(s.path(old, suffix), past, past))
		}
	}
	u := &uploads{s: &Server{}, store: s}
	u.s.opt.setDefaults()
	u.s.log = u.s.opt.Logger
	u.expireOnce(context.Background(), time.Now().Add(-24*time.Hour))
	require.Equal(t, []string{testUpload}, s.list())
	left, err := os.ReadDir(s.Path)
	require.NoError(t, err)
	for _, file := range left {
		require.True(t, strings.HasPrefix(file.Name(), testUpload), file.Name())
	}
}
