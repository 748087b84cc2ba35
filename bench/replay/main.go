// Command replay measures what replay finds: one of two reference endpoints deviates from one rule, of RoCEv2 or of
// MetaRoCE, and the table says, by rule, vantage and share that the capture missed, what replay makes of such
// connections.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/rocelens/rocelens/replay/injector"
	metaroceinjector "github.com/rocelens/rocelens/replay/metaroce/injector"
	"github.com/rocelens/rocelens/replay/roce/scenario"
)

func main() {
	runs := flag.Int("runs", 20, "connections for each rule, vantage and share")
	only := flag.String("rule", "", "only rules whose ID contains this")
	seed := flag.Uint64("seed", 1, "of the first connection; the others have those that follow")
	flag.Parse()
	fmt.Print(heading(*runs))
	for _, measure := range []func(seed uint64, runs int, only string) error{roce, metaroce} {
		if err := measure(*seed, *runs, *only); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// shares of the capture that are missing.
var shares = []float64{0, 0.001, 0.01}

func roce(seed uint64, runs int, only string) error {
	t := table{transport: "RoCEv2"}
	deviations := injector.Deviations()
	for i := range deviations {
		d := &deviations[i]
		if !strings.Contains(d.Rule.String(), only) {
			continue
		}
		row := row{rule: d.Rule}
		for v := range row.cells {
			var err error
			if row.cells[v], err = d.Measure(scenario.Vantage(v), shares, seed, runs); err != nil {
				return err
			}
			row.blind[v] = d.Blind[scenario.Vantage(v)]
		}
		t.add(&row)
	}
	t.end()
	return nil
}

func metaroce(seed uint64, runs int, only string) error {
	t := table{transport: "MetaRoCE"}
	deviations := metaroceinjector.Deviations()
	for i := range deviations {
		d := &deviations[i]
		if !strings.Contains(d.Rule.String(), only) {
			continue
		}
		all, err := d.Measure(shares, seed, runs)
		if err != nil {
			return err
		}
		t.add(&row{rule: d.Rule, cells: all})
	}
	t.end()
	return nil
}
