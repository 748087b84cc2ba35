package pcapfile

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/capture"
)

type byteOrderOf interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

// block is a pcapng block with options.
func block(order byteOrderOf, kind uint32, body []byte, options ...string) []byte {
	for _, text := range options {
		body = order.AppendUint16(body, optionComment)
		body = order.AppendUint16(body, uint16(len(text)))
		body = append(body, text...)
		body = append(body, make([]byte, -len(text)&3)...)
	}
	total := uint32(len(body) + blockOverhead)
	b := order.AppendUint32(nil, kind)
	b = order.AppendUint32(b, total)
	return order.AppendUint32(append(b, body...), total)
}

// commented is a section in which everything that can have a comment has one, or two.
func commented(order byteOrderOf) []byte {
	section := order.AppendUint32(nil, byteOrderMagic)
	section = order.AppendUint16(section, 1)
	section = order.AppendUint16(section, 0)
	section = order.AppendUint64(section, ^uint64(0))
	packet := func(captured uint32) []byte {
		var b []byte
		for _, word := range []uint32{0, 1, 2, captured, captured} { // interface, time, lengths
			b = order.AppendUint32(b, word)
		}
		return append(b, make([]byte, (captured+3)&^3)...)
	}
	statistics := make([]byte, 12)
	return joined(
		block(order, blockSection, section, "lab 3, run 12"),
		block(order, blockInterface, order.AppendUint32(order.AppendUint16(order.AppendUint16(nil, 1), 0), 0), "port 7"),
		block(order, blockEnhanced, packet(61)),
		block(order, blockEnhanced, packet(62), "here the sender stalls", "no,\nthere"),
		block(order, blockPacket, packet(63), "of an obsolete block"),
		block(order, blockStatistics, statistics, "counted by the switch", dumpcapComment),
	)
}

func joined(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func TestCommentsAreKept(t *testing.T) {
	t.Parallel()
	for _, order := range []byteOrderOf{binary.LittleEndian, binary.BigEndian} {
		c := readBytes(t, commented(order))
		require.Len(t, c.Frames, 3)
		assert.Equal(t, []string{
			"the file: lab 3, run 12",
			"interface 0: port 7",
			"packet 2: here the sender stalls",
			"packet 2: no, there",
			"packet 3: of an obsolete block",
			"statistics of interface 0: counted by the switch",
		}, c.Report.Comments)
		assert.Empty(t, c.Report.Skipped)
		assert.False(t, c.Report.Partial)
	}
}

func TestCommentsOfALaterSectionSayWhich(t *testing.T) {
	t.Parallel()
	two := joined(commented(binary.LittleEndian), commented(binary.BigEndian))
	c := readBytes(t, two)
	require.Len(t, c.Report.Comments, 12)
	assert.Equal(t, []string{"section 2: lab 3, run 12", "interface 1: port 7", "packet 5: here the sender stalls"}, c.Report.Comments[6:9])
}

// Whoever shows a packet asks for its comments while its batch is there; whoever reads it again, by its reference.
func TestCommentsOfAPacket(t *testing.T) {
	t.Parallel()
	file := commented(binary.LittleEndian)
	s, err := New(bytes.NewReader(file), "comments", Options{})
	require.NoError(t, err)
	batch := capture.Batch{Frames: make([]capture.Frame, 0, 2)}
	want := map[uint64][]string{2: {"here the sender stalls", "no, there"}, 3: {"of an obsolete block"}}
	var refs []FrameRef
	for s.Next(&batch) == nil {
		for i := range batch.Frames {
			f := &batch.Frames[i]
			assert.Equal(t, want[f.Number], s.Comments(f.Number), "packet %d", f.Number)
			refs = append(refs, FrameRef{Offset: f.Offset, Interface: f.Interface})
		}
	}
	assert.Empty(t, s.Comments(2), "its batch is gone")
	require.Len(t, refs, 3)
	index := s.Index()
	for i, ref := range refs {
		comments, err := index.ReadComments(bytes.NewReader(file), int64(len(file)), ref)
		require.NoError(t, err)
		assert.Equal(t, want[uint64(i+1)], comments)
	}
	_, err = index.ReadComments(bytes.NewReader(file), int64(len(file)), FrameRef{Offset: 5})
	require.ErrorIs(t, err, ErrReference)
	require.NoError(t, s.Close())
}

func TestCommentsAreBounded(t *testing.T) {
	t.Parallel()
	packet := make([]byte, enhancedHeaderLength)
	file := written(t, FormatPcapng, WriterOptions{})
	for i := range 3 * maxNotes {
		file = append(file, block(binary.LittleEndian, blockEnhanced, packet, strconv.Itoa(i), strings.Repeat("x", 5000)+"\xff")...)
	}
	c := readBytes(t, file)
	assert.Len(t, c.Frames, 3*maxNotes)
	require.Len(t, c.Report.Comments, maxNotes+1)
	assert.Equal(t, "packet 1: 0", c.Report.Comments[0])
	assert.Equal(t, "packet 1: "+strings.Repeat("x", maxText), c.Report.Comments[1])
	assert.Equal(t, "and 500 more", c.Report.Comments[maxNotes])
}

func TestTextIsSafeForTerminals(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"eth0\x00\x00":       "eth0",
		"\x1b[2Jgone":        "\ufffd[2Jgone",
		"a\r\nb\tc":          "a  b c",
		"\u202egpj.exe":      "\ufffdgpj.exe",
		"\xc3\x28 Grüße":     "\ufffd( Grüße",
		"\u009b31m and \x7f": "\ufffd31m and \ufffd",
	} {
		assert.Equal(t, want, text([]byte(in)))
	}
}

// Names and keys are for other protocols: their blocks are no damage and nothing to tell of.
func TestNamesAndSecretsArePassedOverInSilence(t *testing.T) {
	t.Parallel()
	file := written(t, FormatPcapng, WriterOptions{}, someFrames(2)...)
	head := len(written(t, FormatPcapng, WriterOptions{}))
	names := block(binary.LittleEndian, blockNames, []byte{1, 0, 9, 0, 10, 0, 0, 1, 'h', 'o', 's', 't', 0, 0, 0, 0, 0, 0, 0, 0})
	secrets := block(binary.LittleEndian, blockSecrets, []byte("KSLT\x04\x00\x00\x00keys"))
	c := readBytes(t, joined(file[:head], names, secrets, file[head:], names))
	assert.Len(t, c.Frames, 2)
	assert.Equal(t, capture.Report{Format: "pcapng", Packets: 2}, c.Report)
}
