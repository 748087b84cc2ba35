package budget

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// load is a machine on which following everything takes so many cores, beside what is taken in any case.
func load(fixed, full float64, parts int, noise *rand.Rand) float64 {
	return (fixed + full*float64(parts)/Parts) * (1 + .04*(noise.Float64()-.5))
}

// Whatever the load, the budget is kept after a few seconds if it can be, without swinging, and what was shed is taken up
// when the load is gone.
func TestTheBudgetIsKeptCalmly(t *testing.T) {
	for seed := range uint64(500) {
		noise := rand.New(rand.NewPCG(seed, 1))
		c := control{budget: .1 + noise.Float64(), parts: Parts}
		fixed, full := noise.Float64()*c.budget*.5, noise.Float64()*6
		changes, parts := 0, Parts
		for second := range 300 {
			now := load(fixed, full, parts, noise)
			next := c.observe(now)
			require.True(t, next >= 1 && next <= Parts)
			if second > 60 {
				if next != parts {
					changes++
				}
				if parts > 1 {
					require.LessOrEqual(t, now, c.budget*1.1, "seed %d, second %d, %d parts", seed, second, parts)
				}
			}
			parts = next
		}
		assert.LessOrEqual(t, changes, 4, "seed %d swings", seed)
		for range 200 {
			parts = c.observe(load(fixed*.1, 0, parts, noise))
		}
		require.Equal(t, Parts, parts, "seed %d: nothing is shed when there is room", seed)
	}
}

// One second above the budget is no reason to shed.
func TestAPeakShedsNothing(t *testing.T) {
	c := control{budget: 1, parts: Parts}
	for second := range 100 {
		used := .9
		if second%2 == 0 {
			used = 1.8
		}
		require.Equal(t, Parts, c.observe(used))
	}
}
