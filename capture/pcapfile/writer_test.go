package pcapfile

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/capture"
)

func TestWriterAndReaderAgree(t *testing.T) {
	t.Parallel()
	for _, format := range []Format{FormatPcap, FormatPcapng} {
		for _, big := range []bool{false, true} {
			for _, nano := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/big=%t/nano=%t", format, big, nano), func(t *testing.T) {
					t.Parallel()
					frames := someFrames(40)
					c := readBytes(t, written(t, format, WriterOptions{BigEndian: big, Nanosecond: nano, LinkType: 276, SnapLength: 96}, frames...))
					require.Len(t, c.Frames, len(frames))
					for i := range frames {
						want := frames[i]
						want.Number, want.LinkType, want.Offset = uint64(i+1), 276, c.Frames[i].Offset
						assert.Equal(t, want, c.Frames[i])
					}
					assert.Equal(t, capture.Report{Format: format.String(), Packets: 40}, c.Report)
					assert.Equal(t, []capture.Interface{{LinkType: 276, SnapLength: 96}}, c.Interfaces)
				})
			}
		}
	}
}

func TestWriterKeepsWhatInterfacesAre(t *testing.T) {
	t.Parallel()
	for _, big := range []bool{false, true} {
		var b bytes.Buffer
		w, err := NewWriter(&b, FormatPcapng, WriterOptions{BigEndian: big, Interfaces: []WriterInterface{
			{Name: "eth0", Description: "port to spine 1", LinkType: 1, SnapLength: 128},
			{Name: "swp1", LinkType: 1, Resolution: 0x80 | 20, Offset: -5, FCSLength: 4},
		}})
		require.NoError(t, err)
		at := int64(1_700_000_000_000_000_000)
		require.NoError(t, w.WriteFrame(&capture.Frame{Data: []byte{1, 2, 3}, Time: at, HasTime: true, Interface: 1}))
		received, dropped := uint64(10), uint64(math.MaxUint64)
		require.NoError(t, w.WriteStatistics(0, at, &received, &dropped))
		require.NoError(t, w.WriteStatistics(1, at, &received, nil))
		require.NoError(t, w.NewSection([]WriterInterface{{Name: "any", LinkType: 276, Resolution: Microseconds}}))
		require.NoError(t, w.WriteFrame(&capture.Frame{Data: []byte{4}, Time: at + 1999, HasTime: true}))
		c := readBytes(t, b.Bytes())
		assert.Equal(t, []capture.Interface{
			{Name: "eth0", Description: "port to spine 1", LinkType: 1, SnapLength: 128, Received: &received, Dropped: &dropped},
			{Name: "swp1", LinkType: 1, Received: &received},
			{Name: "any", LinkType: 276, Section: 1},
		}, c.Interfaces)
		require.Len(t, c.Frames, 2)
		assert.Equal(t, []int64{at, at + 1000}, times(c), "microseconds round down")
		assert.Equal(t, uint8(4), c.Frames[0].FCSLength)
		assert.Equal(t, uint32(2), c.Frames[1].Interface)
	}
}

func TestWriterRefusesWhatItCannotTell(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	_, err := NewWriter(&b, 0, WriterOptions{})
	require.EqualError(t, err, "write capture: unknown format 0")
	pcap, err := NewWriter(&b, FormatPcap, WriterOptions{})
	require.NoError(t, err)
	require.ErrorIs(t, pcap.WriteFrame(&capture.Frame{Time: -1, HasTime: true}), ErrTime)
	require.ErrorIs(t, pcap.WriteFrame(&capture.Frame{Time: math.MaxInt64, HasTime: true}), ErrTime)
	require.ErrorIs(t, pcap.WriteFrame(&capture.Frame{}), ErrTime)
	require.Error(t, pcap.WriteFrame(&capture.Frame{Data: make([]byte, MaxFrame+1), HasTime: true}))
	require.ErrorIs(t, pcap.AddInterface(WriterInterface{}), errPcapngOnly)
	ng, err := NewWriter(&b, FormatPcapng, WriterOptions{SnapLength: 64})
	require.NoError(t, err)
	require.EqualError(t, ng.WriteFrame(&capture.Frame{Interface: 1, HasTime: true}), "write capture: frame of interface 1 of 1")
	require.Error(t, ng.WriteFrame(&capture.Frame{Data: make([]byte, 10), OriginalLength: 64}), "a simple packet block of 10 of 64 bytes")
	require.Error(t, ng.AddInterface(WriterInterface{Resolution: 20}))
}

func TestWriterKeepsComments(t *testing.T) {
	var file bytes.Buffer
	w, err := NewWriter(&file, FormatPcapng, WriterOptions{Comments: []string{"on all"}})
	require.NoError(t, err)
	require.NoError(t, w.WriteCommented(&capture.Frame{Data: []byte{1, 2, 3, 4, 5}, HasTime: true, Time: 7}, "one", "a second one"))
	require.NoError(t, w.WriteFrame(&capture.Frame{Data: []byte{6}, HasTime: true, Time: 8}))
	s, err := New(bytes.NewReader(file.Bytes()), "commented", Options{})
	require.NoError(t, err)
	defer s.Close()
	var batch capture.Batch
	require.NoError(t, s.Next(&batch))
	require.Len(t, batch.Frames, 2)
	assert.Equal(t, []string{"one", "a second one"}, s.Comments(1))
	assert.Empty(t, s.Comments(2))
	assert.Equal(t, "the file: on all", s.Report().Comments[0])
	assert.Equal(t, []byte{1, 2, 3, 4, 5}, batch.Frames[0].Data)
}
