package store_test

import (
	"testing"

	"github.com/rocelens/rocelens/store"
)

func TestOldestVersion(t *testing.T) {
	for _, test := range []struct {
		major, minor uint64
		want         bool
	}{{18, 16, false}, {24, 7, false}, {24, 8, true}, {25, 1, true}, {26, 7, true}} {
		if got := store.NewEnough(test.major, test.minor); got != test.want {
			t.Errorf("version %d.%d is new enough = %t, want %t", test.major, test.minor, got, test.want)
		}
	}
}
