package pcapfile

import (
	"bytes"
	"io"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/capture"
)

func TestProgressReachesTheSizeOnDisk(t *testing.T) {
	t.Parallel()
	plain := written(t, FormatPcap, WriterOptions{}, someFrames(5000)...)
	for name, file := range map[string][]byte{"plain": plain, "mapped": plain, "gzip": compressed(t, plain)} {
		s, err := Open(temporary(t, file), Options{Map: name == "mapped"})
		require.NoError(t, err)
		var watchers sync.WaitGroup
		stop := make(chan struct{})
		watchers.Go(func() { // under the race detector this shows that it may be called from anywhere
			for last := int64(0); ; {
				p := s.Progress()
				assert.GreaterOrEqual(t, p.BytesRead, last)
				last = p.BytesRead
				select {
				case <-stop:
					return
				default:
				}
			}
		})
		var batch capture.Batch
		for err = s.Next(&batch); err == nil; err = s.Next(&batch) {
			assert.LessOrEqual(t, len(batch.Frames), DefaultBatch)
		}
		require.ErrorIs(t, err, io.EOF)
		close(stop)
		watchers.Wait()
		assert.Equal(t, capture.Progress{BytesRead: int64(len(file)), BytesTotal: int64(len(file))}, s.Progress(), name)
		require.NoError(t, s.Close())
	}
}

func TestNoAllocationPerFrame(t *testing.T) {
	// Not parallel: allocations are counted.
	const batches, size = 100, 100
	for _, format := range []Format{FormatPcap, FormatPcapng} {
		path := temporary(t, written(t, format, WriterOptions{}, someFrames(batches*size)...))
		for _, opts := range []Options{{}, {Map: true}} {
			s, err := Open(path, opts)
			require.NoError(t, err)
			batch := capture.Batch{Frames: make([]capture.Frame, 0, size)}
			frames := 0
			perBatch := testing.AllocsPerRun(batches/2, func() {
				if err := s.Next(&batch); err != nil {
					t.Error(err)
				}
				frames += len(batch.Frames)
			})
			assert.Greater(t, frames, batches*size/4)
			// A mapped file's size is asked for once a batch; the windows of a stream are one buffer.
			assert.LessOrEqual(t, perBatch, 6.0, "%s %+v, batches of %d", format, opts, size)
			require.NoError(t, s.Close())
		}
	}
}

func TestFileCutWhileMapped(t *testing.T) {
	t.Parallel()
	for _, format := range []Format{FormatPcap, FormatPcapng} {
		const frames = 3000
		path := temporary(t, written(t, format, WriterOptions{}, someFrames(frames)...))
		s, err := Open(path, Options{Map: true})
		require.NoError(t, err)
		if s.mapped == nil {
			require.NoError(t, s.Close())
			t.Skip("this system does not map files")
		}
		batch := capture.Batch{Frames: make([]capture.Frame, 0, 100)}
		require.NoError(t, s.Next(&batch))
		require.NoError(t, os.Truncate(path, 40_000))
		c := drain(t, s, 100)
		assert.True(t, c.Report.Partial)
		assert.Contains(t, c.Report.Fault, "the file was cut short while it was being read")
		assert.LessOrEqual(t, c.Report.FaultOffset, int64(40_000))
		assert.Greater(t, c.Report.Packets, uint64(100))
		assert.Less(t, c.Report.Packets, uint64(frames))
	}
}

func TestGuardTurnsAFaultIntoAnError(t *testing.T) {
	t.Parallel()
	path := temporary(t, written(t, FormatPcap, WriterOptions{}, someFrames(3000)...))
	s, err := Open(path, Options{Map: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	if s.mapped == nil {
		t.Skip("this system does not map files")
	}
	batch := capture.Batch{Frames: make([]capture.Frame, 0, 3000)}
	require.NoError(t, s.Next(&batch))
	require.NoError(t, os.Truncate(path, 0))
	var sum byte
	touch := func() {
		for i := range batch.Frames {
			for _, b := range batch.Frames[i].Data {
				sum += b
			}
		}
	}
	require.ErrorContains(t, s.Guard(touch), "the file was cut short while it was being read")
	require.NoError(t, s.Guard(func() {}))
	require.PanicsWithValue(t, "other", func() { assert.NoError(t, s.Guard(func() { panic("other") })) })
}

// The file may shrink between the look at its size and the read.
func TestFaultWithinNextTakesTheBatchAgain(t *testing.T) {
	t.Parallel()
	path := temporary(t, written(t, FormatPcap, WriterOptions{}, someFrames(3000)...))
	s, err := Open(path, Options{Map: true})
	require.NoError(t, err)
	if s.mapped == nil {
		require.NoError(t, s.Close())
		t.Skip("this system does not map files")
	}
	next := s.next
	s.next = func(frames []capture.Frame, limit int) []capture.Frame {
		if s.report.Packets == 500 {
			s.next = next
			require.NoError(t, os.Truncate(path, 100_000))
		}
		return next(frames, limit)
	}
	c := drain(t, s, 500)
	assert.True(t, c.Report.Partial)
	assert.Contains(t, c.Report.Fault, "the file was cut short while it was being read")
	assert.Equal(t, c.Report.Packets, uint64(len(c.Frames)))
	assert.Equal(t, uint64(len(c.Frames)), c.Frames[len(c.Frames)-1].Number)
}

func TestClosedSource(t *testing.T) {
	t.Parallel()
	for _, opts := range []Options{{}, {Map: true}} {
		s, err := Open("testdata/base-cm-send-write-read.pcap", opts)
		require.NoError(t, err)
		require.NoError(t, s.Close())
		require.NoError(t, s.Close(), "twice")
		require.ErrorIs(t, s.Next(new(capture.Batch)), os.ErrClosed)
	}
}

func TestBatchKeepsItsCapacity(t *testing.T) {
	t.Parallel()
	s, err := New(bytes.NewReader(testFile(t, "base-cm-send-write-read.pcap")), "base", Options{})
	require.NoError(t, err)
	batch := capture.Batch{Frames: make([]capture.Frame, 0, 5)}
	var sizes []int
	for s.Next(&batch) == nil {
		sizes = append(sizes, len(batch.Frames))
	}
	assert.Equal(t, []int{5, 5, 5, 2}, sizes)
	require.NoError(t, s.Close())
}
