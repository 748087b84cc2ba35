package mr0_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector/internal/metagen"
	"github.com/rocelens/rocelens/dissector/metaroce"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

var from, to = netip.MustParseAddrPort("10.0.0.1:50001"), netip.MustParseAddrPort("10.0.0.2:51791")

func datagram(tb testing.TB, p mr0.Packet, payload []byte) []byte {
	tb.Helper()
	b, err := p.AppendDatagram(nil, payload, from, to)
	require.NoError(tb, err)
	return b
}

// datagrams are n random packets of every type.
func datagrams(tb testing.TB, n int) [][]byte {
	tb.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	var out [][]byte
	for range n {
		for _, typ := range metagen.Types() {
			p, payload := metagen.Packet(r, typ)
			out = append(out, datagram(tb, p, payload))
		}
	}
	return out
}

// sent is what a receiver of p should make of it.
func sent(p mr0.Packet) mr0.Packet {
	p.Has, p.PayloadOffset = headersOf(p.CH.Type, p.CH.Flags)
	return p
}

// headersOf are the headers of a packet, by the profile's description, and their size.
func headersOf(typ mr0.Type, flags mr0.Flags) (set mr0.HeaderSet, size uint16) {
	t := mr0.Profile.TypeOf(uint8(typ))
	indexes := t.Headers
	if flags&mr0.FlagIMM != 0 {
		indexes = append(slices.Clip(indexes), headerIndex("IMMH"))
	}
	for _, i := range indexes {
		set |= 1 << i
		size += uint16(mr0.Profile.Headers[i].Length)
	}
	return set, size
}

func headerIndex(name string) uint8 {
	for i := range mr0.Profile.Headers {
		if mr0.Profile.Headers[i].Name == name {
			return uint8(i)
		}
	}
	return metaroce.NoField
}

func TestEveryTypeComesBackAsItWasSent(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		for _, typ := range metagen.Types() {
			p, payload := metagen.Packet(r, typ)
			data := datagram(t, p, payload)
			var got mr0.Packet
			require.NoError(t, mr0.Decode(data, &got), "%s: %s", typ, mr0.Profile.Explain(got.Fault))
			if want := sent(p); got != want {
				t.Fatalf("%s: %s", typ, cmp.Diff(want, got))
			}
			require.True(t, bytes.Equal(payload, got.Payload(data)), typ)
			require.True(t, mr0.VerifyICRC(data, from, to))
			require.NoError(t, p.Validate())
			require.Equal(t, data[:got.PayloadOffset], got.AppendHeaders(nil))
		}
	}
}

// The index of a field is that of its value, whatever header it is in, and of nothing else.
func TestFieldsByIndexAreThoseOfTheHeaders(t *testing.T) {
	for _, data := range datagrams(t, 20) {
		var p mr0.Packet
		require.NoError(t, mr0.Decode(data, &p))
		at := 0
		seen := map[int]bool{}
		for _, h := range p.HeaderIndexes(nil) {
			header := &mr0.Profile.Headers[h]
			value := reflect.ValueOf(p).FieldByName(header.Name)
			for i := range header.Count {
				index := header.First + i
				f := &mr0.Profile.Fields[index]
				seen[index] = true
				raw := data[at : at+header.Length]
				if f.Kind == metaroce.KindVector {
					require.Equal(t, raw[f.Offset:f.Offset+f.Bits/8], p.Vector(index))
					continue
				}
				got, ok := p.Uint(index)
				require.True(t, ok, "%s.%s", header.Name, f.Name)
				require.Equal(t, value.Field(i).Uint(), got, "%s.%s", header.Name, f.Name)
				read, ok := f.Read(raw)
				require.True(t, ok)
				require.Equal(t, read, got, "%s.%s", header.Name, f.Name)
			}
			at += header.Length
		}
		for index := range mr0.Profile.Fields {
			if !seen[index] {
				_, ok := p.Uint(index)
				require.False(t, ok || p.Vector(index) != nil, mr0.Profile.Fields[index].Name)
			}
		}
	}
}

// A packet of which the capture has a part gives the headers that are whole; one that the wire cut is malformed.
func TestEveryPrefix(t *testing.T) {
	for _, data := range datagrams(t, 5) {
		var whole mr0.Packet
		require.NoError(t, mr0.Decode(data, &whole))
		for n := range data {
			var p mr0.Packet
			err := mr0.DecodeCaptured(data[:n], len(data), &p)
			if n >= int(whole.PayloadOffset) {
				require.NoError(t, err)
				require.Equal(t, whole, p)
				continue
			}
			require.ErrorIs(t, err, metaroce.ErrTruncated)
			require.Equal(t, metaroce.ReasonCut, p.Fault.Reason)
			require.Equal(t, p.HeaderBytes(), int(p.Fault.Offset), "the fault is where the first missing header begins")
			missing := mr0.Profile.Headers[p.Fault.Header].Length
			require.True(t, p.HeaderBytes() <= n && n < p.HeaderBytes()+missing, "%d bytes: %d of headers, then %d", n, p.HeaderBytes(), missing)

			require.ErrorIs(t, mr0.Decode(data[:n], &p), metaroce.ErrMalformed, "%d of %d bytes sent", n, len(data))
			require.True(t, p.Fault.Reason.InDoubt())
		}
	}
}

