package main

import (
	"encoding/json"
	"io"

	"github.com/rocelens/rocelens/analysis"
	"github.com/rocelens/rocelens/analysis/document"
	"github.com/rocelens/rocelens/replay/finding"
)

// replayJSON prints everything that replay found as one document.
type replayJSON struct {
	findings    []document.Finding
	connections []document.Connection
	attempts    []document.Attempt
}

// Finding keeps a finding.
func (o *replayJSON) Finding(f *finding.Finding) {
	o.findings = append(o.findings, document.NewFinding(f))
}

// Connection keeps a connection.
func (o *replayJSON) Connection(c *finding.Connection) {
	o.connections = append(o.connections, document.NewConnection(c))
}

// Attempt keeps a failed attempt.
func (o *replayJSON) Attempt(a *finding.Attempt) {
	o.attempts = append(o.attempts, document.NewAttempt(a))
}

func (o *replayJSON) write(w io.Writer, files []fileResult, result *analysis.Result) error {
	d := document.NewReplay(&result.Replay)
	for _, f := range files {
		if f.Err == nil {
			d.Files = append(d.Files, f.Name)
		}
	}
	d.Findings, d.Connections = o.findings, o.connections
	if d.FailedAttempts = o.attempts; d.FailedAttempts == nil {
		d.FailedAttempts = []document.Attempt{}
	}
	if d.Findings == nil {
		d.Findings = []document.Finding{}
	}
	if d.Connections == nil {
		d.Connections = []document.Connection{}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(d)
}
