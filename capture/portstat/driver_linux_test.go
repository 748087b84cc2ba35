package portstat

import (
	"slices"
	"testing"

	"github.com/rocelens/rocelens/internal/vethtest"
)

// The driver of veth counts little, but what it counts is found by name.
func TestDriverIsAsked(t *testing.T) {
	_, right := vethtest.Pair(t)
	var all []Value
	var err, errOfNone error
	<-right.Go(t, func() {
		all, err = statistics(right.Interface)
		_, errOfNone = statistics("lo")
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(all, func(v Value) bool { return v.Name == "peer_ifindex" && v.Number > 0 }) {
		t.Errorf("the peer is not among %v", all)
	}
	if errOfNone == nil {
		t.Error("lo, which has no driver's counters, has some")
	}
}
