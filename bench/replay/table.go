package main

import (
	"fmt"
	"sort"
	"strings"

	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/injector"
)

const vantages = 3

// row is what came of one deviation: by vantage and share that is missing.
type row struct {
	rule  finding.Rule
	cells [vantages][]injector.Outcome
	blind [vantages]bool // from where it cannot be told
}

// table adds up rows of a transport as it prints them.
type table struct {
	transport string
	rows      int
	all       injector.Outcome
	below     []string
}

func heading(runs int) string {
	return fmt.Sprintf(`Connections in which one end breaks the rule, %d for each figure, in %%.
Recall: the rule diverges; with 0, 0.1 and 1 %% of the capture missing, and of those that are still decidable with 1 %%.
-: cannot be told from there, see the rule. Then what was said of all that can: the rule diverges, only another does,
undetermined, nothing. Then the share of undetermined verdicts. Also: other rules that diverge.
`, runs)
}

func (t *table) add(r *row) {
	if t.rows == 0 {
		fmt.Printf("\n%-36s %19s  %19s  %19s   %5s %5s %6s %6s %7s  also\n", t.transport,
			"near requester", "middle", "near responder", "found", "other", "undet.", "missed", "undet.")
	}
	t.rows++
	fmt.Printf("%-36s", r.rule)
	var told injector.Outcome
	sums := make([]injector.Outcome, len(shares))
	for v, cells := range r.cells {
		for k := range cells {
			t.all.Merge(&cells[k])
			if !r.blind[v] {
				told.Merge(&cells[k])
				sums[k].Merge(&cells[k])
			}
			fmt.Printf(" %4s", percent(cells[k].Recall(), r.blind[v]))
		}
		fmt.Printf(" %4s ", percent(cells[len(cells)-1].DecidableRecall(), r.blind[v]))
	}
	share := func(n int) float64 { return 100 * float64(n) / float64(max(1, told.Connections)) }
	fmt.Printf("  %5.1f %5.1f %6.1f %6.1f %6.1f%%  %s\n", share(told.Found), share(told.Other), share(told.Undetermined), share(told.Missed),
		told.UndecidedShare(), others(&told))
	if last := &sums[len(sums)-1]; sums[0].Recall() < 0.99 || last.DecidableRecall() < 0.95 {
		t.below = append(t.below, r.rule.String())
	}
}

func percent(share float64, blind bool) string {
	if blind {
		return "-"
	}
	return fmt.Sprintf("%.0f", 100*share)
}

func (t *table) end() {
	if t.rows == 0 {
		return
	}
	fmt.Printf("%s: %d rules, %d connections with a deviation; %.2f %% of %d verdicts undetermined\n", t.transport, t.rows,
		t.all.Connections, t.all.UndecidedShare(), t.all.Verdicts)
	verdict := "none"
	if len(t.below) > 0 {
		verdict = strings.Join(t.below, ", ")
	}
	fmt.Printf("Below the goals, 99 %% with nothing missing and 95 %% of what is decidable with 1 %% missing: %s\n", verdict)
}

// others names what else diverges, the most frequent first.
func others(o *injector.Outcome) string {
	var rules []finding.Rule
	for r, n := range o.Others {
		if n > 0 {
			rules = append(rules, finding.Rule(r))
		}
	}
	sort.Slice(rules, func(i, k int) bool { return o.Others[rules[i]] > o.Others[rules[k]] })
	var words []string
	for _, r := range rules {
		_, name, _ := strings.Cut(r.String(), ".")
		words = append(words, fmt.Sprintf("%s %.0f", name, 100*float64(o.Others[r])/float64(o.Connections)))
	}
	return strings.Join(words, ", ")
}
