package main

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/rocelens/rocelens/replay/compliance"
)

//go:embed compliance.html.tmpl
var complianceTemplate string

// Rows of the packets of a scenario that the page shows; the capture has all.
const (
	rowsOfPass = 24
	rowsOfRest = 80
	rowsAround = 3 // packets before and behind one with a comment
)

// complianceHTML is what the page is made of.
type complianceHTML struct {
	*compliance.Report

	Began, Took string
	Sections    []htmlSection
	Clauses     []htmlClause
}

// htmlSection is a group of scenarios: what stands before the slash of their ids.
type htmlSection struct {
	Name    string
	Passed  int
	Results []htmlResult
}

type htmlResult struct {
	*compliance.Result

	Took    string
	Rule    int // in Clauses
	Rows    []htmlRow
	All     int // packets
	Capture template.URL
	File    string
}

// htmlRow is a packet, or a number of those left out.
type htmlRow struct {
	compliance.Packet

	Number  int
	Offset  string // since the first packet
	LeftOut int
}

// htmlClause is a rule of the profile with the scenarios that hold a target against it.
type htmlClause struct {
	Text    string
	Results []*compliance.Result
}

// writeComplianceHTML writes a page that needs nothing beside it: styles, script and captures are within.
func writeComplianceHTML(w io.Writer, report *compliance.Report) error {
	// Parsed here, as no other command needs it.
	page, err := template.New("compliance").Funcs(template.FuncMap{"count": func(n int) string { return countText(uint64(n)) }}).Parse(complianceTemplate)
	if err != nil {
		return err
	}
	data, err := htmlOf(report)
	if err != nil {
		return err
	}
	return page.Execute(w, data)
}

func htmlOf(report *compliance.Report) (*complianceHTML, error) {
	data := &complianceHTML{Report: report, Began: report.Began.UTC().Format(time.DateTime) + " UTC", Took: durationText(report.Took)}
	rules := map[string]int{}
	for i := range report.Results {
		r := &report.Results[i]
		rule, known := rules[r.Clause]
		if !known {
			rule = len(data.Clauses)
			rules[r.Clause] = rule
			data.Clauses = append(data.Clauses, htmlClause{Text: r.Clause})
		}
		data.Clauses[rule].Results = append(data.Clauses[rule].Results, r)
		name, _, _ := strings.Cut(r.ID, "/")
		if n := len(data.Sections); n == 0 || data.Sections[n-1].Name != name {
			data.Sections = append(data.Sections, htmlSection{Name: name})
		}
		section := &data.Sections[len(data.Sections)-1]
		if r.Verdict == compliance.Pass {
			section.Passed++
		}
		link, err := captureLink(r)
		if err != nil {
			return nil, fmt.Errorf("capture of %s: %w", r.ID, err)
		}
		section.Results = append(section.Results, htmlResult{
			Result: r, Took: durationText(r.Took.Nanoseconds()), Rule: rule, Rows: htmlRows(r), All: len(r.Packets), Capture: link, File: r.FileName() + ".pcapng.gz",
		})
	}
	return data, nil
}

// captureLink is the capture itself, compressed, as an address.
func captureLink(r *compliance.Result) (template.URL, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if err := errors.Join(r.WritePCAP(z), z.Close()); err != nil {
		return "", err
	}
	return template.URL("data:application/gzip;base64," + base64.StdEncoding.EncodeToString(b.Bytes())), nil //nolint:gosec // of digits and letters
}

// htmlRows are the packets with a comment and those around them, or the last ones when none has a comment.
func htmlRows(r *compliance.Result) []htmlRow {
	most := rowsOfRest
	if r.Verdict == compliance.Pass {
		most = rowsOfPass
	}
	shown := make([]bool, len(r.Packets))
	left := most
	show := func(i int) {
		if i >= 0 && i < len(shown) && !shown[i] && left > 0 {
			shown[i] = true
			left--
		}
	}
	// From the end, where what decides stands; the packets themselves first, then those around.
	for around := range rowsAround + 1 {
		for i := range slices.Backward(r.Packets) {
			if r.Packets[i].Comment != "" {
				show(i - around)
				show(i + around)
			}
		}
	}
	if left == most {
		for i := range slices.Backward(r.Packets) {
			show(i)
		}
	}
	var rows []htmlRow
	skipped := 0
	for i := range r.Packets {
		if !shown[i] {
			skipped++
			continue
		}
		if skipped > 0 {
			rows = append(rows, htmlRow{LeftOut: skipped})
			skipped = 0
		}
		offset := r.Packets[i].Time.Sub(r.Packets[0].Time)
		rows = append(rows, htmlRow{Packet: r.Packets[i], Number: i + 1, Offset: fmt.Sprintf("%.3f", float64(offset.Nanoseconds())/1e6)})
	}
	if skipped > 0 {
		rows = append(rows, htmlRow{LeftOut: skipped})
	}
	return rows
}
