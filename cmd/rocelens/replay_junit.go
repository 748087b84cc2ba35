package main

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/rocelens/rocelens/analysis"
	"github.com/rocelens/rocelens/replay/finding"
)

// replayJUnit prints a test case for each rule: failed where something diverges, skipped where nothing could be told.
type replayJUnit struct {
	sentences [finding.RuleCount][]string
}

// Finding keeps the sentence of a divergence.
func (o *replayJUnit) Finding(f *finding.Finding) {
	if f.Verdict == finding.Diverges {
		o.sentences[f.Rule] = append(o.sentences[f.Rule], f.Sentence)
	}
}

// Connection has nothing that the report shows.
func (o *replayJUnit) Connection(*finding.Connection) {}

// Attempt has nothing that the report shows.
func (o *replayJUnit) Attempt(*finding.Attempt) {}

type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Time    string        `xml:"time,attr,omitempty"` // seconds
	Failure *junitMessage `xml:"failure,omitempty"`
	Skipped *junitMessage `xml:"skipped,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func (o *replayJUnit) write(w io.Writer, files []fileResult, result *analysis.Result) error {
	names := make([]string, 0, len(files))
	for _, f := range files {
		names = append(names, f.Name)
	}
	suite := junitSuite{Name: strings.Join(names, ", ")}
	for i := range result.Replay.Tallies {
		n, d := &result.Replay.Tallies[i], finding.Rule(i).Describe()
		transport, _, _ := strings.Cut(d.ID, ".")
		c := junitCase{Class: transport, Name: d.ID + ": " + d.Title}
		switch {
		case n.Diverges > 0:
			c.Failure = &junitMessage{
				Message: fmt.Sprintf("diverges %d times, %s", n.Diverges, d.Severity), Text: strings.Join(o.sentences[i], "\n"),
			}
			suite.Failures++
		case n.Undetermined > 0:
			c.Skipped = &junitMessage{Message: fmt.Sprintf("undetermined %d times", n.Undetermined)}
			suite.Skipped++
		case n.Conforms == 0:
			c.Skipped = &junitMessage{Message: "nothing in the capture to apply it to"}
			suite.Skipped++
		}
		suite.Cases = append(suite.Cases, c)
	}
	suite.Tests = len(suite.Cases)
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
