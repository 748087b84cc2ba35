package finding

import (
	"math/rand/v2"
	"testing"
)

// A conforming sender looks suspicious by chance only. However long it is watched, the evidence must not convict it.
func TestChanceDoesNotConvict(t *testing.T) {
	for _, q := range []float64{0.001, 0.01, 0.05, 0.3} {
		random := rand.New(rand.NewPCG(1, uint64(q*1000)))
		for range 20_000 {
			var e Evidence
			for range 200 {
				e.Add(random.Float64() < q)
				if e.Convicts(q) {
					t.Fatalf("%d of %d at q = %g convict", e.Suspicious, e.Cases, q)
				}
			}
		}
	}
}

func TestPersistentDeviationConvicts(t *testing.T) {
	for _, c := range []struct {
		q    float64
		most uint32 // cases after which it must be decided
	}{{0.001, 3}, {0.01, 5}, {0.05, 7}, {0.1, 9}, {0.3, 18}} {
		var e Evidence
		for !e.Convicts(c.q) {
			e.Add(true)
			if e.Cases > c.most {
				t.Fatalf("q = %g: not decided after %d cases", c.q, e.Cases)
			}
		}
	}
}

func TestShareAtMostHoldsTheTruth(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for _, truth := range []float64{0, 0.001, 0.01, 0.2} {
		below := 0
		for range 10_000 {
			var k uint64
			for range 500 {
				if random.Float64() < truth {
					k++
				}
			}
			if ShareAtMost(k, 500) < truth {
				below++
			}
		}
		if below > 10 {
			t.Errorf("share %g: the bound was below it %d times of 10,000", truth, below)
		}
	}
	if ShareAtMost(0, 0) != 1 || ShareAtMost(5, 5) != 1 {
		t.Error("a share is at most 1")
	}
}
