package watch

import (
	"slices"
	"time"

	"github.com/rocelens/rocelens/flow"
)

// cut is the end of an interval.
type cut struct {
	at     time.Time
	moment flow.Moment
}

// cut has the tracker tell what is new since the cut before, and forget what has been silent for long.
func (w *Watch) cut() {
	now := time.Now()
	w.cuts = append(w.cuts, cut{now, w.tracker.Cut()})
	silent := 0
	for silent < len(w.cuts) && now.Sub(w.cuts[silent].at) >= w.options.Idle {
		silent++
	}
	if silent > 0 {
		w.tracker.Expire(w.cuts[silent-1].moment)
		w.cuts = slices.Delete(w.cuts, 0, silent)
	}
}
