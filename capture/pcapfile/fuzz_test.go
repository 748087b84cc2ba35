package pcapfile

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"sync/atomic"
	"testing"

	"github.com/rocelens/rocelens/capture"
)

// FuzzPcap holds the promises of the reader over files that begin as pcap.
func FuzzPcap(f *testing.F) {
	seed(f, contentPcap)
	for _, opts := range []WriterOptions{{}, {BigEndian: true}, {Nanosecond: true}, {Nanosecond: true, BigEndian: true}} {
		f.Add(written(f, FormatPcap, opts, someFrames(3)...))
	}
	f.Add([]byte("\x34\xcd\xb2\xa1\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x00\x00\x01\x00\x00\x00" +
		"\x01\x00\x00\x00\x02\x00\x00\x00\x02\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00ab"))
	f.Fuzz(func(t *testing.T, b []byte) { checkPromises(t, b, contentPcap) })
}

// FuzzPcapng is FuzzPcap for pcapng.
func FuzzPcapng(f *testing.F) {
	seed(f, contentPcapng)
	little := written(f, FormatPcapng, WriterOptions{}, someFrames(3)...)
	big := written(f, FormatPcapng, WriterOptions{BigEndian: true}, someFrames(3)...)
	f.Add(little)
	f.Add(append(bytes.Clone(little), big...))
	f.Add(append(append(bytes.Clone(big), "garbage in the middle"...), little...))
	f.Add(append(append(bytes.Clone(big), make([]byte, 40)...), little...))
	f.Fuzz(func(t *testing.T, b []byte) { checkPromises(t, b, contentPcapng) })
}

// FuzzCompressed feeds the decoders of compressed files.
func FuzzCompressed(f *testing.F) {
	for _, plain := range [][]byte{
		written(f, FormatPcap, WriterOptions{}, someFrames(3)...), written(f, FormatPcapng, WriterOptions{}, someFrames(3)...), erf(2), nil,
	} {
		for _, b := range everyCompression(f, plain) {
			f.Add(b)
			f.Add(append(bytes.Clone(b), b...))
			f.Add(b[:len(b)-3])
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		const limit = 1 << 20
		s, err := New(bytes.NewReader(b), "fuzz", Options{MaxDecompressed: limit})
		if err != nil {
			return
		}
		frames, _ := take(t, s)
		for i := range frames {
			if frames[i].Offset+int64(len(frames[i].Data)) > limit {
				t.Fatalf("frame %d lies at %d, past the limit", i, frames[i].Offset)
			}
		}
		if n := cap(s.in.buf); n > 4*limit+batchBuffer {
			t.Fatalf("a window of %d bytes", n)
		}
	})
}

func seed(f *testing.F, kind content) {
	f.Helper()
	files, err := filepath.Glob("testdata/*.pcap*")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		if sniff(b) == kind && len(b) < 8<<10 {
			f.Add(b)
		}
	}
}

// checkPromises reads b as a stream and as a file in memory.
func checkPromises(t *testing.T, b []byte, kind content) {
	t.Helper()
	if sniff(b) != kind {
		return
	}
	stream, err := New(&dribble{r: bytes.NewReader(b)}, "fuzz", Options{})
	memory := &Source{in: input{buf: b}, read: new(atomic.Int64)}
	merr := memory.start(kind, "")
	if err != nil || merr != nil {
		if (err == nil) != (merr == nil) {
			t.Fatalf("stream: %v; memory: %v", err, merr)
		}
		return
	}
	frames, report := take(t, stream)
	again, same := take(t, memory)
	if !reflect.DeepEqual(report, same) {
		t.Fatalf("stream: %+v\nmemory: %+v", report, same)
	}
	if !reflect.DeepEqual(frames, again) {
		t.Fatal("stream and memory give different frames")
	}
	if n := cap(stream.in.buf); n > 2*len(b)+batchBuffer {
		t.Fatalf("a window of %d bytes for a file of %d", n, len(b))
	}
	index := memory.Index()
	for i := range frames {
		f := frames[i]
		if f.Offset+int64(len(f.Data)) > int64(len(b)) {
			t.Fatalf("frame %d is not inside the file", i)
		}
		one, err := index.ReadFrame(bytes.NewReader(b), int64(len(b)), FrameRef{Offset: f.Offset, Interface: f.Interface})
		if err != nil {
			t.Fatalf("frame %d is not found again: %v", i, err)
		}
		if f.Number = 0; !reflect.DeepEqual(one, f) {
			t.Fatalf("frame %d by reference is another:\n%+v\n%+v", i, one, f)
		}
	}
}

// take reads a source to its end and checks what holds for every file.
func take(t *testing.T, s *Source) ([]capture.Frame, capture.Report) {
	t.Helper()
	var frames []capture.Frame
	batch := capture.Batch{Frames: make([]capture.Frame, 0, 3), Buffer: make([]byte, 0, 4<<10)}
	last := int64(-1)
	for {
		err := s.Next(&batch)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(batch.Frames) == 0 {
			t.Fatal("a batch without frames")
		}
		for _, f := range batch.Frames {
			if f.Offset <= last {
				t.Fatalf("the reader went from byte %d to byte %d", last, f.Offset)
			}
			last = f.Offset
			if len(f.Data) > MaxFrame || int(f.Interface) >= len(s.interfaces) {
				t.Fatalf("a frame of %d bytes of interface %d", len(f.Data), f.Interface)
			}
			if f.Number != uint64(len(frames)+1) {
				t.Fatalf("frame %d follows %d frames", f.Number, len(frames))
			}
			f.Data = append([]byte{}, f.Data...)
			frames = append(frames, f)
		}
	}
	r := s.Report()
	switch {
	case r.Packets != uint64(len(frames)):
		t.Fatalf("the report counts %d packets of %d", r.Packets, len(frames))
	case r.Partial != (r.Fault != ""):
		t.Fatalf("partial without a fault, or the other way: %+v", r)
	case len(r.Skipped) > maxNotes+3, len(r.Comments) > maxNotes+1:
		t.Fatalf("%d notes, %d comments", len(r.Skipped), len(r.Comments))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return frames, r
}
