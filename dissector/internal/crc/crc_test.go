package crc

import (
	"hash/crc32"
	"math/rand/v2"
	"testing"
)

// reference is the register by the definition: byte by byte through the table, all of b masked in advance.
func reference(c uint32, b []byte, mask *Mask) uint32 {
	for i, v := range b {
		if i < len(mask) {
			v |= mask[i]
		}
		c = crc32.IEEETable[byte(c)^v] ^ c>>8
	}
	return c
}

func TestUpdateMaskedIsTheRegisterOverMaskedBytes(t *testing.T) {
	t.Logf("folding: %t", folds)
	random := rand.New(rand.NewPCG(1, 2))
	buffer := make([]byte, 5000)
	for i := range buffer {
		buffer[i] = byte(random.Uint32())
	}
	var mask Mask
	for length := range 4200 {
		for i := range mask {
			mask[i] = byte(random.Uint32() >> random.IntN(9))
		}
		start := random.IntN(len(buffer) - length)
		b, c := buffer[start:start+length:start+length], random.Uint32()
		want := reference(c, b, &mask)
		if got := UpdateMasked(c, b, &mask); got != want {
			t.Fatalf("%d bytes from %d, register %#x: %#x, want %#x", length, start, c, got, want)
		}
		if got := updateMasked(c, b, &mask); got != want {
			t.Fatalf("%d bytes from %d, register %#x, without folding: %#x, want %#x", length, start, c, got, want)
		}
	}
}

func TestUpdateIsTheStandardLibrarys(t *testing.T) {
	b := []byte("123456789 and then more than two times eight bytes")
	for n := range len(b) + 1 {
		if got, want := ^Update(^uint32(0), b[:n]), crc32.ChecksumIEEE(b[:n]); got != want {
			t.Errorf("%d bytes: %#x, want %#x", n, got, want)
		}
	}
}

func BenchmarkUpdateMasked(b *testing.B) {
	data := make([]byte, 1064)
	var mask Mask
	mask[1] = 0xff
	for _, c := range []struct {
		name string
		run  func() uint32
	}{
		{"as VerifyICRC", func() uint32 { return UpdateMasked(1, data, &mask) }},
		{"without folding", func() uint32 { return updateMasked(1, data, &mask) }},
		{"hash-crc32, nothing masked", func() uint32 { return crc32.ChecksumIEEE(data) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				c.run()
			}
		})
	}
}
