package pcapfile

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
)

// exact is the clock by arithmetic without limits.
func exact(r Resolution, offset int64, ticks uint64) (int64, bool) {
	n := int64(r &^ resolutionBinary)
	base := int64(10)
	if r&resolutionBinary != 0 {
		base = 2
	}
	v := new(big.Int).Mul(new(big.Int).SetUint64(ticks), big.NewInt(nanosPerSecond))
	v.Div(v, new(big.Int).Exp(big.NewInt(base), big.NewInt(n), nil))
	v.Add(v, new(big.Int).Mul(big.NewInt(offset), big.NewInt(nanosPerSecond)))
	switch {
	case v.IsInt64():
		return v.Int64(), true
	case v.Sign() < 0:
		return math.MinInt64, false
	default:
		return math.MaxInt64, false
	}
}

func TestClockIsExact(t *testing.T) {
	t.Parallel()
	ticks := []uint64{0, 1, 2, 999, 1000, 1 << 20, 1<<32 - 1, 1 << 32, 1 << 33, 1_700_000_000_123_456_789, math.MaxInt64, 1 << 63, math.MaxUint64}
	offsets := []int64{0, 1, -1, 1_700_000_000, -1_700_000_000, math.MaxInt64, math.MinInt64, 9_223_372_036, -9_223_372_037}
	for r := range 256 {
		resolution := Resolution(r)
		if !resolution.Valid() {
			continue
		}
		for _, offset := range offsets {
			c := newClock(resolution, offset)
			for _, n := range ticks {
				want, fits := exact(resolution, offset, n)
				got, ok := c.nanos(n)
				assert.Equal(t, fits, ok, "%d ticks of %s s, offset %d", n, resolution, offset)
				assert.Equal(t, want, got, "%d ticks of %s s, offset %d", n, resolution, offset)
			}
		}
	}
}

func TestClockGoesBack(t *testing.T) {
	t.Parallel()
	for r := range 256 {
		resolution := Resolution(r)
		if !resolution.Valid() {
			continue
		}
		c := newClock(resolution, -3)
		for _, n := range []int64{-3 * nanosPerSecond, 0, 1, 5_123_456_789, 1_700_000_000_123_456_789} {
			ticks, ok := c.ticks(n)
			if !ok {
				continue
			}
			back, ok := c.nanos(ticks)
			assert.True(t, ok)
			assert.LessOrEqual(t, back, n, "%d ns in %s s", n, resolution)
			next, ok := c.nanos(ticks + 1)
			assert.True(t, !ok || next > n || next >= back, "%d ns in %s s", n, resolution)
			if resolution == Nanoseconds {
				assert.Equal(t, n, back)
			}
		}
	}
	c := newClock(Nanoseconds, 0)
	_, ok := c.ticks(-1)
	assert.False(t, ok)
}

func TestResolutionsThatCannotTellASecond(t *testing.T) {
	t.Parallel()
	assert.True(t, Resolution(19).Valid())
	assert.False(t, Resolution(20).Valid())
	assert.False(t, Resolution(127).Valid())
	assert.True(t, Resolution(0x80|64).Valid())
	assert.False(t, Resolution(0x80|65).Valid())
	assert.False(t, Resolution(0xff).Valid())
	assert.Equal(t, "2^-20", Resolution(0x80|20).String())
	assert.Equal(t, "10^-6", Microseconds.String())
}
