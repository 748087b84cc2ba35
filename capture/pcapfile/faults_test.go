package pcapfile

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/capture"
)

// Each test stands for a kind of fault that readers of captures are known to have.

func TestSnaplenHeaderIsNoLimit(t *testing.T) {
	t.Parallel()
	c := readFile(t, "testdata/ct-snaplen-small.pcap")
	require.Len(t, c.Frames, 5)
	assert.Equal(t, uint32(60), c.Interfaces[0].SnapLength)
	assert.Greater(t, len(c.Frames[0].Data), 60)
	assert.False(t, c.Report.Partial)
}

func TestSnaplenZeroIsUnlimited(t *testing.T) {
	t.Parallel()
	c := readFile(t, "testdata/ct-snaplen-zero.pcap")
	require.Len(t, c.Frames, 5)
	assert.Zero(t, c.Interfaces[0].SnapLength)
	assert.False(t, c.Report.Partial)
}

func TestFrameOfBigTCPIsRead(t *testing.T) {
	t.Parallel()
	for _, format := range []Format{FormatPcap, FormatPcapng} {
		c := readBytes(t, written(t, format, WriterOptions{SnapLength: 65535}, capture.Frame{Data: make([]byte, 512<<10), HasTime: true}))
		require.Len(t, c.Frames, 1, format)
		assert.Len(t, c.Frames[0].Data, 512<<10)
		assert.False(t, c.Report.Partial)
	}
}

func TestCapturedLongerThanOriginalIsAccepted(t *testing.T) {
	t.Parallel()
	c := readFile(t, "testdata/ct-caplen-gt-len.pcap")
	require.Len(t, c.Frames, 5)
	for i := range c.Frames {
		assert.Len(t, c.Frames[i].Data, int(c.Frames[i].OriginalLength)+16)
	}
	assert.False(t, c.Report.Partial)
}

func TestAbsurdCapturedLengthEndsTheFileAndAllocatesNothing(t *testing.T) {
	t.Parallel()
	c := readFile(t, "testdata/ct-caplen-4g.pcap")
	assert.Len(t, c.Frames, 5)
	assert.True(t, c.Report.Partial)
	assert.Equal(t, int64(1206), c.Report.FaultOffset)
	assert.Equal(t, "record 6 at byte 1206 claims 4294967295 captured bytes, more than any frame has (1048576), "+
		"so the file is broken from there on; the 5 packets before it were kept", c.Report.Fault)
}

func TestMemoryFollowsBytesNotTheirClaims(t *testing.T) {
	// Not parallel: it looks at the memory of the process.
	pcap := written(t, FormatPcap, WriterOptions{})
	pcap = append(pcap, make([]byte, 8)...)
	pcap = binary.LittleEndian.AppendUint32(pcap, MaxFrame)
	pcap = append(pcap, make([]byte, 100)...)
	ng := written(t, FormatPcapng, WriterOptions{})
	ng = binary.LittleEndian.AppendUint32(ng, blockEnhanced)
	ng = binary.LittleEndian.AppendUint32(ng, maxPacketBlock)
	for _, file := range [][]byte{pcap, append(ng, make([]byte, 100)...)} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s, err := New(bytes.NewReader(file), "claims", Options{})
		require.NoError(t, err)
		c := drain(t, s, 16)
		runtime.ReadMemStats(&after)
		assert.True(t, c.Report.Partial)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(2*batchBuffer))
	}
}

func TestResolutionOfPowersOfTwo(t *testing.T) {
	t.Parallel()
	c := readFile(t, "testdata/ct-tsresol-2-64.pcapng")
	require.Len(t, c.Frames, 1)
	assert.True(t, c.Frames[0].HasTime)
	assert.Equal(t, int64(500_000_000), c.Frames[0].Time)
}

