package pcapfile

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// counted is a file that tells how much of it was read.
type counted struct {
	r *bytes.Reader
	n int
}

func (c *counted) ReadAt(p []byte, at int64) (int, error) {
	c.n += len(p)
	return c.r.ReadAt(p, at)
}

func TestEveryFrameIsFoundAgainByItsReference(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.pcap*")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, path := range files {
		c := readFile(t, path)
		if c.Report.Compression != "" {
			continue
		}
		checkReferences(t, path, c)
	}
	two := append(written(t, FormatPcapng, WriterOptions{}, someFrames(3)...), written(t, FormatPcapng, WriterOptions{BigEndian: true}, someFrames(3)...)...)
	checkReferences(t, temporary(t, two), readBytes(t, two))
}

func checkReferences(t *testing.T, path string, c contents) {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	kept, err := json.Marshal(c.Index)
	require.NoError(t, err)
	var index Index
	require.NoError(t, json.Unmarshal(kept, &index))
	for i := range c.Frames {
		want := c.Frames[i]
		f := counted{r: bytes.NewReader(b)}
		got, err := index.ReadFrame(&f, int64(len(b)), FrameRef{Offset: want.Offset, Interface: want.Interface})
		require.NoError(t, err, path)
		want.Number = 0
		assert.Equal(t, want, got, path)
		assert.Less(t, f.n, len(want.Data)+1024, "only the frame is read, and its block's options")
	}
}

func TestReferencesThatDoNotFit(t *testing.T) {
	t.Parallel()
	for _, format := range []Format{FormatPcap, FormatPcapng} {
		b := written(t, format, WriterOptions{}, someFrames(3)...)
		c := readBytes(t, b)
		for _, ref := range []FrameRef{
			{Offset: -1},
			{Offset: int64(len(b))},
			{Offset: int64(len(b)) - 3},
			{Offset: 1 << 62},
			{Offset: c.Frames[0].Offset, Interface: 1},
			{Offset: c.Frames[0].Offset + 16},
			{Offset: c.Frames[2].Offset + 4},
		} {
			_, err := c.Index.ReadFrame(bytes.NewReader(b), int64(len(b)), ref)
			require.ErrorIs(t, err, ErrReference, "%s %+v", format, ref)
		}
		cut := b[:len(b)-8]
		_, err := c.Index.ReadFrame(bytes.NewReader(cut), int64(len(cut)), FrameRef{Offset: c.Frames[2].Offset})
		require.ErrorIs(t, err, ErrReference)
		_, err = new(Index).ReadFrame(bytes.NewReader(b), int64(len(b)), FrameRef{Offset: 24})
		require.ErrorIs(t, err, ErrReference, "an index without interfaces")
	}
}

func TestIndexAsJSON(t *testing.T) {
	t.Parallel()
	kept, err := json.Marshal(readFile(t, "testdata/ct-nano-be.pcap").Index)
	require.NoError(t, err)
	assert.JSONEq(t, `{"format": "pcap", "record_header": 16, "sections": [{"offset": 0, "big_endian": true, "first_interface": 0}],
		"interfaces": [{"section": 0, "link_type": 1, "resolution": 9, "snap_length": 262144}]}`, string(kept))
}
