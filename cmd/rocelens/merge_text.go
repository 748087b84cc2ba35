package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/rocelens/rocelens/analysis/merging"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/merge"
)

// mergeText prints what two captures tell together, for people. A is the first capture, B the second.
type mergeText struct {
	style style
	all   bool
	names [2]string
}

func (o *mergeText) write(w io.Writer, result *merging.Result) error {
	out := bufio.NewWriter(w)
	r := result.Merged
	fmt.Fprintf(out, "A %s: %s of connections\nB %s: %s\n", o.style.strong(o.names[0]), plural(r.Packets[0], "packet"),
		o.style.strong(o.names[1]), plural(r.Packets[1], "packet"))
	fmt.Fprintf(out, "  %s in both; A missed %s of what passed it, B %s, as is proved\n", plural(r.Both, "packet"), countText(r.Missed[0]), countText(r.Missed[1]))
	if r.Left > 0 {
		fmt.Fprintf(out, "  %s left out: there are too many directions\n", plural(r.Left, "packet"))
	}
	o.clock(out, result.Clocks)
	o.table(out, r)
	o.singles(out, r)
	o.alone(out, result)
	return out.Flush()
}

func (o *mergeText) clock(w io.Writer, c *merge.Clocks) {
	for i := range c.Pieces {
		p := &c.Pieces[i]
		word := "ahead of"
		if p.Offset < 0 {
			word = "behind"
		}
		offset := exactText(max(p.Offset, -p.Offset))
		switch {
		case !p.DoubtKnown:
			fmt.Fprintf(w, "  B's clock is about %s %s A's: nothing bounds how wrong that is\n", offset, word)
		default:
			fmt.Fprintf(w, "  B's clock is %s ± %s %s A's, and gains %.1f ± %.1f ppm (%s)\n", offset, durationText(p.OffsetDoubt), word,
				p.Drift*1e6, p.DriftDoubt*1e6, plural(p.Packets, "packet"))
		}
	}
	if c.Set() {
		fmt.Fprintf(w, "  a clock was set %s: packets of these moments are left out\n", plural(uint64(len(c.Pieces)-1), "time"))
	}
}

// exactText is a duration to the nanosecond.
func exactText(ns int64) string {
	if ns < 1000 {
		return fmt.Sprintf("%d ns", ns)
	}
	if ns < 1e9 {
		return fmt.Sprintf("%.3f µs", float64(ns)/1e3)
	}
	return fmt.Sprintf("%d.%09d s", ns/1e9, ns%1e9)
}

func (o *mergeText) table(w io.Writer, r *merge.Result) {
	rows := [][]string{{"IN BOTH", "LOST BETWEEN", "A MISSED", "B MISSED", "UNDETERMINED", "OUTSIDE", "REORDERED", "CE SET", "DELAY MIN", "P50", "P99", "MAX", "DIRECTION"}}
	hidden := 0
	for i := range r.Directions {
		d := &r.Directions[i]
		if d.Both == 0 && !o.all {
			hidden++
			continue
		}
		rows = append(rows, o.row(d))
	}
	fmt.Fprintln(w)
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], width(cell))
		}
	}
	for i, row := range rows {
		var line strings.Builder
		for k, cell := range row[:len(row)-1] {
			line.WriteString(strings.Repeat(" ", widths[k]-width(cell)) + cell + "  ")
		}
		text := line.String() + row[len(row)-1]
		if i == 0 {
			text = o.style.dim(text)
		}
		fmt.Fprintln(w, text)
	}
	if hidden > 0 {
		fmt.Fprintln(w, o.style.dim(plural(uint64(hidden), "direction")+" seen at one point only; --all lists them."))
	}
}

func (o *mergeText) row(d *merge.Direction) []string {
	lost, marked := "?", "?"
	delays := []string{"?", "?", "?", "?"}
	_, known := map[merge.Order]bool{merge.FirstPoint: true, merge.SecondPoint: true, merge.SamePoint: true}[d.Order]
	if known && d.Both > 0 {
		marked = countText(d.Marked)
		lost = countText(d.Lost[0])
		if d.Lost[1] != d.Lost[0] {
			lost += " to " + countText(d.Lost[1])
		}
		delays = []string{signedText(d.Delays.Min), signedText(d.Delays.P50), signedText(d.Delays.P99), signedText(d.Delays.Max)}
	}
	open := func(x *merge.Only) uint64 { return x.Undetermined + x.Ambiguous }
	return append([]string{
		countText(d.Both), lost, countText(d.Only[1].Missed), countText(d.Only[0].Missed), countText(open(&d.Only[0]) + open(&d.Only[1])),
		countText(d.Only[0].Outside + d.Only[1].Outside), countText(d.Reordered), marked,
	}, append(delays, directionText(d))...)
}

func signedText(ns int64) string {
	if ns < 0 {
		return "-" + durationText(-ns)
	}
	return durationText(ns)
}

func directionText(d *merge.Direction) string {
	to := finding.Endpoint{Address: d.Destination, QP: d.DestinationQP, HasQP: true}
	text := fmt.Sprintf("%s to %s", d.Source, endpointText(&to))
	if d.Path >= 0 {
		text += fmt.Sprintf(" path %d", d.Path)
	}
	if d.CNPs {
		text += ", CNPs"
	}
	switch d.Order {
	case merge.FirstPoint:
		text += ", A then B"
	case merge.SecondPoint:
		text += ", B then A"
	case merge.SamePoint:
		text += ", A and B at one point"
	case merge.OrderUnknown:
		text += ", order unknown"
	}
	return text
}

// singles prints packets that were lost between the points, or missed.
func (o *mergeText) singles(w io.Writer, r *merge.Result) {
	printed := 0
	for i := range r.Directions {
		d := &r.Directions[i]
		if d.LostBefore > 0 || d.LostBehind > 0 {
			fmt.Fprintf(w, "\n%s: %s lost before both points, %s lost or late behind them\n", directionText(d), countText(d.LostBefore), countText(d.LostBehind))
		}
		for _, e := range d.Examples {
			if e.Fate != merge.FateLost && !o.all {
				continue
			}
			if printed++; printed > maxTextFindings {
				continue
			}
			fmt.Fprintf(w, "%s: packet %d of %c, PSN %d, %s\n", fateText(e), e.Number, 'A'+rune(e.Point), e.Sequence, directionText(d))
		}
	}
	if printed > maxTextFindings {
		fmt.Fprintln(w, o.style.dim(countText(uint64(printed-maxTextFindings))+" more; --json has them."))
	}
}

func fateText(e merge.Example) string {
	if e.Fate == merge.FateMissed {
		return fmt.Sprintf("missed by %c", 'B'-rune(e.Point))
	}
	if e.Fate == merge.FateLost {
		return "lost between"
	}
	return e.Fate.String()
}

// alone prints which rules diverge, at either point.
func (o *mergeText) alone(w io.Writer, result *merging.Result) {
	for i := range result.Alone {
		t := &result.Alone[i].Replay
		for rule := range t.Tallies {
			if n := t.Tallies[rule].Diverges; n > 0 {
				d := finding.Rule(rule).Describe()
				fmt.Fprintf(w, "%s %s at %c, %s: rocelens replay %s tells more\n", o.style.bad("diverges"), d.ID, 'A'+rune(i), plural(uint64(n), "time"), o.names[i])
			}
		}
	}
}
