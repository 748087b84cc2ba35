package main

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/rocelens/rocelens/analysis/diff"
)

// diffText prints two sides beside each other, for people.
type diffText struct{ style style }

func (o *diffText) write(w io.Writer, sides *[2]diffSide, r *diff.Result) error {
	out := bufio.NewWriter(w)
	for i := range sides {
		s := &sides[i]
		fmt.Fprintf(out, "%c %s", 'A'+rune(i), o.style.strong(s.file))
		if s.connection != 0 {
			fmt.Fprintf(out, ", connection %d", s.connection)
		} else {
			fmt.Fprintf(out, ": %s", plural(s.side.Connections, "connection"))
		}
		fmt.Fprintln(out)
	}
	for _, note := range r.Notes {
		fmt.Fprintln(out, "  "+note)
	}
	o.figures(out, r)
	o.rules(out, r)
	return out.Flush()
}

// figures prints those that a side can tell; what neither can is left out.
func (o *diffText) figures(w io.Writer, r *diff.Result) {
	var rows [][]string
	var marks []string
	group := diff.Group("")
	for i := range r.Figures {
		f := &r.Figures[i]
		if !f.A.Known && !f.B.Known {
			continue
		}
		name := ""
		if f.Group != group {
			name, group = string(f.Group), f.Group
		}
		rows = append(rows, []string{name, f.Title, figureText(f.A, f.Unit), figureText(f.B, f.Unit), changeText(f)})
		marks = append(marks, judgement(f))
	}
	fmt.Fprintln(w)
	o.table(w, []string{"", "", "A", "B", "CHANGE", ""}, rows, marks)
}

// rules prints the rules in which the sides differ, and counts the others.
func (o *diffText) rules(w io.Writer, r *diff.Result) {
	var rows [][]string
	var marks []string
	equal := 0
	for i := range r.Rules {
		rule := &r.Rules[i]
		if !rule.Differs() {
			equal++
			continue
		}
		rows = append(rows, []string{"", rule.Rule.String(), tallyText(rule.A), tallyText(rule.B), ""})
		marks = append(marks, "")
	}
	if len(rows) > 0 {
		fmt.Fprintln(w)
		o.table(w, []string{"", "RULE: DIVERGES / UNDETERMINED", "A", "B", "", ""}, rows, marks)
	}
	if equal > 0 {
		fmt.Fprintf(w, "\n%s without a difference\n", plural(uint64(equal), "rule"))
	}
}

// table aligns columns: words left, figures right, and a judgement behind them.
func (o *diffText) table(w io.Writer, head []string, rows [][]string, marks []string) {
	widths := make([]int, len(head))
	for _, row := range append([][]string{head}, rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], width(cell))
		}
	}
	line := func(row []string, mark string) string {
		var b strings.Builder
		for i, cell := range row {
			if widths[i] == 0 {
				continue
			}
			space := strings.Repeat(" ", widths[i]-width(cell))
			if i < 2 {
				b.WriteString(cell + space + "  ")
			} else {
				b.WriteString(space + cell + "  ")
			}
		}
		return strings.TrimRight(b.String()+mark, " ")
	}
	fmt.Fprintln(w, o.style.dim(line(head[:5], "")))
	for i, row := range rows {
		mark := marks[i]
		if mark == "worse" {
			mark = o.style.bad(mark)
		}
		fmt.Fprintln(w, line(row, mark))
	}
}

func figureText(v diff.Value, unit diff.Unit) string {
	if !v.Known {
		return unknown
	}
	switch unit {
	case diff.Bytes:
		return bytesText(uint64(v.N))
	case diff.Nanoseconds:
		return durationText(int64(v.N))
	case diff.BitPerSecond:
		return scale(v.N, "bit/s")
	case diff.PerSecond:
		return scale(v.N, "/s")
	case diff.Share:
		return strconv.FormatFloat(100*v.N, 'g', 3, 64) + " %"
	case diff.Count:
	}
	return countText(uint64(v.N))
}

// changeText is how much more or less B has: by its share of A where there is one, otherwise by the difference.
func changeText(f *diff.Figure) string {
	change := f.Change()
	if !change.Known {
		return unknown
	}
	if change.N == 0 {
		return "0"
	}
	sign := "+"
	if change.N < 0 {
		sign = "−"
	}
	if f.Unit == diff.Share {
		return sign + strconv.FormatFloat(100*math.Abs(change.N), 'g', 3, 64) + " points"
	}
	if share := f.ChangeShare(); share.Known {
		return sign + strconv.FormatFloat(100*math.Abs(share.N), 'g', 3, 64) + " %"
	}
	return sign + figureText(diff.Value{N: math.Abs(change.N), Known: true}, f.Unit)
}

// judgement says in a word whether B is better.
func judgement(f *diff.Figure) string {
	change := f.Change()
	switch {
	case !change.Known, change.N == 0, f.Better == diff.Neither:
		return ""
	case change.N > 0 == (f.Better == diff.Higher):
		return "better"
	}
	return "worse"
}

func tallyText(t *diff.RuleTally) string {
	if t == nil {
		return unknown
	}
	return countText(uint64(t.Diverges)) + " / " + countText(uint64(t.Undetermined))
}
