//go:build !race

package figures

import (
	"testing"
	"time"
)

// Meta has published about 86 % of throughput at 1 % of loss.
func TestThroughputKeptAtOnePercentLoss(t *testing.T) {
	f := DefaultFabric()
	none, one := f.MeasureLoss(0, 5*time.Millisecond), f.MeasureLoss(0.01, 5*time.Millisecond)
	if kept := one.MetaRoCE / none.MetaRoCE; kept < 0.8 {
		t.Errorf("%.2f of the throughput is kept", kept)
	}
	if one.MetaRoCE < one.GoBackN {
		t.Errorf("go-back-N does better: %.0f and %.0f", one.GoBackN, one.MetaRoCE)
	}
}

// Meta has published one or two round trips.
func TestIncastSettlesInAFewRoundTrips(t *testing.T) {
	r := DefaultFabric().MeasureIncast(16, 2*time.Millisecond)
	if r.Settled == 0 || r.RoundTrips() > 3 || r.Jain < 0.99 || r.Dropped > 0 {
		t.Errorf("%+v, %.1f round trips", r, r.RoundTrips())
	}
}

func TestDeadPlaneIsNotNoticed(t *testing.T) {
	r := DefaultFabric().MeasureFailover(2, 15*time.Millisecond)
	if r.Recovered == 0 || r.Errors > 0 || r.PathsFailed != 4 {
		t.Errorf("%+v", r)
	}
}
