//go:build linux

package pcapfile

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/capture"
)

func TestFollowGrowsWithTheFile(t *testing.T) {
	t.Parallel()
	for _, format := range []Format{FormatPcap, FormatPcapng} {
		path := temporary(t, written(t, format, WriterOptions{}))
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		require.NoError(t, err)
		s, err := Follow(t.Context(), path, Options{})
		require.NoError(t, err)
		whole := written(t, format, WriterOptions{}, someFrames(3)...)
		rest := whole[len(written(t, format, WriterOptions{})):]
		_, err = f.Write(rest[:len(rest)-10])
		require.NoError(t, err)
		var batch capture.Batch
		require.NoError(t, s.Next(&batch))
		assert.Len(t, batch.Frames, 2)
		_, err = f.Write(rest[len(rest)-10:])
		require.NoError(t, err)
		require.NoError(t, s.Next(&batch))
		assert.Len(t, batch.Frames, 1)
		require.NoError(t, f.Close())
		require.ErrorIs(t, s.Next(&batch), io.EOF, "the writer has closed the file")
		assert.Equal(t, capture.Report{Format: format.String(), Packets: 3}, s.Report())
		require.NoError(t, s.Close())
	}
}

func TestFollowEndsWithItsContext(t *testing.T) {
	t.Parallel()
	path := temporary(t, written(t, FormatPcap, WriterOptions{}, someFrames(2)...))
	ctx, cancel := context.WithCancel(t.Context())
	s, err := Follow(ctx, path, Options{})
	require.NoError(t, err)
	var batch capture.Batch
	require.NoError(t, s.Next(&batch))
	ended := make(chan error)
	go func() { ended <- s.Next(new(capture.Batch)) }()
	cancel()
	require.ErrorIs(t, <-ended, io.EOF)
	assert.False(t, s.Report().Partial)
	require.NoError(t, s.Close())
}

func TestFollowEndsWithTheFile(t *testing.T) {
	t.Parallel()
	path := temporary(t, written(t, FormatPcap, WriterOptions{}, someFrames(2)...))
	s, err := Follow(t.Context(), path, Options{})
	require.NoError(t, err)
	require.NoError(t, os.Remove(path))
	c := drain(t, s, 8)
	assert.Len(t, c.Frames, 2)
	assert.False(t, c.Report.Partial)
}

func TestFollowRefusesAsOpenDoes(t *testing.T) {
	t.Parallel()
	_, err := Follow(t.Context(), temporary(t, bytes.Repeat([]byte("text "), 200)), Options{})
	require.ErrorIs(t, err, ErrNotCapture)
	_, err = Follow(t.Context(), "testdata/none", Options{})
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestFollowEndsWhenTheFileIsCutShort(t *testing.T) {
	t.Parallel()
	for _, format := range []Format{FormatPcap, FormatPcapng} {
		file := written(t, format, WriterOptions{}, someFrames(3)...)
		path := temporary(t, file)
		w, err := os.OpenFile(path, os.O_WRONLY, 0)
		require.NoError(t, err)
		s, err := Follow(t.Context(), path, Options{})
		require.NoError(t, err)
		var batch capture.Batch
		require.NoError(t, s.Next(&batch))
		assert.Len(t, batch.Frames, 3)
		require.NoError(t, w.Truncate(24))
		require.ErrorIs(t, s.Next(&batch), io.EOF)
		report := s.Report()
		assert.True(t, report.Partial)
		assert.Equal(t, int64(len(file)), report.FaultOffset)
		assert.Contains(t, report.Fault, fmt.Sprintf("cut short to 24 bytes while it was followed, after %d had been read; the 3 packets", len(file)))
		require.NoError(t, w.Close())
		require.NoError(t, s.Close())
	}
}

// A file that is moved away is the same file: its writer goes on.
func TestFollowGoesOnWhenTheFileIsRenamed(t *testing.T) {
	t.Parallel()
	path := temporary(t, written(t, FormatPcap, WriterOptions{}, someFrames(1)...))
	w, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	s, err := Follow(t.Context(), path, Options{})
	require.NoError(t, err)
	require.NoError(t, os.Rename(path, path+".1"))
	_, err = w.Write(written(t, FormatPcap, WriterOptions{}, someFrames(1)...)[pcapFileHeader:])
	require.NoError(t, err)
	require.NoError(t, w.Close())
	c := drain(t, s, 8)
	assert.Len(t, c.Frames, 2)
	assert.False(t, c.Report.Partial)
}
