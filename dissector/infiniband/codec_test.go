package infiniband

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// decoder is what all headers have in common.
type decoder interface {
	Decode(b []byte) (int, error)
}

type codec struct {
	name   string
	length int
	dirty  func() decoder // a header with every field set
	zero   decoder
	append func(decoder, []byte) []byte
	wire   []byte  // an example
	want   decoder // the example decoded
}

// header adapts the codec of one header type to the tests below.
func header[T any, P interface {
	*T
	decoder
}](name string, length int, appendTo func(T, []byte) []byte, dirty T, wire []byte, want T) codec {
	return codec{
		name:   name,
		length: length,
		dirty:  func() decoder { v := dirty; return P(&v) },
		zero:   P(new(T)),
		append: func(d decoder, b []byte) []byte { return appendTo(*d.(P), b) },
		wire:   wire,
		want:   P(&want),
	}
}

var codecs = []codec{
	header("BTH", 12, BTH.AppendTo,
		BTH{0xff, true, true, 3, 15, 0xffff, true, true, 63, 0xffffff, true, 127, 0xffffff},
		[]byte{0x0a, 0x60, 0xff, 0xfe, 0x40, 0x00, 0x01, 0x2c, 0x80, 0x12, 0x34, 0x56},
		BTH{
			Opcode: RCWriteOnly, MigrationRequest: true, PadCount: 2, PartitionKey: 0xfffe, BECN: true,
			DestinationQP: 0x12c, AckRequest: true, PSN: 0x123456,
		}),
	header("RETH", 16, RETH.AppendTo, RETH{1 << 63, 1 << 31, 1 << 31},
		[]byte{0, 0, 0x7f, 0xff, 0, 0, 0x10, 0, 0xaa, 0xbb, 0xcc, 0xdd, 0, 1, 0, 0},
		RETH{VirtualAddress: 0x7fff00001000, RemoteKey: 0xaabbccdd, DMALength: 65536}),
	header("AETH", 4, AETH.AppendTo, AETH{0xff, 0xffffff},
		[]byte{0x60, 0, 0, 7}, AETH{Syndrome: 0x60, MSN: 7}),
	header("DETH", 8, DETH.AppendTo, DETH{1 << 31, 255, 0xffffff},
		[]byte{0x80, 0x01, 0, 0, 0, 0, 0, 1}, DETH{QueueKey: GSIQueueKey, SourceQP: GeneralServicesQP}),
	header("RDETH", 4, RDETH.AppendTo, RDETH{255, 0xffffff},
		[]byte{1, 2, 3, 4}, RDETH{Reserved: 1, EEContext: 0x020304}),
	header("XRCETH", 4, XRCETH.AppendTo, XRCETH{255, 0xffffff},
		[]byte{0, 2, 3, 4}, XRCETH{SRQ: 0x020304}),
	header("AtomicETH", 28, AtomicETH.AppendTo, AtomicETH{1, 2, 3, 4},
		[]byte{0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 4},
		AtomicETH{VirtualAddress: 1, RemoteKey: 2, SwapOrAdd: 3, Compare: 4}),
	header("AtomicAckETH", 8, AtomicAckETH.AppendTo, AtomicAckETH{1},
		[]byte{1, 2, 3, 4, 5, 6, 7, 8}, AtomicAckETH{OriginalData: 0x0102030405060708}),
	header("ImmDt", 4, ImmDt.AppendTo, ImmDt{1}, []byte{1, 2, 3, 4}, ImmDt{Data: 0x01020304}),
	header("IETH", 4, IETH.AppendTo, IETH{1}, []byte{1, 2, 3, 4}, IETH{RemoteKey: 0x01020304}),
	header("FETH", 4, FETH.AppendTo, FETH{1<<26 - 1, 3, 15},
		[]byte{0x80, 0, 0, 0x62}, FETH{Reserved: 0x2000001, Selectivity: 2, Placement: 2}),
}

func TestDecodeReadsEveryField(t *testing.T) {
	for _, c := range codecs {
		t.Run(c.name, func(t *testing.T) {
			got := c.dirty()
			// One byte more than the header: the rest belongs to others.
			n, err := got.Decode(append(bytes.Clone(c.wire), 0xee))
			require.NoError(t, err)
			assert.Equal(t, c.length, n)
			assert.Empty(t, cmp.Diff(c.want, got))
			assert.Equal(t, c.wire, c.append(got, nil), "encoding is the inverse")
			assert.Equal(t, append([]byte{9}, c.wire...), c.append(got, []byte{9}), "what was in the buffer stays")
		})
	}
}

