package finding

import (
	"strings"
	"testing"
)

func TestCatalogueIsComplete(t *testing.T) {
	seen := map[string]bool{}
	for r := range Rule(RuleCount) {
		d := r.Describe()
		prefix := "roce."
		if r.MetaRoCE() {
			prefix = "metaroce."
		}
		if !strings.HasPrefix(d.ID, prefix) || seen[d.ID] {
			t.Errorf("rule %d: ID %q is missing, twice, or of the wrong transport", r, d.ID)
		}
		seen[d.ID] = true
		for _, text := range []string{d.Title, d.Diverges, d.Source, d.Next} {
			if text == "" {
				t.Errorf("%s: a text is missing", d.ID)
			}
		}
		if found, ok := Find(d.ID); !ok || found != r {
			t.Errorf("%s is not found by its ID", d.ID)
		}
	}
	if _, ok := Find("roce.none"); ok {
		t.Error("found what does not exist")
	}
}
