// Command replay measures what replay finds: one of two reference endpoints of RoCEv2 deviates from one rule, and the
// table says, by rule, vantage and share that the capture missed, in how many of such connections the rule diverges.
package main

import (
	"flag"
	"fmt"
	"os"
	"sort"
	"strings"

	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/injector"
	"github.com/rocelens/rocelens/replay/roce/scenario"
)

func main() {
	runs := flag.Int("runs", 20, "connections for each rule, vantage and share")
	only := flag.String("rule", "", "only rules whose ID contains this")
	seed := flag.Uint64("seed", 1, "of the first connection; the others have those that follow")
	flag.Parse()
	if err := measure(*seed, *runs, *only); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var (
	vantages = [...]scenario.Vantage{scenario.NearRequester, scenario.Middle, scenario.NearResponder}
	shares   = [...]float64{0, 0.001, 0.01}
)

func measure(seed uint64, runs int, only string) error {
	fmt.Printf("Connections, %d for each figure, in which the deviating rule diverges, in %%; with 0, 0.1 and 1 %% of the capture missing.\n", runs)
	fmt.Printf("-: cannot be seen from there, see the rule. Also: other rules that diverge, in %% of all connections of the row.\n")
	fmt.Printf("%-32s %14s  %14s  %14s  %6s  also\n", "", "near requester", "middle", "near responder", "undet.")
	deviations := injector.Deviations()
	var all injector.Outcome
	for i := range deviations {
		d := &deviations[i]
		if !strings.Contains(d.Rule.String(), only) {
			continue
		}
		var row injector.Outcome
		fmt.Printf("%-32s", d.Rule)
		for _, v := range vantages {
			for k, share := range shares {
				o, err := d.Measure(v, share, seed, runs)
				if err != nil {
					return err
				}
				row.Merge(&o)
				cell := fmt.Sprintf("%.0f", 100*o.Recall())
				if d.Blind[v] {
					cell = "-"
				}
				fmt.Printf(" %4s", cell)
				if k == len(shares)-1 {
					fmt.Print(" ")
				}
			}
		}
		fmt.Printf(" %5.1f%%  %s\n", row.UndecidedShare(), others(&row))
		all.Merge(&row)
	}
	fmt.Printf("%d connections with a deviation; %.2f %% of %d verdicts undetermined\n", all.Connections, all.UndecidedShare(), all.Verdicts)
	return nil
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
		words = append(words, fmt.Sprintf("%s %.0f", strings.TrimPrefix(r.String(), "roce."), 100*float64(o.Others[r])/float64(o.Connections)))
	}
	return strings.Join(words, ", ")
}
