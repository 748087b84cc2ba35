package pcapfile

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/capture"
)

// contents is all that a source gave.
type contents struct {
	Frames     []capture.Frame
	Interfaces []capture.Interface
	Report     capture.Report
	Index      Index
}

// drain reads a source to its end, in batches of the given size, and copies the frames.
func drain(tb testing.TB, s *Source, batchSize int) contents {
	tb.Helper()
	var c contents
	batch := capture.Batch{Frames: make([]capture.Frame, 0, batchSize)}
	for {
		err := s.Next(&batch)
		if err != nil {
			require.ErrorIs(tb, err, io.EOF)
			break
		}
		require.NotEmpty(tb, batch.Frames)
		for _, f := range batch.Frames {
			f.Data = bytes.Clone(f.Data)
			c.Frames = append(c.Frames, f)
		}
	}
	require.ErrorIs(tb, s.Next(&batch), io.EOF, "the end stays the end")
	c.Interfaces, c.Report, c.Index = s.Interfaces(), s.Report(), s.Index()
	require.NoError(tb, s.Close())
	return c
}

// readFile reads a file in each way there is, and requires that all of them tell the same.
func readFile(tb testing.TB, path string) contents {
	tb.Helper()
	mapped, err := Open(path, Options{Map: true})
	require.NoError(tb, err)
	want := drain(tb, mapped, 7)

	read, err := Open(path, Options{})
	require.NoError(tb, err)
	same(tb, want, drain(tb, read, 512), "mapped and read")

	f, err := os.Open(path)
	require.NoError(tb, err)
	defer func() { require.NoError(tb, f.Close()) }()
	piped, err := New(&dribble{r: f}, "pipe", Options{})
	require.NoError(tb, err)
	same(tb, want, drain(tb, piped, 512), "mapped and piped")
	return want
}

func same(tb testing.TB, want, got contents, what string) {
	tb.Helper()
	if !reflect.DeepEqual(want, got) { // a diff of long frames takes seconds, even when they are equal
		require.Empty(tb, cmp.Diff(want, got), what)
	}
}

// readBytes is readFile for a file made by the test.
func readBytes(tb testing.TB, b []byte) contents {
	tb.Helper()
	return readFile(tb, temporary(tb, b))
}

func temporary(tb testing.TB, b []byte) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "capture")
	require.NoError(tb, os.WriteFile(path, b, 0o600))
	return path
}

// dribble hands over little at a time, as pipes do.
type dribble struct {
	r io.Reader
	n int
}

func (d *dribble) Read(p []byte) (int, error) {
	d.n = d.n%1021 + 1
	return d.r.Read(p[:min(len(p), d.n)])
}

func testFile(tb testing.TB, name string) []byte {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(tb, err)
	return b
}

func times(c contents) []int64 {
	var out []int64
	for i := range c.Frames {
		out = append(out, c.Frames[i].Time)
	}
	return out
}

// written is a capture file made by the writer.
func written(tb testing.TB, format Format, opts WriterOptions, frames ...capture.Frame) []byte {
	tb.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, format, opts)
	require.NoError(tb, err)
	for i := range frames {
		require.NoError(tb, w.WriteFrame(&frames[i]))
	}
	return b.Bytes()
}

// someFrames are n frames of lengths that need all paddings, at times that no resolution in use rounds.
func someFrames(n int) []capture.Frame {
	frames := make([]capture.Frame, n)
	for i := range frames {
		frames[i] = capture.Frame{
			Data: bytes.Repeat([]byte{byte(i + 1)}, 60+i%61), Time: 1_700_000_000_000_000_000 + int64(i)*1000, HasTime: true,
			OriginalLength: uint32(100 + i),
		}
	}
	return frames
}