func TestDecodeOfAPrefixIsTruncatedAndZero(t *testing.T) {
	for _, c := range codecs {
		for n := range c.length {
			got := c.dirty()
			used, err := got.Decode(c.wire[:n])
			require.ErrorIs(t, err, ErrTruncated, "%s with %d bytes", c.name, n)
			assert.Zero(t, used)
			assert.Equal(t, c.zero, got, "%s with %d bytes keeps nothing of the header before it", c.name, n)
		}
	}
}

// Every bit of the wire belongs to exactly one field: setting one bit changes the decoded header, and
// encoding brings the same bit back.
func TestEveryBitSurvives(t *testing.T) {
	for _, c := range codecs {
		for bit := range c.length * 8 {
			wire := make([]byte, c.length)
			wire[bit/8] = 0x80 >> (bit % 8)
			got := c.dirty()
			_, err := got.Decode(wire)
			require.NoError(t, err)
			assert.NotEqual(t, c.zero, got, "%s bit %d", c.name, bit)
			assert.Equal(t, wire, c.append(got, nil), "%s bit %d", c.name, bit)
		}
	}
}

func TestAppendToKeepsOversizedValuesInTheirField(t *testing.T) {
	b := BTH{PadCount: 7, TransportVersion: 0x1f, Reserved6: 0xff, DestinationQP: 0xff000001, Reserved7: 0xff, PSN: 0xff000002}
	assert.Equal(t, []byte{0, 0x3f, 0, 0, 0x3f, 0, 0, 1, 0x7f, 0, 0, 2}, b.AppendTo(nil))
	assert.Equal(t, []byte{0, 0, 0, 0x3f}, FETH{Selectivity: 0xff, Placement: 0xff}.AppendTo(nil))
}

func TestCodecsDoNotAllocate(t *testing.T) {
	buffer := make([]byte, 0, 64)
	for _, c := range codecs {
		h := c.dirty()
		allocs := testing.AllocsPerRun(100, func() {
			if _, err := h.Decode(c.wire); err != nil {
				t.Fatal(err)
			}
			if _, err := h.Decode(nil); err == nil {
				t.Fatal("no bytes were enough")
			}
			buffer = c.append(h, buffer[:0])
		})
		assert.Zero(t, allocs, c.name)
	}
}

func TestHeaderLengthsAgreeWithCodecs(t *testing.T) {
	for i, c := range codecs {
		for bit := range headerShapes {
			if headerShapes[bit].name == c.name {
				assert.Equal(t, c.length, HeaderSet(1<<bit).Length(), c.name)
				assert.Equal(t, c.name, HeaderSet(1<<bit).String())
				break
			}
			require.NotEqual(t, len(headerShapes)-1, bit, "codec %d has no header bit", i)
		}
	}
	assert.Equal(t, "BTH+RDETH+DETH+FETH+RETH", (HasRETH | HasFETH | HasDETH | HasRDETH | HasBTH).String())
	assert.Equal(t, "none", HeaderSet(0).String())
	assert.Equal(t, 28, (HasBTH | HasCNP).Length())
}

func fuzzCodec(f *testing.F, name string) {
	f.Helper()
	for _, c := range codecs {
		if c.name != name {
			continue
		}
		f.Add(c.wire)
		f.Add(c.wire[:c.length-1])
		f.Add([]byte{})
		f.Fuzz(func(t *testing.T, b []byte) {
			h := c.dirty()
			n, err := h.Decode(b)
			if len(b) < c.length {
				require.ErrorIs(t, err, ErrTruncated)
				require.Equal(t, c.zero, h)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.length, n)
			require.Equal(t, b[:n], c.append(h, nil))
		})
		return
	}
	f.Fatalf("no codec %s", name)
}

func FuzzBTH(f *testing.F)          { fuzzCodec(f, "BTH") }
func FuzzRETH(f *testing.F)         { fuzzCodec(f, "RETH") }
func FuzzAETH(f *testing.F)         { fuzzCodec(f, "AETH") }
func FuzzDETH(f *testing.F)         { fuzzCodec(f, "DETH") }
func FuzzRDETH(f *testing.F)        { fuzzCodec(f, "RDETH") }
func FuzzXRCETH(f *testing.F)       { fuzzCodec(f, "XRCETH") }
func FuzzAtomicETH(f *testing.F)    { fuzzCodec(f, "AtomicETH") }
func FuzzAtomicAckETH(f *testing.F) { fuzzCodec(f, "AtomicAckETH") }
func FuzzImmDt(f *testing.F)        { fuzzCodec(f, "ImmDt") }
func FuzzIETH(f *testing.F)         { fuzzCodec(f, "IETH") }
func FuzzFETH(f *testing.F)         { fuzzCodec(f, "FETH") }
