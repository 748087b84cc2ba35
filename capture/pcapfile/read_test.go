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
func drain(t testing.TB, s *Source, batchSize int) contents {
	t.Helper()
	var c contents
	batch := capture.Batch{Frames: make([]capture.Frame, 0, batchSize)}
	for {
		err := s.Next(&batch)
		if err != nil {
			require.ErrorIs(t, err, io.EOF)
			break
		}
		require.NotEmpty(t, batch.Frames)
		for _, f := range batch.Frames {
			f.Data = bytes.Clone(f.Data)
			c.Frames = append(c.Frames, f)
		}
	}
	require.ErrorIs(t, s.Next(&batch), io.EOF, "the end stays the end")
	c.Interfaces, c.Report, c.Index = s.Interfaces(), s.Report(), s.Index()
	require.NoError(t, s.Close())
	return c
}

// readFile reads a file in each way there is, and requires that all of them tell the same.
func readFile(t testing.TB, path string) contents {
	t.Helper()
	mapped, err := Open(path, Options{Map: true})
	require.NoError(t, err)
	want := drain(t, mapped, 7)

	read, err := Open(path, Options{})
	require.NoError(t, err)
	same(t, want, drain(t, read, 512), "mapped and read")

	f, err := os.Open(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	piped, err := New(&dribble{r: f}, "pipe", Options{})
	require.NoError(t, err)
	same(t, want, drain(t, piped, 512), "mapped and piped")
	return want
}

func same(t testing.TB, want, got contents, what string) {
	t.Helper()
	if !reflect.DeepEqual(want, got) { // a diff of long frames takes seconds, even when they are equal
		require.Empty(t, cmp.Diff(want, got), what)
	}
}

// readBytes is readFile for a file made by the test.
func readBytes(t testing.TB, b []byte) contents {
	t.Helper()
	return readFile(t, temporary(t, b))
}

func temporary(t testing.TB, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "capture")
	require.NoError(t, os.WriteFile(path, b, 0o600))
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

func testFile(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return b
}

func data(c contents) [][]byte {
	var out [][]byte
	for i := range c.Frames {
		out = append(out, c.Frames[i].Data)
	}
	return out
}

func times(c contents) []int64 {
	var out []int64
	for i := range c.Frames {
		out = append(out, c.Frames[i].Time)
	}
	return out
}

// written is a capture file made by the writer.
func written(t testing.TB, format Format, opts WriterOptions, frames ...capture.Frame) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, format, opts)
	require.NoError(t, err)
	for i := range frames {
		require.NoError(t, w.WriteFrame(&frames[i]))
	}
	return b.Bytes()
}

// someFrames are n frames of lengths that need all paddings, at times that no resolution in use rounds.
func someFrames(n int) []capture.Frame {
	frames := make([]capture.Frame, n)
	for i := range frames {
		frames[i] = capture.Frame{
			Data: bytes.Repeat([]byte{byte(i + 1)}, 60+i), Time: 1_700_000_000_000_000_000 + int64(i)*1000, HasTime: true,
			OriginalLength: uint32(100 + i),
		}
	}
	return frames
}