func TestAbsurdResolutionTakesTheTimeNotThePacket(t *testing.T) {
	t.Parallel()
	good := written(t, FormatPcapng, WriterOptions{}, someFrames(2)...)
	for _, r := range []byte{0xff, 0x80 | 65, 20, 0x7f} {
		file := bytes.Replace(good, []byte{9, 0, 1, 0, 9}, []byte{9, 0, 1, 0, r}, 1)
		c := readBytes(t, file)
		require.Len(t, c.Frames, 2)
		assert.False(t, c.Frames[0].HasTime)
		require.Len(t, c.Report.Skipped, 1)
		assert.Contains(t, c.Report.Skipped[0], Resolution(r).String()+" s, too fine")
		assert.False(t, c.Report.Partial)
	}
}

func TestEachInterfaceHasItsOwnTimeAndLinkType(t *testing.T) {
	t.Parallel()
	c := readFile(t, "testdata/ct-multi-if.pcapng")
	require.Len(t, c.Frames, 17)
	var links []uint16
	for _, i := range c.Interfaces {
		links = append(links, i.LinkType)
	}
	assert.Equal(t, []uint16{1, 276, 1}, links)
	for i := range c.Frames {
		assert.Equal(t, uint32(i%3), c.Frames[i].Interface)
		assert.Equal(t, links[i%3], c.Frames[i].LinkType)
	}
	// Nanoseconds; microseconds; 2^-20 s with an offset: no power of ten, rounded down.
	assert.Equal(t, []int64{1_700_000_000_000_000_000, 1_700_000_000_000_001_000, 1_700_000_000_001_953_125}, times(c)[:3])
	assert.Equal(t, int64(1_700_000_000_004_882_812), times(c)[5])
	assert.Len(t, c.Frames[2].Data, 96)
	assert.Equal(t, uint32(322), c.Frames[2].OriginalLength)
}

func TestDropsOfStatisticsAreShown(t *testing.T) {
	t.Parallel()
	c := readFile(t, "testdata/ct-multi-if.pcapng")
	var dropped []uint64
	for _, i := range c.Interfaces {
		if i.Dropped != nil {
			dropped = append(dropped, *i.Dropped)
		}
	}
	assert.Equal(t, []uint64{3}, dropped, "one interface tells of drops, the others do not")
}

func TestUnknownAndCustomBlocksAreNamedAndPassedOver(t *testing.T) {
	t.Parallel()
	c := readFile(t, "testdata/ct-multi-if.pcapng")
	assert.Equal(t, []string{
		"byte 1340: a custom block of 28 bytes was passed over",
		"byte 1368: a block of unknown type 0x80000099 and 28 bytes was passed over",
		"byte 1004: the time goes back at packet 4, 5 times in all and at most by 13.656875ms; the order of the file was kept",
	}, c.Report.Skipped)
}

func TestStrayBytesAfterTheLastBlock(t *testing.T) {
	t.Parallel()
	good := written(t, FormatPcapng, WriterOptions{}, someFrames(3)...)
	for name, tail := range map[string][]byte{
		"few":  {1, 2, 3, 4, 5},
		"text": []byte("some text that is no block at all"),
		"ones": bytes.Repeat([]byte{0xff}, 64),
	} {
		c := readBytes(t, append(bytes.Clone(good), tail...))
		assert.Len(t, c.Frames, 3, name)
		assert.True(t, c.Report.Partial, name)
		assert.Equal(t, int64(len(good)), c.Report.FaultOffset, name)
		assert.Contains(t, c.Report.Fault, "the 3 packets before it were kept", name)
	}
}

func TestZerosBetweenBlocksArePassedOver(t *testing.T) {
	t.Parallel()
	one := written(t, FormatPcapng, WriterOptions{}, someFrames(1)...)
	two := append(append(bytes.Clone(one), make([]byte, 4096)...), one...)
	c := readBytes(t, append(two, make([]byte, 10)...))
	assert.Len(t, c.Frames, 2)
	assert.False(t, c.Report.Partial)
	assert.Equal(t, []string{
		fmt.Sprintf("byte %d: 4096 zero bytes between blocks were passed over", len(one)),
		fmt.Sprintf("byte %d: 10 zero bytes between blocks were passed over", len(two)),
	}, c.Report.Skipped)
}

