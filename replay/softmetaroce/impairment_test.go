package softmetaroce

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseImpairment(t *testing.T) {
	got, err := ParseImpairment("loss=1%, duplicate=0.5,reorder=2%,mark=10%,delay=1ms,spread=100us,hold=2ms,unready=3,blackhole=2@100-200,break=7@5")
	if err != nil {
		t.Fatal(err)
	}
	want := Impairment{
		Loss: 0.01, Duplicate: 0.5, Reorder: 0.02, Mark: 0.1, Delay: time.Millisecond, Spread: 100 * time.Microsecond,
		Hold: 2 * time.Millisecond, Unready: 3,
		Breaks: []Break{{Path: 2, After: 100, Until: 200}, {Path: 7, After: 5, Route: true}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"loss=2", "loss=x", "loss=-1%", "lose=1%", "delay=1", "delay=-1ms", "blackhole=200@1", "break=1@x", "blackhole=1@2-y", "loss=NaN"} {
		if _, err := ParseImpairment(text); !errors.Is(err, ErrImpairment) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if got, err := ParseImpairment(""); err != nil || got.active() {
		t.Errorf("nothing: %+v, %v", got, err)
	}
}
