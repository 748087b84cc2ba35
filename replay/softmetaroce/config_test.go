package softmetaroce

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// The documentation says which of the profile's parameters differ, and why: these two.
func TestDefaultsDifferFromTheProfileInTwoTimers(t *testing.T) {
	want := mr0.DefaultParameters()
	want.RTOMin, want.RTOInitial = 10*time.Millisecond, 50*time.Millisecond
	if diff := cmp.Diff(want, DefaultConfig().Parameters); diff != "" {
		t.Error(diff)
	}
}
