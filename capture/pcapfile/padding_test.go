package pcapfile

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Ways in which writers forget that a block's length is a multiple of four (draft-ietf-opsawg-pcapng, section 3.1).

// unpadded is an enhanced packet block whose length leaves the padding of its 61 bytes out, followed by so many zeros.
func unpadded(zeros int) []byte {
	const captured = 61
	b := make([]byte, 0, 128)
	for _, word := range []uint32{blockEnhanced, blockOverhead + enhancedHeaderLength + captured, 0, 1, 2, captured, 1000} {
		b = binary.LittleEndian.AppendUint32(b, word)
	}
	b = append(b, bytes.Repeat([]byte{0x55}, captured)...)
	b = binary.LittleEndian.AppendUint32(b, blockOverhead+enhancedHeaderLength+captured)
	return append(b, make([]byte, zeros)...)
}

func TestBlocksWithoutPaddingAreRead(t *testing.T) {
	t.Parallel()
	head := written(t, FormatPcapng, WriterOptions{})
	aligned := written(t, FormatPcapng, WriterOptions{}, someFrames(1)...)[len(head):]
	for name, file := range map[string][]byte{
		"in the middle":            joined(head, unpadded(0), aligned),
		"in the middle, and zeros": joined(head, unpadded(3), aligned),
		"several":                  joined(head, unpadded(3), unpadded(0), unpadded(3), aligned),
		"at the end":               joined(head, aligned, unpadded(0)),
		"at the end, and zeros":    joined(head, aligned, unpadded(3)),
	} {
		c := readBytes(t, file)
		assert.False(t, c.Report.Partial, "%s: %s", name, c.Report.Fault)
		for _, note := range c.Report.Skipped {
			assert.Contains(t, note, "the time goes back", name)
		}
		require.GreaterOrEqual(t, len(c.Frames), 2, name)
		for i := range c.Frames {
			if c.Frames[i].OriginalLength == 1000 {
				assert.Equal(t, bytes.Repeat([]byte{0x55}, 61), c.Frames[i].Data, name)
			}
		}
		checkReferences(t, temporary(t, file), c)
	}
}

func TestSimplePacketBlockThatIsTooShortSaysSo(t *testing.T) {
	t.Parallel()
	head := written(t, FormatPcapng, WriterOptions{})
	body := append(binary.LittleEndian.AppendUint32(nil, 1000), make([]byte, 60)...)
	c := readBytes(t, append(head, block(binary.LittleEndian, blockSimple, body)...))
	require.Len(t, c.Frames, 1)
	assert.Len(t, c.Frames[0].Data, 60)
	assert.Equal(t, uint32(1000), c.Frames[0].OriginalLength)
	require.Len(t, c.Report.Skipped, 1)
	assert.Contains(t, c.Report.Skipped[0], "a simple packet block has 940 bytes less than its packet was captured with")
}

// An interface whose options break off may have lost its resolution, and then all its times are wrong.
func TestCutOptionsOfAnInterfaceAreTold(t *testing.T) {
	t.Parallel()
	section := written(t, FormatPcapng, WriterOptions{})
	at := int(binary.LittleEndian.Uint32(section[4:]))           // behind the section header
	options := []byte{optionIfResolution, 0, 200, 0, 9, 0, 0, 0} // says 200 bytes, has 4
	file := append(bytes.Clone(section[:at]), block(binary.LittleEndian, blockInterface, append([]byte{1, 0, 0, 0, 0, 0, 0, 0}, options...))...)
	c := readBytes(t, file)
	require.NotEmpty(t, c.Report.Skipped)
	assert.Contains(t, c.Report.Skipped[0], "the options of interface 0 are longer than their block")
	assert.Empty(t, readBytes(t, section).Report.Skipped)
}

func TestFirstBytesOfACaptureAreNoText(t *testing.T) {
	t.Parallel()
	for _, file := range [][]byte{
		written(t, FormatPcap, WriterOptions{}), written(t, FormatPcap, WriterOptions{BigEndian: true}),
		written(t, FormatPcapng, WriterOptions{}), compressedZstd(t, nil), compressedXZ(t, nil, 1<<20),
	} {
		for n := 1; n < 4; n++ {
			_, err := New(bytes.NewReader(file[:n]), "cut", Options{})
			require.ErrorIs(t, err, ErrShortHeader, "%x", file[:n])
		}
	}
	_, err := New(bytes.NewReader([]byte("hi")), "text", Options{})
	require.ErrorContains(t, err, "it looks like text")
}
