package pcapfile

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/capture"
)

// boundaries lists the ends of the file header and of each record or block.
func boundaries(t *testing.T, file []byte) map[int]bool {
	t.Helper()
	ends := map[int]bool{len(file): true}
	if sniff(file) == contentPcap {
		layout, _ := pcapMagic(file)
		for at := pcapFileHeader; at < len(file); {
			ends[at] = true
			at += pcapRecordHeader + int(load32(file[at+8:], layout.big))
		}
		return ends
	}
	big, _ := byteOrder(file)
	for at := 0; at < len(file); {
		ends[at] = true
		if load32(file[at:], false) == blockSection {
			big, _ = byteOrder(file[at:])
		}
		at += int(load32(file[at+4:], big))
	}
	return ends
}

func TestCutAtEveryByte(t *testing.T) {
	t.Parallel()
	ng := written(t, FormatPcapng, WriterOptions{}, someFrames(4)...)
	files := map[string][]byte{
		"pcap":       written(t, FormatPcap, WriterOptions{}, someFrames(4)...),
		"pcap big":   written(t, FormatPcap, WriterOptions{BigEndian: true, Nanosecond: true}, someFrames(4)...),
		"pcapng":     append(ng, written(t, FormatPcapng, WriterOptions{BigEndian: true}, someFrames(2)...)...),
		"interfaces": testFile(t, "ct-multi-if.pcapng"),
		"simple":     testFile(t, "ct-spb.pcapng"),
	}
	for name, file := range files {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ends := boundaries(t, file)
			whole, err := New(bytes.NewReader(file), name, Options{})
			require.NoError(t, err)
			want := drain(t, whole, 64)
			header := pcapFileHeader
			if want.Report.Format == "pcapng" {
				header = 28
			}
			for cut := range file {
				s, err := New(bytes.NewReader(file[:cut]), name, Options{})
				if cut < header {
					require.Error(t, err, "cut at %d", cut)
					require.True(t, cut == 0 && errors.Is(err, ErrEmpty) || errors.Is(err, ErrShortHeader) || cut < 4 && errors.Is(err, ErrNotCapture),
						"cut at %d: %v", cut, err)
					continue
				}
				require.NoError(t, err, "cut at %d", cut)
				c := drain(t, s, 64)
				var kept []capture.Frame
				for i := range want.Frames {
					end := int64(len(file))
					if i+1 < len(want.Frames) {
						end = want.Frames[i+1].Offset
					}
					if blockEnd(file, want, i, end) <= int64(cut) {
						kept = append(kept, want.Frames[i])
					}
				}
				require.Equal(t, kept, c.Frames, "cut at %d", cut)
				require.Equal(t, !ends[cut], c.Report.Partial, "cut at %d: %+v", cut, c.Report)
				if c.Report.Partial {
					require.NotEmpty(t, c.Report.Fault)
					require.LessOrEqual(t, c.Report.FaultOffset, int64(cut))
				}
			}
		})
	}
}

// blockEnd is where the record or block of frame i ends; other blocks may follow it before limit.
func blockEnd(file []byte, c contents, i int, limit int64) int64 {
	if c.Report.Format == "pcap" {
		return limit
	}
	f := &c.Frames[i]
	big := c.Index.Sections[c.Index.Interfaces[f.Interface].Section].BigEndian
	return f.Offset + int64(load32(file[f.Offset+4:], big))
}

func TestCutGzipAtEveryByte(t *testing.T) {
	t.Parallel()
	file := compressed(t, written(t, FormatPcap, WriterOptions{}, someFrames(30)...))
	for cut := 2; cut < len(file); cut++ {
		s, err := New(bytes.NewReader(file[:cut]), "cut", Options{})
		if err != nil {
			require.True(t, errors.Is(err, ErrDamaged) || errors.Is(err, ErrNotCapture) || errors.Is(err, ErrShortHeader), "cut at %d: %v", cut, err)
			continue
		}
		c := drain(t, s, 16)
		require.True(t, c.Report.Partial, "cut at %d", cut)
		require.Contains(t, c.Report.Fault, "the gzip data ends before its end")
	}
}
