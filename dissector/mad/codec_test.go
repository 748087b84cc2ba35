package mad

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector/infiniband"
)

type decoder interface {
	Decode(b []byte) (int, error)
}

// codec adapts the codec of one type to the tests below.
type codec struct {
	name   string
	fixed  int // bytes without which there is nothing
	length int // on the wire
	zero   func() decoder
	append func(decoder, []byte) []byte
}

func of[T any, P interface {
	*T
	decoder
}](name string, fixed, length int, appendTo func(T, []byte) []byte) codec {
	return codec{
		name, fixed, length,
		func() decoder { return P(new(T)) },
		func(d decoder, b []byte) []byte { return appendTo(*d.(P), b) },
	}
}

var codecs = []codec{
	of("header", 24, 24, Header.AppendTo),
	of("REQ", 140, 232, REQ.AppendTo),
	of("MRA", 10, 232, MRA.AppendTo),
	of("REJ", 84, 232, REJ.AppendTo),
	of("REP", 36, 232, REP.AppendTo),
	of("RTU", 8, 232, RTU.AppendTo),
	of("DREQ", 12, 232, DREQ.AppendTo),
	of("DREP", 8, 232, DREP.AppendTo),
	of("SIDR_REQ", 16, 232, SIDRREQ.AppendTo),
	of("SIDR_REP", 96, 232, SIDRREP.AppendTo),
	of("LAP", 64, 232, LAP.AppendTo),
	of("APR", 84, 232, APR.AppendTo),
	of("IPCM", 36, 36, IPCM.AppendTo),
}

// Every bit of the wire belongs to exactly one field: setting one changes the decoded value, and encoding
// brings the same bit back.
func TestEveryBitSurvives(t *testing.T) {
	for _, c := range codecs {
		t.Run(c.name, func(t *testing.T) {
			blank := c.zero()
			_, err := blank.Decode(make([]byte, c.length))
			require.NoError(t, err)
			got := c.zero()
			for bit := range c.length * 8 {
				wire := make([]byte, c.length)
				wire[bit/8] = 0x80 >> (bit % 8)
				n, err := got.Decode(append(bytes.Clone(wire), 0xee)) // what follows belongs to others
				require.NoError(t, err)
				require.Equal(t, c.length, n)
				require.NotEqual(t, blank, got, "bit %d", bit)
				require.Equal(t, append([]byte{9}, wire...), c.append(got, []byte{9}), "bit %d", bit)
			}
		})
	}
}

func TestPrefixes(t *testing.T) {
	for _, c := range codecs {
		wire := bytes.Repeat([]byte{0xff}, c.length)
		for n := range c.length {
			got := c.zero()
			_, err := got.Decode(wire)
			require.NoError(t, err)
			used, err := got.Decode(wire[:n])
			if n < c.fixed {
				require.ErrorIs(t, err, infiniband.ErrTruncated, "%s with %d bytes", c.name, n)
				require.Zero(t, used)
				require.Equal(t, c.zero(), got, "%s with %d bytes keeps nothing of the message before it", c.name, n)
				continue
			}
			require.NoError(t, err, "%s with %d bytes lacks private data only", c.name, n)
			require.Equal(t, n, used)
			require.Equal(t, append(bytes.Clone(wire[:n]), make([]byte, c.length-n)...), c.append(got, nil))
		}
	}
}

func TestDecodeLeavesNothingBehind(t *testing.T) {
	for _, c := range codecs {
		used, alone := c.zero(), c.zero()
		_, err := used.Decode(bytes.Repeat([]byte{0xff}, c.length))
		require.NoError(t, err)
		wire := make([]byte, c.fixed)
		for i := range wire {
			wire[i] = byte(i * 7)
		}
		_, err = used.Decode(wire)
		require.NoError(t, err)
		_, err = alone.Decode(wire)
		require.NoError(t, err)
		assert.Empty(t, cmp.Diff(alone, used), c.name)
	}
}

func TestCodecsDoNotAllocate(t *testing.T) {
	wire := bytes.Repeat([]byte{0x55}, DataLength)
	buffer := make([]byte, 0, Length)
	for _, c := range codecs {
		d := c.zero()
		allocations := testing.AllocsPerRun(100, func() {
			if _, err := d.Decode(wire); err != nil {
				t.Fatal(err)
			}
			if _, err := d.Decode(nil); err == nil {
				t.Fatal("no bytes were enough")
			}
			buffer = c.append(d, buffer[:0])
		})
		assert.Zero(t, allocations, c.name)
	}
}

func TestPrivateDataThatHaveNoRoomAreCut(t *testing.T) {
	got := REQ{PrivateData: bytes.Repeat([]byte{1}, 200)}.AppendTo([]byte{9})
	assert.Len(t, got, 1+DataLength)
	assert.Equal(t, bytes.Repeat([]byte{1}, 92), got[1+140:])
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte{})
	f.Add(make([]byte, DataLength))
	f.Add(bytes.Repeat([]byte{0xff}, DataLength-1))
	f.Add(REQ{ServiceID: 0x0106_1144, PrivateData: IPCM{IPVersion: 4}.AppendTo(nil)}.AppendTo(nil))
	capture, err := os.ReadFile(filepath.Join("..", "testdata", "cm-messages.pcap"))
	require.NoError(f, err)
	const fileHeader, recordHeader, before, icrc = 24, 16, 14 + 20 + 8 + 12 + 8 + HeaderLength, 4
	for at := fileHeader; at < len(capture); {
		end := at + recordHeader + int(binary.LittleEndian.Uint32(capture[at+8:]))
		f.Add(capture[at+recordHeader+before : end-icrc])
		at = end
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, c := range codecs {
			d := c.zero()
			n, err := d.Decode(b)
			if len(b) < c.fixed {
				require.ErrorIs(t, err, infiniband.ErrTruncated)
				require.Equal(t, c.zero(), d)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, min(len(b), c.length), n)
			wire := c.append(d, nil)
			require.Len(t, wire, c.length)
			require.Equal(t, b[:n], wire[:n])
		}
		var req REQ
		if _, err := req.Decode(b); err == nil {
			if ip, ok := req.IPCM(); ok {
				_, _, valid := ip.Addresses()
				require.True(t, valid)
			}
		}
	})
}