func TestDamageDoesNotHideTheNextSection(t *testing.T) {
	t.Parallel()
	one := written(t, FormatPcapng, WriterOptions{}, someFrames(2)...)
	other := written(t, FormatPcapng, WriterOptions{BigEndian: true}, someFrames(3)...)
	file := append(append(bytes.Clone(one), "0123456789abcdef0123"...), other...)
	c := readBytes(t, file)
	assert.Len(t, c.Frames, 5)
	assert.True(t, c.Report.Partial)
	assert.Equal(t, int64(len(one)), c.Report.FaultOffset)
	require.Len(t, c.Report.Skipped, 2, "the other section begins at an earlier time, which is told as well")
	assert.Equal(t, fmt.Sprintf("byte %d: 20 bytes up to the next section header were passed over", len(one)), c.Report.Skipped[0])
	assert.Equal(t, uint32(1), c.Frames[4].Interface)
}

func TestCutFilesAreNeverPlainSuccess(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		file   string
		frames int
		offset int64
		fault  string
	}{
		{"ct-cut.pcap", 4, 1128, "the file ends inside record 5 at byte 1128 (58 of its 78 bytes are there); the 4 packets before it were kept"},
		{"ct-cut-rechdr.pcap", 5, 1206, "the file ends inside the header of record 6 at byte 1206 (5 of its 16 bytes are there); the 5 packets before it were kept"},
		{"ct-cut.pcapng", 17, 5680, "the file ends inside the interface statistics block at byte 5680 (15 of its 52 bytes are there); the 17 packets before it were kept"},
		{"ct-gzip-cut.pcap.gz", 240, 56760, "the file ends inside record 241 at byte 56760 (174 of its 338 bytes are there): the gzip data ends before its end; the 240 packets before it were kept"},
	} {
		c := readFile(t, filepath.Join("testdata", test.file))
		assert.Len(t, c.Frames, test.frames, test.file)
		assert.Equal(t, uint64(test.frames), c.Report.Packets, test.file)
		assert.True(t, c.Report.Partial, test.file)
		assert.Equal(t, test.offset, c.Report.FaultOffset, test.file)
		assert.Equal(t, test.fault, c.Report.Fault)
	}
}

func TestFileWithoutPacketsIsNoError(t *testing.T) {
	t.Parallel()
	for _, format := range []Format{FormatPcap, FormatPcapng} {
		c := readBytes(t, written(t, format, WriterOptions{}))
		assert.Empty(t, c.Frames)
		assert.Equal(t, capture.Report{Format: format.String()}, c.Report)
		assert.Len(t, c.Interfaces, 1)
	}
}

func TestFileWithOnePacketEnds(t *testing.T) {
	t.Parallel()
	for _, format := range []Format{FormatPcap, FormatPcapng} {
		c := readBytes(t, written(t, format, WriterOptions{}, someFrames(1)...))
		assert.Len(t, c.Frames, 1)
		assert.Equal(t, capture.Report{Format: format.String(), Packets: 1}, c.Report)
	}
}

func TestFileWithoutOneReadablePacketSaysSo(t *testing.T) {
	t.Parallel()
	file := written(t, FormatPcapng, WriterOptions{}, someFrames(1)...)
	binary.LittleEndian.PutUint32(file[len(file)-4-60-12:], 65536) // the captured length
	binary.LittleEndian.PutUint32(file[len(file)-4-60-8:], 65536)
	c := readBytes(t, file)
	assert.Empty(t, c.Frames)
	require.Len(t, c.Report.Skipped, 2)
	assert.Contains(t, c.Report.Skipped[0], "65536 captured bytes")
	assert.Contains(t, c.Report.Skipped[1], "no packet of it could be read")
}

func TestAllMagicsGiveEqualFrames(t *testing.T) {
	t.Parallel()
	little := readFile(t, "testdata/base-cm-send-write-read.pcap")
	require.Len(t, little.Frames, 17)
	for _, name := range []string{"ct-micro-be.pcap", "ct-nano-be.pcap"} {
		c := readFile(t, filepath.Join("testdata", name))
		assert.Equal(t, little.Frames, c.Frames, name)
		assert.False(t, c.Report.Partial)
	}
}