// What was decoded before, whole, cut or malformed, leaves nothing behind.
func TestDecodeLeavesNothingBehind(t *testing.T) {
	all := datagrams(t, 2)
	type input struct {
		data   []byte
		length int
	}
	var inputs []input
	for _, data := range all {
		inputs = append(inputs, input{data, len(data)}, input{data[:10], len(data)}, input{data[:20], len(data)}, input{data[:len(data)-2], len(data) - 2})
		reserved := bytes.Clone(data)
		reserved[0] = 0x0f
		version := bytes.Clone(data)
		version[0] |= 0x70
		inputs = append(inputs, input{reserved, len(data)}, input{version, len(data)})
	}
	for _, a := range inputs {
		for _, b := range inputs {
			var alone, reused mr0.Packet
			want := mr0.DecodeCaptured(b.data, b.length, &alone)
			_ = mr0.DecodeCaptured(a.data, a.length, &reused)
			got := mr0.DecodeCaptured(b.data, b.length, &reused)
			if !errors.Is(got, want) || alone != reused {
				t.Fatalf("%x after %x: %v, want %v: %s", b.data[:16], a.data[:10], got, want, cmp.Diff(alone, reused))
			}
		}
	}
	full := mr0.Packet{PayloadOffset: 9, CONN: mr0.CONN{Nonce: 1}, ACKH: mr0.ACKH{SACK: mr0.SACK{1}}, NAKH: mr0.NAKH{MSN: 1}}
	var alone mr0.Packet
	require.NoError(t, mr0.Decode(all[4], &alone))
	require.NoError(t, mr0.Decode(all[4], &full))
	assert.Equal(t, alone, full, "Decode clears what nobody decoded, too")
}

func TestNothingAllocates(t *testing.T) {
	all := datagrams(t, 2)
	var p mr0.Packet
	buffer := make([]byte, 0, 2000)
	payload := make([]byte, 512)
	write := mr0.Packet{CH: mr0.CH{Type: mr0.TypeWrite}}
	count := 0
	assert.Zero(t, testing.AllocsPerRun(10, func() {
		for _, data := range all {
			if mr0.Decode(data, &p) == nil && mr0.VerifyICRC(data, from, to) {
				count++
			}
			for first, last := range p.ACKH.SACK.Ranges() {
				count += last - first
			}
			count += p.ACKH.SACK.Count() + len(p.Payload(data))
		}
		if b, err := write.AppendDatagram(buffer, payload, from, to); err == nil {
			count += len(b)
		}
	}))
	assert.NotZero(t, count)
}

func TestAppendDatagramRefusesWhatCannotBeSent(t *testing.T) {
	for name, tt := range map[string]struct {
		typ     mr0.Type
		payload int
		want    error
	}{
		"reserved type":              {0xd, 0, mr0.ErrType},
		"type beyond its field":      {0x20, 0, mr0.ErrType},
		"payload behind an ACK":      {mr0.TypeACK, 1, mr0.ErrLength},
		"more than an IPv4 datagram": {mr0.TypeWrite, 65535 - 60 - 8 - 48 - 4 + 1, mr0.ErrLength},
		"as much as one":             {mr0.TypeWrite, 65535 - 60 - 8 - 48 - 4, nil},
	} {
		p := mr0.Packet{CH: mr0.CH{Type: tt.typ}}
		b, err := p.AppendDatagram([]byte("before"), make([]byte, tt.payload), from, to)
		require.ErrorIs(t, err, tt.want, name)
		assert.True(t, bytes.HasPrefix(b, []byte("before")), name)
	}
}

func FuzzDecode(f *testing.F) {
	for _, data := range datagrams(f, 1) {
		f.Add(data, uint16(len(data)))
		f.Add(data[:20], uint16(len(data)))
	}
	f.Fuzz(func(t *testing.T, data []byte, length uint16) {
		var p mr0.Packet
		err := mr0.DecodeCaptured(data, max(int(length), len(data)), &p)
		require.Equal(t, err != nil, p.Fault.Reason != metaroce.ReasonNone)
		if again := mr0.DecodeCaptured(data, max(int(length), len(data)), &fuzzReused); !errors.Is(again, err) || p != fuzzReused {
			t.Fatalf("a used packet differs: %v, %v: %s", err, again, cmp.Diff(p, fuzzReused))
		}
		headers := p.HeaderBytes()
		if headers > len(data) || len(p.Payload(data)) > len(data) || int(p.Fault.Offset) > max(int(length), len(data)) {
			t.Fatalf("%d bytes of headers, %d of payload, fault %+v in %d bytes", headers, len(p.Payload(data)), p.Fault, len(data))
		}
		if err != nil {
			require.NotEmpty(t, mr0.Profile.Explain(p.Fault))
			return
		}
		// What was decoded can be sent again, byte for byte, and is what was decoded.
		if again := p.AppendHeaders(nil); !bytes.Equal(again, data[:headers]) {
			t.Fatalf("%x became %x", data[:headers], again)
		}
		require.NoError(t, p.Validate())
	})
}

// fuzzReused is what FuzzDecode decodes all its inputs into.
var fuzzReused mr0.Packet

func BenchmarkDecode(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, typ := range []mr0.Type{mr0.TypeWrite, mr0.TypeACK} {
		p, payload := metagen.Packet(r, typ)
		data := datagram(b, p, payload)
		b.Run(typ.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := mr0.DecodeCaptured(data, len(data), &p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
