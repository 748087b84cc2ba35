package flight

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// What a ring gives back is a run of the latest packets, as they were, whatever their lengths.
func TestARingKeepsTheLatestPackets(t *testing.T) {
	r := newRing(minRing)
	random := rand.New(rand.NewPCG(1, 2))
	var all []packet
	for i := range 60_000 {
		p := packet{
			Number: uint64(i + 1), Time: int64(1000 * i), OriginalLength: uint32(i) + 7, LinkType: 1,
			Data: bytes.Repeat([]byte{byte(i)}, random.IntN(193)),
		}
		all = append(all, p)
		r.put(&p)
		if i%9000 != 8999 {
			continue
		}
		at, bytesKept := -1, 0
		for got := range r.packets() {
			if at < 0 {
				at = int(got.Number) - 1
			}
			want := &all[at]
			if got.Number != want.Number || got.Time != want.Time || got.OriginalLength != want.OriginalLength || got.LinkType != 1 || !bytes.Equal(got.Data, want.Data) {
				t.Fatalf("after %d packets: packet %d came back as %d", i+1, want.Number, got.Number)
			}
			bytesKept += int(sizeOf(len(got.Data)))
			at++
		}
		if at != i+1 {
			t.Fatalf("after %d packets the latest that is there is %d", i+1, at)
		}
		if i > 20_000 && bytesKept < minRing-2*int(sizeOf(192)) {
			t.Errorf("%d of %d bytes are in use", bytesKept, minRing)
		}
	}
	r.reset()
	for range r.packets() {
		t.Fatal("a ring that was emptied holds a packet")
	}
}

func TestKeepingAPacketAllocatesNothing(t *testing.T) {
	r := newRing(minRing)
	p := packet{Data: make([]byte, 192), OriginalLength: 4200, LinkType: 1}
	if n := testing.AllocsPerRun(20_000, func() { r.put(&p) }); n != 0 {
		t.Errorf("%v allocations a packet", n)
	}
}

func BenchmarkRing(b *testing.B) {
	for name, length := range map[string]int{"ACK": 62, "data": 192} {
		b.Run(name, func(b *testing.B) {
			r := newRing(64 << 20)
			p := packet{Data: make([]byte, length), OriginalLength: 4200, LinkType: 1}
			b.ReportAllocs()
			for b.Loop() {
				p.Number++
				r.put(&p)
			}
		})
	}
}
