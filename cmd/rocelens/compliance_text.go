package main

import (
	"bufio"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rocelens/rocelens/replay/compliance"
)

// listScenarios prints what there is to be run.
func listScenarios(std *streams, scenarios []compliance.Scenario, asJSON bool) error {
	if asJSON {
		type entry struct {
			ID     string `json:"id"`
			Title  string `json:"title"`
			Clause string `json:"clause"`
			Checks string `json:"checks"`
		}
		list := make([]entry, 0, len(scenarios))
		for i := range scenarios {
			list = append(list, entry{scenarios[i].ID, scenarios[i].Title, scenarios[i].Clause, scenarios[i].Checks})
		}
		return indented(std.Out, list)
	}
	out := bufio.NewWriter(std.Out)
	widest := 0
	for i := range scenarios {
		widest = max(widest, width(scenarios[i].ID))
	}
	for i := range scenarios {
		fmt.Fprintf(out, "%s  %s\n", pad(scenarios[i].ID, widest), scenarios[i].Title)
	}
	return out.Flush()
}

// progress keeps one line on a terminal up to date until the returned function is called.
func (c *complianceCommand) progress(std *streams, config *compliance.Config) (stop func()) {
	if !std.ErrTTY {
		return func() {}
	}
	var line atomic.Pointer[string]
	failed := 0
	config.Progress = func(done, of int, s *compliance.Scenario, r *compliance.Result) {
		if r != nil && r.Verdict == compliance.Fail {
			failed++
		}
		text := fmt.Sprintf("%d of %d, %d failed: %s", done, of, failed, s.ID)
		line.Store(&text)
	}
	return every(progressInterval, func() {
		if text := line.Load(); text != nil {
			fmt.Fprint(std.Err, eraseLine+*text)
		}
	}, func() { fmt.Fprint(std.Err, eraseLine) })
}

// writeComplianceText prints a table: what fails and what is undetermined in full, what passes in short.
func writeComplianceText(std *streams, report *compliance.Report) error {
	out := bufio.NewWriter(std.Out)
	paint := newStyle(std)
	fmt.Fprintf(out, "%s, MetaRoCE, profile mr0: %s in %s\n", paint.strong(report.Target), plural(uint64(len(report.Results)), "scenario"), durationText(report.Took))
	failed := countText(uint64(report.Failed)) + " failed"
	if report.Failed > 0 {
		failed = paint.bad(failed)
	}
	fmt.Fprintf(out, "  %s passed, %s, %s undetermined\n", countText(uint64(report.Passed)), failed, countText(uint64(report.Undetermined)))
	if report.Repeated > 0 {
		fmt.Fprintf(out, "  the network loses packets: %d of %d handshakes had to be repeated\n", report.Repeated, report.Handshakes)
	}
	section, widest := "", 0
	for i := range report.Results {
		widest = max(widest, width(report.Results[i].ID))
	}
	for i := range report.Results {
		r := &report.Results[i]
		if of, _, _ := strings.Cut(r.ID, "/"); of != section {
			section = of
			fmt.Fprintln(out)
		}
		verdict := pad(r.Verdict.String(), len("undetermined"))
		if r.Verdict == compliance.Fail {
			verdict = paint.bad(verdict)
		}
		fmt.Fprintf(out, "%s  %s  %s\n", verdict, pad(r.ID, widest), r.Title)
		indent := strings.Repeat(" ", len("undetermined")+2)
		switch r.Verdict {
		case compliance.Fail:
			fmt.Fprintf(out, "%sexpected: %s; seen: %s\n", indent, r.Expected, r.Seen)
			fmt.Fprintln(out, indent+paint.dim(fmt.Sprintf("%s, in %s", r.Clause, plural(uint64(r.Runs), "run"))))
		case compliance.Undetermined:
			fmt.Fprintln(out, indent+r.Seen)
		case compliance.Pass:
		}
	}
	return out.Flush()
}

func writeComplianceJSON(w io.Writer, report *compliance.Report) error { return indented(w, report) }

func indented(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// writeComplianceJUnit prints a test case for each scenario: what is undetermined is skipped.
func writeComplianceJUnit(w io.Writer, report *compliance.Report) error {
	suite := junitSuite{Name: "MetaRoCE, profile mr0, at " + report.Target, Tests: len(report.Results), Failures: report.Failed, Skipped: report.Undetermined}
	for i := range report.Results {
		r := &report.Results[i]
		class, name, _ := strings.Cut(r.ID, "/")
		c := junitCase{Class: class, Name: name + ": " + r.Title, Time: fmt.Sprintf("%.3f", r.Took.Round(time.Millisecond).Seconds())}
		switch r.Verdict {
		case compliance.Fail:
			c.Failure = &junitMessage{Message: "expected: " + r.Expected + "; seen: " + r.Seen, Text: r.Clause + ": " + r.Checks}
		case compliance.Undetermined:
			c.Skipped = &junitMessage{Message: r.Seen}
		case compliance.Pass:
		}
		suite.Cases = append(suite.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(suite); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
