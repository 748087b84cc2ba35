package pcapfile

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// erf is a trace of n records of 80 bytes.
func erf(n int) []byte {
	var b []byte
	for range n {
		b = append(b, 0, 0, 0, 0)
		b = binary.LittleEndian.AppendUint32(b, 1_700_000_000)
		b = append(b, 2, 0, 0, 80, 0, 0, 0, 62)
		b = append(b, make([]byte, 64)...)
	}
	return b
}

// longERF is a trace of n records of a length.
func longERF(n, length int) []byte {
	var b []byte
	for i := range n {
		record := erf(1)
		binary.LittleEndian.PutUint32(record[4:], 1_700_000_000+uint32(i))
		binary.BigEndian.PutUint16(record[10:], uint16(length))
		b = append(b, append(record, make([]byte, length-len(record))...)...)
	}
	return b
}

func noise(seed uint64, n int) []byte {
	b := make([]byte, n)
	random := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	_, _ = random.Read(b) // never fails
	return b
}

// TestRandomBytesAreNothing: ERF has no magic, and what names it must not name noise.
func TestRandomBytesAreNothing(t *testing.T) {
	t.Parallel()
	for seed := range uint64(1000) {
		for _, n := range []int{64, 700, 4096} {
			file := noise(seed, n)
			if sniff(file) != contentUnknown {
				continue
			}
			_, err := New(bytes.NewReader(file), "noise", Options{})
			var no *NotCaptureError
			require.ErrorAs(t, err, &no, "seed %d", seed)
			require.NotContains(t, no.LooksLike, "ERF", "seed %d, %d bytes", seed, n)
		}
	}
}

func TestWhatIsNoCaptureIsRefusedByName(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, looks string
		file        []byte
	}{
		{"erf", "a bare ERF trace", erf(3)},
		{"erf, one record", "a bare ERF trace", erf(1)},
		{"erf, long records", "a bare ERF trace", longERF(3, 9000)},
		{"erf, one long record", "a bare ERF trace", longERF(1, 9000)},
		{"erf header before noise", "", append(erf(1), noise(1, 1000)...)},
		{"erf inside gzip", "a bare ERF trace inside gzip data", compressed(t, erf(3))},
		{"snoop", "a snoop capture", []byte("snoop\x00\x00\x00\x00\x00\x00\x02")},
		{"network monitor", "a Microsoft Network Monitor capture", []byte("GMBU\x00\x02\x01\x00\xff\xff")},
		{"elf", "an ELF program or core file", []byte("\x7fELF\x02\x01\x01\x00")},
		{"html", "an HTML page", []byte("\xef\xbb\xbf\n<!DOCTYPE html>\n<html><body>not found")},
		{"text", "text", []byte("No.  Time  Source\n1 0.000 192.0.2.1 π\n")},
		{"json", "text", []byte(`{"packets": []}`)},
		{"zip", "a zip archive", []byte("PK\x03\x04\x14\x00")},
		{"bzip2", "a bzip2 archive", []byte("BZh91AY&SY")},
		{"tar", "a tar archive", append(append(bytes.Repeat([]byte{'a', 0}, 128), 0), "ustar\x0000"...)},
		{"zeros", "a run of zero bytes", make([]byte, 1000)},
		{"noise", "", []byte{0xde, 0xad, 0xbe, 0xef, 1, 2, 3, 4, 5}},
		{"gzip inside gzip", "gzip data inside gzip data", compressed(t, compressed(t, erf(1)))},
	} {
		path := temporary(t, test.file)
		_, err := Open(path, Options{})
		require.ErrorIs(t, err, ErrNotCapture, test.name)
		var no *NotCaptureError
		require.ErrorAs(t, err, &no, test.name)
		assert.Equal(t, test.looks, no.LooksLike, test.name)
		assert.NotEmpty(t, no.Advice, test.name)
		_, err = New(bytes.NewReader(test.file), "stdin", Options{})
		require.ErrorIs(t, err, ErrNotCapture, test.name)
	}
}

func TestRefusalIsOneSentence(t *testing.T) {
	t.Parallel()
	_, err := New(bytes.NewReader(erf(2)), "trace.pcap", Options{})
	require.EqualError(t, err, `read capture "trace.pcap": not a capture that can be read: it looks like a bare ERF trace; `+
		`convert it first, for example with 'editcap -F pcapng IN OUT'`)
	_, err = New(bytes.NewReader([]byte{1, 2, 3, 4, 5, 6}), "noise", Options{})
	require.EqualError(t, err, `read capture "noise": not a capture that can be read: its first bytes belong to no known capture format: `+
		`give a pcap or pcapng file, plain or compressed with gzip, zstd or xz`)
}

func TestEmptyFile(t *testing.T) {
	t.Parallel()
	_, err := Open(temporary(t, nil), Options{})
	require.ErrorIs(t, err, ErrEmpty)
	_, err = New(bytes.NewReader(nil), "stdin", Options{})
	require.EqualError(t, err, `read capture "stdin": the file is empty: check that the capture ran and that the copy finished`)
	_, err = Open(temporary(t, compressed(t, nil)), Options{})
	require.ErrorIs(t, err, ErrEmpty)
}

func TestFilesThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	_, err := Open("testdata/none.pcap", Options{})
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Open(t.TempDir(), Options{})
	require.ErrorContains(t, err, "it is a directory")
}

func TestSectionHeaderWithoutByteOrder(t *testing.T) {
	t.Parallel()
	file := written(t, FormatPcapng, WriterOptions{})
	file[8] = 0
	_, err := Open(temporary(t, file), Options{})
	require.ErrorIs(t, err, errByteOrder)
}
