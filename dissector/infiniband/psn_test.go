package infiniband

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPSNDiff(t *testing.T) {
	tests := []struct {
		a, b uint32
		want int32
	}{
		{0, 0, 0},
		{1, 0, 1},
		{0, 1, -1},
		{0, 0xffffff, 1},
		{0xffffff, 0, -1},
		{0x000010, 0xfffff0, 0x20},
		{0x7fffff, 0, 0x7fffff},
		{0x800000, 0, -0x800000}, // half of the circle away counts as the past
		{0, 0x800000, -0x800000},
		{0xff000005, 0x00000003, 2}, // bits above the 24th are ignored
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, PSNDiff(tt.a, tt.b), "PSNDiff(%#x, %#x)", tt.a, tt.b)
	}
}

func TestPSNAdd(t *testing.T) {
	assert.Equal(t, uint32(0), PSNAdd(0xffffff, 1))
	assert.Equal(t, uint32(0xffffff), PSNAdd(0, -1))
	assert.Equal(t, uint32(0x800000), PSNAdd(0, -0x800000))
	assert.Equal(t, uint32(0x123457), PSNAdd(0xff123456, 1))
}

func FuzzPSN(f *testing.F) {
	f.Add(uint32(0xffffff), int32(1))
	f.Add(uint32(0), int32(-1))
	f.Fuzz(func(t *testing.T, psn uint32, n int32) {
		sum := PSNAdd(psn, n)
		if sum > 0xffffff {
			t.Fatalf("PSNAdd(%#x, %d) = %#x has more than 24 bits", psn, n, sum)
		}
		if n >= -0x800000 && n <= 0x7fffff && PSNDiff(sum, psn) != n {
			t.Fatalf("PSNDiff(%#x, %#x) = %d, want %d", sum, psn, PSNDiff(sum, psn), n)
		}
	})
}
