package pcapfile

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/ulikunitz/xz"

	"github.com/rocelens/rocelens/capture"
)

func compressedZstd(tb testing.TB, b []byte) []byte {
	tb.Helper()
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	require.NoError(tb, err)
	defer func() { require.NoError(tb, z.Close()) }()
	return z.EncodeAll(b, nil)
}

func compressedXZ(tb testing.TB, b []byte, dictionary int) []byte {
	tb.Helper()
	var out bytes.Buffer
	z, err := xz.WriterConfig{DictCap: dictionary}.NewWriter(&out)
	require.NoError(tb, err)
	_, err = z.Write(b)
	require.NoError(tb, err)
	require.NoError(tb, z.Close())
	return out.Bytes()
}

func everyCompression(tb testing.TB, b []byte) map[string][]byte {
	tb.Helper()
	return map[string][]byte{"gzip": compressed(tb, b), "zstd": compressedZstd(tb, b), "xz": compressedXZ(tb, b, 1<<20)}
}

func TestCompressedCapturesReadAsPlainOnes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"base-cm-send-write-read.pcap", "ct-multi-if.pcapng"} {
		plain := testFile(t, name)
		want := readBytes(t, plain)
		for compression, file := range everyCompression(t, plain) {
			c := readBytes(t, file)
			assert.Equal(t, want.Frames, c.Frames, compression)
			assert.Equal(t, compression, c.Report.Compression)
			c.Report.Compression = ""
			assert.Equal(t, want.Report, c.Report)
			assert.Equal(t, want.Index, c.Index)
		}
	}
}

func TestDecompressKeepsThePlainFile(t *testing.T) {
	t.Parallel()
	plain := testFile(t, "ct-multi-if.pcapng")
	files := everyCompression(t, plain)
	files[""] = plain
	for compression, file := range files {
		var out bytes.Buffer
		var last int64
		got, err := Decompress(t.Context(), bytes.NewReader(file), &out, Options{}, func(n int64) { last = n })
		require.NoError(t, err, compression)
		assert.Equal(t, compression, got)
		assert.Equal(t, plain, out.Bytes(), compression)
		assert.Equal(t, int64(len(file)), last, compression)
	}
}

func TestDecompressOfACutFileKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	plain := written(t, FormatPcap, WriterOptions{}, someFrames(3000)...)
	for compression, file := range everyCompression(t, plain) {
		var out bytes.Buffer
		got, err := Decompress(t.Context(), bytes.NewReader(file[:len(file)-9]), &out, Options{}, nil)
		require.ErrorIs(t, err, ErrDamaged, compression)
		assert.Equal(t, compression, got)
		require.ErrorContains(t, err, "the "+compression+" data ends before its end")
		assert.True(t, bytes.HasPrefix(plain, out.Bytes()), compression)
	}
	var out bytes.Buffer
	_, err := Decompress(t.Context(), bytes.NewReader(testFile(t, "ct-gzip-cut.pcap.gz")), &out, Options{}, nil)
	require.EqualError(t, err, "decompress capture: the gzip data ends before its end")
	assert.Equal(t, 56760+174, out.Len())
}

func TestDecompressErrorsAreToldApart(t *testing.T) {
	t.Parallel()
	file := compressed(t, written(t, FormatPcap, WriterOptions{}, someFrames(10)...))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Decompress(ctx, bytes.NewReader(file), io.Discard, Options{}, nil)
	require.ErrorIs(t, err, context.Canceled)
	_, err = Decompress(t.Context(), bytes.NewReader(nil), io.Discard, Options{}, nil)
	require.ErrorIs(t, err, ErrEmpty)
	broken := errors.New("disk on fire")
	_, err = Decompress(t.Context(), io.MultiReader(bytes.NewReader(file[:100]), iotest.ErrReader(broken)), io.Discard, Options{}, nil)
	require.ErrorIs(t, err, broken, "the file's own error is not taken for damage")
	require.NotErrorIs(t, err, ErrDamaged)
}

func TestBombsAreBounded(t *testing.T) {
	t.Parallel()
	plain := written(t, FormatPcap, WriterOptions{}, someFrames(1000)...)
	for compression, file := range everyCompression(t, plain) {
		s, err := New(bytes.NewReader(file), compression, Options{MaxDecompressed: 10_000})
		require.NoError(t, err)
		c := drain(t, s, 64)
		assert.True(t, c.Report.Partial, compression)
		assert.Contains(t, c.Report.Fault, "more than 10000 bytes come out of the "+compression+" data")
		assert.Less(t, c.Report.FaultOffset, int64(10_000))
		assert.NotEmpty(t, c.Frames)

		s, err = New(bytes.NewReader(file), compression, Options{MaxDecompressed: int64(len(plain))})
		require.NoError(t, err)
		assert.False(t, drain(t, s, 64).Report.Partial, "exactly as much as is allowed")
	}
}

// greedyXZ makes a file of compressedXZ ask for a dictionary of 4 GiB, with a right checksum.
func greedyXZ(t *testing.T, file []byte) []byte {
	t.Helper()
	const streamHeader, lzma2 = 12, 0x21 // xz file format 1.0.4, sections 2.1.1 and 5.3.1
	header := file[streamHeader : streamHeader+(int(file[streamHeader])+1)*4]
	at := bytes.Index(header, []byte{lzma2, 1})
	require.Positive(t, at)
	header[at+2] = 40
	sum := len(header) - 4
	binary.LittleEndian.PutUint32(header[sum:], crc32.ChecksumIEEE(header[:sum]))
	return file
}

// What a stranger's file asks for must never be allocated, in whichever of its streams it asks.
func TestDictionaryOfXZIsBounded(t *testing.T) {
	t.Parallel()
	plain := written(t, FormatPcap, WriterOptions{}, someFrames(10)...)
	_, err := New(bytes.NewReader(greedyXZ(t, compressedXZ(t, plain, 1<<20))), "bomb", Options{})
	require.ErrorIs(t, err, ErrDamaged)
	require.ErrorContains(t, err, "asks for a dictionary of more than 67108864 bytes")

	half := len(plain) / 2
	file := append(compressedXZ(t, plain[:half], 1<<20), greedyXZ(t, compressedXZ(t, plain[half:], 1<<20))...)
	c := readBytes(t, file)
	assert.NotEmpty(t, c.Frames)
	assert.Contains(t, c.Report.Fault, "asks for a dictionary of more than 67108864 bytes")
}

func TestErrorOfTheFileIsNotHidden(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk on fire")
	file := written(t, FormatPcap, WriterOptions{}, someFrames(2)...)
	s, err := New(io.MultiReader(bytes.NewReader(file), iotest.ErrReader(broken)), "disk", Options{})
	require.NoError(t, err)
	c := drain(t, s, 8)
	assert.Len(t, c.Frames, 2)
	assert.True(t, c.Report.Partial)
	assert.Contains(t, c.Report.Fault, "disk on fire")

	s, err = New(io.MultiReader(bytes.NewReader(file[:30]), iotest.ErrReader(broken)), "disk", Options{})
	require.NoError(t, err)
	require.ErrorIs(t, s.Next(new(capture.Batch)), broken, "nothing at all could be read")
	require.NoError(t, s.Close())
}
