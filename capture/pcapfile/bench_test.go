package pcapfile

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gopacket/gopacket/pcapgo"

	"github.com/rocelens/rocelens/capture"
)

// benchFrames frames of 1,090 bytes are a gigabyte.
const benchFrames = 1_000_000

func benchFile(b *testing.B, format Format) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "bench")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	out := bufio.NewWriterSize(f, 1<<20)
	w, err := NewWriter(out, format, WriterOptions{})
	if err != nil {
		b.Fatal(err)
	}
	frame := capture.Frame{Data: make([]byte, 1090), HasTime: true}
	for range benchFrames {
		frame.Time += 84_000
		if err := w.WriteFrame(&frame); err != nil {
			b.Fatal(err)
		}
	}
	if err := out.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	return path
}

// BenchmarkRead reads a million frames, and in the same run lets gopacket's reader do it; x_gopacket is how many
// times as fast as that this package is.
func BenchmarkRead(b *testing.B) {
	for _, format := range []Format{FormatPcap, FormatPcapng} {
		path := benchFile(b, format)
		for name, opts := range map[string]Options{"mapped": {Map: true}, "read": {}} {
			b.Run(format.String()+"/"+name, func(b *testing.B) {
				var peer, own time.Duration
				b.ReportAllocs()
				for b.Loop() {
					b.StopTimer()
					start := time.Now()
					readPeer(b, path, format)
					peer += time.Since(start)
					b.StartTimer()
					start = time.Now()
					readOwn(b, path, opts)
					own += time.Since(start)
				}
				b.ReportMetric(float64(own.Nanoseconds())/float64(b.N)/benchFrames, "ns/frame")
				b.ReportMetric(float64(peer)/float64(own), "x_gopacket")
			})
		}
	}
}

// touch reads what a decoder reads of every frame, so that mapped pages are really brought in.
func touch(data []byte) byte { return data[12] ^ data[42] ^ data[len(data)-4] }

func readOwn(b *testing.B, path string, opts Options) {
	b.Helper()
	s, err := Open(path, opts)
	if err != nil {
		b.Fatal(err)
	}
	var batch capture.Batch
	var sum byte
	n := 0
	for s.Next(&batch) == nil {
		for i := range batch.Frames {
			sum ^= touch(batch.Frames[i].Data)
		}
		n += len(batch.Frames)
	}
	if n != benchFrames || sum != 0 {
		b.Fatalf("%d frames", n)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}

func readPeer(b *testing.B, path string, format Format) {
	b.Helper()
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	in := bufio.NewReaderSize(f, 1<<20)
	var next func() ([]byte, error)
	if format == FormatPcap {
		r, err := pcapgo.NewReader(in)
		if err != nil {
			b.Fatal(err)
		}
		next = func() ([]byte, error) { d, _, err := r.ZeroCopyReadPacketData(); return d, err }
	} else {
		r, err := pcapgo.NewNgReader(in, pcapgo.DefaultNgReaderOptions)
		if err != nil {
			b.Fatal(err)
		}
		next = func() ([]byte, error) { d, _, err := r.ZeroCopyReadPacketData(); return d, err }
	}
	n := 0
	for ; ; n++ {
		d, err := next()
		if err != nil {
			if err != io.EOF { //nolint:errorlint // the reader gives io.EOF itself.
				b.Fatal(err)
			}
			break
		}
		touch(d)
	}
	if n != benchFrames {
		b.Fatalf("gopacket read %d frames", n)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
}
