package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/rocelens/rocelens/analysis"
	"github.com/rocelens/rocelens/replay"
	"github.com/rocelens/rocelens/replay/finding"
)

// maxTextFindings is how many findings are printed in full; the table above them counts all.
const maxTextFindings = 200

// examples is how many findings of one rule are printed unless all are asked for.
const examples = 3

// replayText prints a table of rules for people, then what diverges, then what the capture cannot tell.
type replayText struct {
	style       style
	all         bool
	findings    []finding.Finding
	left        int
	connections []finding.Connection
	attempts    []finding.Attempt
}

// Finding keeps a finding.
func (o *replayText) Finding(f *finding.Finding) {
	if len(o.findings) >= maxTextFindings*4 {
		o.left++
		return
	}
	o.findings = append(o.findings, *f)
}

// Connection keeps what is to be said of a connection.
func (o *replayText) Connection(c *finding.Connection) {
	if len(o.connections) < maxTextFindings && (o.all || c.Verdict() != finding.Conforms) {
		kept := *c
		kept.Properties = slices.Clone(c.Properties)
		o.connections = append(o.connections, kept)
	}
}

// Attempt keeps a failed attempt.
func (o *replayText) Attempt(a *finding.Attempt) {
	if len(o.attempts) < maxTextFindings {
		o.attempts = append(o.attempts, *a)
	}
}

// failed prints attempts to set up connections that came to nothing.
func (o *replayText) failed(w io.Writer, all uint64) {
	for i := range o.attempts {
		a := &o.attempts[i]
		what := "was never answered, as far as was captured"
		if a.Rejected {
			what = "was rejected: " + a.Reason
		}
		fmt.Fprintf(w, "%s to connect %s to %s for %s %s (REQ seen %s, packets %d to %d)\n", o.style.bad("failed attempt"),
			a.From, a.To, a.Service, what, plural(uint64(a.Tries), "time"), a.First, a.Last)
	}
	if left := all - uint64(len(o.attempts)); left > 0 {
		fmt.Fprintf(w, "%s more\n", plural(left, "failed attempt"))
	}
}

func (o *replayText) write(w io.Writer, files []fileResult, result *analysis.Result) error {
	out := bufio.NewWriter(w)
	names := make([]string, 0, len(files))
	for _, f := range files {
		if f.Err == nil {
			names = append(names, f.Name)
		}
	}
	t := &result.Replay
	fmt.Fprintf(out, "%s: %s of %s held against the reference\n", o.style.strong(strings.Join(names, ", ")),
		plural(t.Packets-t.Copies, "packet"), plural(t.Connections, "connection"))
	if t.Connections == 0 && t.FailedAttempts > 0 {
		o.failed(out, t.FailedAttempts)
		return out.Flush()
	}
	if t.Connections == 0 {
		fmt.Fprintln(out, "Nothing to replay: no packets of RDMA connections. rocelens analyze tells what there is.")
		return out.Flush()
	}
	fmt.Fprintf(out, "  %s, %s, %s\n", o.count(t.Diverging, "diverges", "diverge"),
		countText(t.Undecided)+" undetermined in places",
		countText(t.Connections-t.Diverging-t.Undecided)+" as the reference would")
	if t.OneWay > 0 {
		fmt.Fprintf(out, "  %s seen in one direction only: what spans both is undetermined there\n", plural(t.OneWay, "connection"))
	}
	if t.Evicted > 0 {
		fmt.Fprintf(out, "  %s set aside early to bound memory, and may be listed more than once\n", plural(t.Evicted, "connection"))
	}
	o.failed(out, t.FailedAttempts)
	o.table(out, t)
	o.list(out, finding.Diverges)
	if o.all || t.Diverging == 0 {
		o.list(out, finding.Undetermined)
	}
	o.ends(out)
	return out.Flush()
}

func (o *replayText) count(n uint64, one, many string) string {
	text := countText(n) + " " + many
	if n == 1 {
		text = "1 " + one
	}
	if n > 0 {
		return o.style.bad(text)
	}
	return text
}

// table counts verdicts by rule, the gravest first; rules that never applied, or were always kept, are left out.
func (o *replayText) table(w io.Writer, t *replay.Totals) {
	var rules []finding.Rule
	kept, silent := 0, 0
	for i := range t.Tallies {
		switch n := &t.Tallies[i]; {
		case n.Diverges+n.Undetermined > 0:
			rules = append(rules, finding.Rule(i))
		case n.Conforms > 0:
			kept++
		default:
			silent++
		}
	}
	fmt.Fprintf(w, "  %d rules were kept throughout, %d had nothing to be applied to\n", kept, silent)
	if len(rules) == 0 {
		return
	}
	slices.SortStableFunc(rules, func(a, b finding.Rule) int {
		x, y := &t.Tallies[a], &t.Tallies[b]
		if (x.Diverges > 0) != (y.Diverges > 0) {
			if x.Diverges > 0 {
				return -1
			}
			return 1
		}
		return int(b.Describe().Severity) - int(a.Describe().Severity)
	})
	rows := [][]string{{"DIVERGES", "UNDETERMINED", "CONFORMS", "SEVERITY", "RULE", "WHAT THE REFERENCE DOES"}}
	for _, r := range rules {
		n, d := &t.Tallies[r], r.Describe()
		rows = append(rows, []string{
			countText(uint64(n.Diverges)), countText(uint64(n.Undetermined)), countText(uint64(n.Conforms)), d.Severity.String(), d.ID, d.Title,
		})
	}
	fmt.Fprintln(w)
	var widths [6]int
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], width(cell))
		}
	}
	for i, row := range rows {
		var line strings.Builder
		for k, cell := range row {
			if k < 3 {
				line.WriteString(strings.Repeat(" ", widths[k]-width(cell)) + cell + "  ")
				continue
			}
			line.WriteString(pad(cell, widths[k]) + "  ")
		}
		text := strings.TrimRight(line.String(), " ")
		if i == 0 {
			text = o.style.dim(text)
		}
		fmt.Fprintln(w, text)
	}
}