func TestContentDecidesNotTheName(t *testing.T) {
	t.Parallel()
	c := readFile(t, "testdata/ct-gzip-named-pcap.pcap")
	assert.Len(t, c.Frames, 5)
	assert.Equal(t, capture.Report{Format: "pcap", Compression: "gzip", Packets: 5}, c.Report)
}

func TestGzipGoesOnAfterItsFirstMember(t *testing.T) {
	t.Parallel()
	c := readFile(t, "testdata/ct-gzip-two-members.pcap.gz")
	assert.Len(t, c.Frames, 5)
	assert.False(t, c.Report.Partial)
}

func TestGzipPaddingIsNoDamage(t *testing.T) {
	t.Parallel()
	b := compressed(t, written(t, FormatPcap, WriterOptions{}, someFrames(3)...))
	c := readBytes(t, append(bytes.Clone(b), make([]byte, 512)...))
	assert.Equal(t, capture.Report{Format: "pcap", Compression: "gzip", Packets: 3}, c.Report)
	c = readBytes(t, append(bytes.Clone(b), "trailing"...))
	assert.Len(t, c.Frames, 3)
	assert.True(t, c.Report.Partial)
	assert.Contains(t, c.Report.Fault, "bytes that are no gzip data follow its end")
}

func compressed(tb testing.TB, b []byte) []byte {
	tb.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err := z.Write(b)
	require.NoError(tb, err)
	require.NoError(tb, z.Close())
	return out.Bytes()
}

func TestFCSOfTheLinkTypeWord(t *testing.T) {
	t.Parallel()
	c := readFile(t, "testdata/ct-fcs4.pcap")
	require.Len(t, c.Frames, 5)
	assert.Equal(t, uint8(4), c.Frames[0].FCSLength)
	assert.Equal(t, uint16(1), c.Frames[0].LinkType)
	assert.Len(t, c.Frames[0].Data, 326)
}

func TestFCSOfInterfaceAndPacket(t *testing.T) {
	t.Parallel()
	for _, format := range []Format{FormatPcap, FormatPcapng} {
		c := readBytes(t, written(t, format, WriterOptions{FCSLength: 4}, someFrames(1)...))
		assert.Equal(t, uint8(4), c.Frames[0].FCSLength, format)
	}
	assert.Equal(t, uint8(4), interfaceFCS(4), "writers that count bytes")

	body := append(make([]byte, enhancedHeaderLength), 2, 0, 4, 0, 4<<5, 0, 0, 0)
	p, err := parsePacket(blockEnhanced, body, false, math.MaxUint32)
	require.NoError(t, err)
	assert.Equal(t, uint8(4), p.fcs)
}

