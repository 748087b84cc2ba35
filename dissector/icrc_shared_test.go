package dissector_test

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/dissector"
)

// TestICRCVerdictsOfPublicCaptures compares the verdicts with those of an independent check.
func TestICRCVerdictsOfPublicCaptures(t *testing.T) {
	dir := sharedCaptures(t)
	words := map[string]dissector.ICRCState{
		"ok": dissector.ICRCGood, "BAD": dissector.ICRCBad,
		"cut": dissector.ICRCUndetermined, "frag": dissector.ICRCUndetermined,
	}
	checked := 0
	for _, table := range filesWith(t, dir, ".icrc.tsv") {
		capture := strings.TrimSuffix(table, ".icrc.tsv")
		name, err := filepath.Rel(dir, capture)
		if err != nil {
			t.Fatal(err)
		}
		frames := readCapture(t, capture)
		for _, row := range readTable(t, table) {
			number, err := strconv.Atoi(row["frame"])
			if err != nil {
				t.Fatalf("%s: %v", table, err)
			}
			at := fmt.Sprintf("%s frame %d", name, number)
			if number > len(frames) {
				t.Logf("%s: not read", at) // cut files; their last packet is the readers' concern
				continue
			}
			var p dissector.Packet
			decodeErr := dissector.Decode(frames[number-1].data, frames[number-1].meta, &p)
			want, known := words[row["verdict"]]
			if !known {
				t.Fatalf("%s: verdict %q", at, row["verdict"])
			}
			if p.Fault.Reason == dissector.ReasonNotRoCE {
				want = dissector.ICRCUndetermined // a BTH that nobody sent has no ICRC
			}
			if got := dissector.VerifyICRC(&p); got != want {
				t.Errorf("%s: ICRC state %d, want %d (%s, %v %v)", at, got, want, row["verdict"], decodeErr, p.Fault)
			}
			checked++
		}
	}
	t.Logf("%d verdicts", checked)
}