// list prints findings of one verdict.
func (o *replayText) list(w io.Writer, v finding.Verdict) {
	printed, left := 0, 0
	var of [finding.RuleCount]int
	defer func() {
		if left > 0 {
			fmt.Fprintln(w, o.style.dim(fmt.Sprintf("\n%s more of the same; --all prints more, --json all that were kept.", countText(uint64(left)))))
		}
	}()
	for i := range o.findings {
		f := &o.findings[i]
		if f.Verdict != v {
			continue
		}
		if printed == maxTextFindings || (of[f.Rule] == examples && !o.all) {
			left++
			continue
		}
		printed++
		of[f.Rule]++
		d := f.Rule.Describe()
		word := v.String()
		if v == finding.Diverges {
			word = o.style.bad(word)
		}
		fmt.Fprintf(w, "\n%s %s, %s, by %s\n", word, o.style.strong(d.ID), d.Severity, endpointText(&f.Endpoint))
		fmt.Fprintf(w, "  %s\n", f.Sentence)
		fmt.Fprintf(w, "  expected: %s; seen: %s\n", f.Expected, f.Seen)
		fmt.Fprintf(w, "  %s\n", o.style.dim(fmt.Sprintf("packets %s; %s. Next: %s", numbersText(f.Packets()), d.Source, d.Next)))
	}
}

func numbersText(numbers []uint64) string {
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		texts[i] = strconv.FormatUint(n, 10)
	}
	return strings.Join(texts, ", ")
}

func endpointText(e *finding.Endpoint) string {
	if !e.HasQP {
		return e.Address.String()
	}
	if e.QP > 0xffffff { // no QPN, but a connection id of MetaRoCE
		return fmt.Sprintf("%s id 0x%08x", e.Address, e.QP)
	}
	return fmt.Sprintf("%s QP 0x%06x", e.Address, e.QP)
}

// ends prints where connections were seen, and what was lost where.
func (o *replayText) ends(w io.Writer) {
	for i := range o.connections {
		c := &o.connections[i]
		fmt.Fprintf(w, "\n%s %s and %s: %s\n", o.style.strong("connection"), endpointText(&c.Directions[0].Sender), endpointText(&c.Directions[1].Sender), c.Verdict())
		fmt.Fprintf(w, "  captured %s; directions %s\n", vantageText(c), pairingWord(c))
		for k := range c.Directions {
			d := &c.Directions[k]
			if d.Packets == 0 {
				continue
			}
			fmt.Fprintf(w, "  from %s: %s%s\n", d.Sender.Address, plural(d.Packets, "packet"), lossText(d))
		}
		for _, p := range c.Properties {
			fmt.Fprintf(w, "  %s: %s\n", strings.ReplaceAll(p.Name, "_", " "), p.Value)
		}
	}
}

func vantageText(c *finding.Connection) string {
	if c.OneWay {
		return "in one direction only"
	}
	if c.Vantage == finding.VantageUnknown {
		return "at an unknown point"
	}
	return c.Vantage.String()
}

func pairingWord(c *finding.Connection) string {
	switch {
	case c.OneWay:
		return "not paired"
	case c.Pairing == "cm":
		return "paired by the connection manager"
	case c.Pairing == "":
		return "paired"
	}
	return "paired: " + c.Pairing
}

func lossText(d *finding.Direction) string {
	var parts []string
	for _, l := range []struct {
		n    uint64
		text string
	}{
		{d.Losses.Before, "lost before the capture"},
		{d.Losses.After, "lost behind it"},
		{d.Losses.Unknown, "resent for an unknown reason"},
		{d.Losses.Capture, "missed by the capture"},
	} {
		if l.n > 0 {
			parts = append(parts, countText(l.n)+" "+l.text)
		}
	}
	if d.ToReceiver.Known {
		parts = append(parts, "answered after "+durationText(d.ToReceiver.Minimum)+" to "+durationText(d.ToReceiver.Max))
	}
	for _, wait := range []struct {
		finding.Wait
		text string
	}{
		{d.Waits.Timer, "waiting for the retransmission timer"},
		{d.Waits.RNR, "waiting as RNR NAKs asked"},
	} {
		if wait.Times > 0 {
			parts = append(parts, fmt.Sprintf("%s of %s %s (%s)", durationText(wait.NS), durationText(d.Waits.Lasting), wait.text, plural(wait.Times, "time")))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "; " + strings.Join(parts, ", ")
}