func TestDropCountsOfPackets(t *testing.T) {
	t.Parallel()
	file := written(t, FormatPcapng, WriterOptions{})
	for _, n := range []byte{2, 3} {
		b := binary.LittleEndian.AppendUint32(nil, blockEnhanced)
		b = binary.LittleEndian.AppendUint32(b, 48)
		b = append(b, make([]byte, enhancedHeaderLength)...)
		b = append(b, 4, 0, 8, 0, n, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
		file = append(file, binary.LittleEndian.AppendUint32(b, 48)...)
	}
	c := readBytes(t, file)
	require.Len(t, c.Frames, 2)
	require.NotNil(t, c.Interfaces[0].Dropped)
	assert.Equal(t, uint64(5), *c.Interfaces[0].Dropped)
	assert.Nil(t, c.Interfaces[0].Received)
}

func TestSimplePacketsHaveNoTime(t *testing.T) {
	t.Parallel()
	c := readFile(t, "testdata/ct-spb.pcapng")
	require.Len(t, c.Frames, 17)
	for i := range c.Frames {
		assert.False(t, c.Frames[i].HasTime)
		assert.LessOrEqual(t, len(c.Frames[i].Data), 80)
		assert.Len(t, c.Frames[i].Data, int(min(80, c.Frames[i].OriginalLength)))
	}
}

func TestObsoletePacketBlock(t *testing.T) {
	t.Parallel()
	file := written(t, FormatPcapng, WriterOptions{Interfaces: []WriterInterface{{LinkType: 1}, {LinkType: 113, Resolution: Microseconds}}})
	b := binary.LittleEndian.AppendUint32(nil, blockPacket)
	b = binary.LittleEndian.AppendUint32(b, 36)
	b = append(b, 1, 0, 7, 0)                                // interface 1, 7 drops
	b = append(b, 0, 0, 0, 0, 5, 0, 0, 0)                    // time
	b = append(b, 2, 0, 0, 0, 60, 0, 0, 0, 0xaa, 0xbb, 0, 0) // lengths, data
	c := readBytes(t, append(file, binary.LittleEndian.AppendUint32(b, 36)...))
	require.Len(t, c.Frames, 1)
	assert.Equal(t, capture.Frame{
		Data: []byte{0xaa, 0xbb}, Number: 1, Time: 5000, Offset: int64(len(file)), OriginalLength: 60, Interface: 1, LinkType: 113, HasTime: true,
	}, c.Frames[0])
	require.NotNil(t, c.Interfaces[1].Dropped)
	assert.Equal(t, uint64(7), *c.Interfaces[1].Dropped)
}

func TestZeroLengthFramesArePassedOn(t *testing.T) {
	t.Parallel()
	c := readFile(t, "testdata/ct-zero-packet.pcap")
	require.Len(t, c.Frames, 8)
	empty := 0
	for i := range c.Frames {
		if len(c.Frames[i].Data) == 0 {
			empty++
		}
	}
	assert.Equal(t, 2, empty)
	assert.NotEmpty(t, c.Frames[7].Data)
}

func TestHugeBlockEndsTheFile(t *testing.T) {
	t.Parallel()
	c := readFile(t, "testdata/ct-huge-block.pcapng")
	assert.Empty(t, c.Frames)
	assert.True(t, c.Report.Partial)
	assert.Equal(t, int64(48), c.Report.FaultOffset)
	assert.Contains(t, c.Report.Fault, "4294967280 bytes")
}

func TestLengthsThatDifferKeepABlockThatTheFileAgreesWith(t *testing.T) {
	t.Parallel()
	c := readFile(t, "testdata/ct-len-mismatch.pcapng")
	assert.Len(t, c.Frames, 1)
	require.Len(t, c.Report.Skipped, 2, "its packet has no time, either")
	assert.Contains(t, c.Report.Skipped[0], "356 bytes before")

	// Payload follows where the first length leads to: neither is believed.
	b := append(testFile(t, "ct-len-mismatch.pcapng"), bytes.Repeat([]byte{0x55}, 64)...)
	c = readBytes(t, b)
	assert.Empty(t, c.Frames)
	assert.True(t, c.Report.Partial)
	assert.Equal(t, int64(48), c.Report.FaultOffset)
}

func TestSectionOfUnknownVersionIsPassedOver(t *testing.T) {
	t.Parallel()
	one := written(t, FormatPcapng, WriterOptions{}, someFrames(2)...)
	foreign := bytes.Clone(one)
	foreign[12] = 2
	file := append(append(bytes.Clone(one), foreign...), written(t, FormatPcapng, WriterOptions{BigEndian: true}, someFrames(4)[3])...)
	c := readBytes(t, file)
	assert.Len(t, c.Frames, 3)
	assert.False(t, c.Report.Partial)
	assert.Equal(t, []string{fmt.Sprintf("byte %d: a section of the unknown version 2.0 was passed over", len(one))}, c.Report.Skipped)
	assert.Equal(t, []IndexSection{{}, {Offset: int64(2 * len(one)), BigEndian: true, FirstInterface: 1}}, c.Index.Sections)
}

func TestPacketOfAnUnknownInterfaceIsNamedAndPassedOver(t *testing.T) {
	t.Parallel()
	file := written(t, FormatPcapng, WriterOptions{}, someFrames(2)...)
	file[len(file)-(12+enhancedHeaderLength+64)+8] = 9 // the second packet's interface
	c := readBytes(t, file)
	assert.Len(t, c.Frames, 1)
	require.Len(t, c.Report.Skipped, 1)
	assert.Contains(t, c.Report.Skipped[0], "it names interface 9, its section has 1")
}

func TestMicrosecondsPastASecondAreCarried(t *testing.T) {
	t.Parallel()
	file := written(t, FormatPcap, WriterOptions{}, capture.Frame{Data: []byte{1}, HasTime: true})
	binary.LittleEndian.PutUint32(file[24:], 10)
	binary.LittleEndian.PutUint32(file[28:], 1_500_000)
	assert.Equal(t, []int64{11_500_000_000}, times(readBytes(t, file)))
}

func TestTimesPast2038And2106(t *testing.T) {
	t.Parallel()
	pcap := written(t, FormatPcap, WriterOptions{}, capture.Frame{Time: math.MaxUint32 * int64(nanosPerSecond), HasTime: true})
	assert.Equal(t, []int64{4_294_967_295_000_000_000}, times(readBytes(t, pcap)))
	ng := written(t, FormatPcapng, WriterOptions{}, capture.Frame{Time: math.MaxInt64, HasTime: true})
	assert.Equal(t, []int64{math.MaxInt64}, times(readBytes(t, ng)))
}

func TestTimeBeyondInt64IsClampedAndNoted(t *testing.T) {
	t.Parallel()
	file := written(t, FormatPcapng, WriterOptions{}, capture.Frame{Time: 0, HasTime: true, Data: []byte{}})
	at := len(file) - 4 - enhancedHeaderLength
	binary.LittleEndian.PutUint32(file[at+4:], 0xffffffff)
	c := readBytes(t, file)
	assert.Equal(t, []int64{math.MaxInt64}, times(c))
	require.Len(t, c.Report.Skipped, 1)
	assert.Contains(t, c.Report.Skipped[0], "outside the years 1677 to 2262")
}

func TestReportIsBounded(t *testing.T) {
	t.Parallel()
	file := written(t, FormatPcapng, WriterOptions{})
	unknown := []byte{0x99, 0, 0, 0, 12, 0, 0, 0, 12, 0, 0, 0}
	c := readBytes(t, append(file, bytes.Repeat(unknown, 5000)...))
	require.Len(t, c.Report.Skipped, maxNotes+1)
	assert.Equal(t, "and 4901 more", c.Report.Skipped[maxNotes], "4900 blocks and that no packet was read")
}

func TestInterfacesAreBounded(t *testing.T) {
	t.Parallel()
	file := written(t, FormatPcapng, WriterOptions{})
	one := []byte{1, 0, 0, 0, 20, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0}
	s, err := New(bytes.NewReader(append(file, bytes.Repeat(one, maxInterfaces+5)...)), "many", Options{})
	require.NoError(t, err)
	c := drain(t, s, 8)
	assert.Len(t, c.Interfaces, maxInterfaces)
	assert.Len(t, c.Report.Skipped, 7)
}

func TestLongBlocksArePassedOverWithoutBeingKept(t *testing.T) {
	t.Parallel()
	const size = 3 << 20
	secrets := binary.LittleEndian.AppendUint32(nil, blockSecrets)
	secrets = binary.LittleEndian.AppendUint32(secrets, size)
	secrets = append(secrets, make([]byte, size-12)...)
	secrets = binary.LittleEndian.AppendUint32(secrets, size)
	frames := someFrames(2)
	file := written(t, FormatPcapng, WriterOptions{}, frames[0])
	path := filepath.Join(t.TempDir(), "long")
	second := written(t, FormatPcapng, WriterOptions{}, frames[1])
	require.NoError(t, os.WriteFile(path, bytes.Join([][]byte{file, secrets, second}, nil), 0o600))
	c := readFile(t, path)
	assert.Len(t, c.Frames, 2)
	assert.False(t, c.Report.Partial)
	assert.Equal(t, []string{fmt.Sprintf("byte %d: decryption secrets block of %d bytes was passed over, it is too long", len(file), size)}, c.Report.Skipped)
}
