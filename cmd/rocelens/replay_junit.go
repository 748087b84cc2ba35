package main

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/rocelens/rocelens/analysis"
	"github.com/rocelens/rocelens/replay/finding"
)

// maxSentences is how many divergences of a rule a JUnit report tells; its message counts all.
const maxSentences = 100

// replayJUnit prints a test case for each rule: failed where something diverges that the exit code tells, too, skipped
// where nothing could be told.
type replayJUnit struct {
	least     finding.Severity // below which a divergence fails nothing
	sentences [finding.RuleCount][]string
}

// Finding keeps the sentence of a divergence.
func (o *replayJUnit) Finding(f *finding.Finding) {
	if f.Verdict == finding.Diverges && len(o.sentences[f.Rule]) < maxSentences {
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
	Err      string      `xml:"system-err,omitempty"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Time    string        `xml:"time,attr,omitempty"` // seconds
	Failure *junitMessage `xml:"failure,omitempty"`
	Skipped *junitMessage `xml:"skipped,omitempty"`
	Out     string        `xml:"system-out,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func (o *replayJUnit) write(w io.Writer, files []fileResult, result *analysis.Result) error {
	names, complaints := make([]string, 0, len(files)), []string{}
	for _, f := range files {
		names = append(names, f.Name)
		switch {
		case f.Err != nil:
			complaints = append(complaints, f.Err.Error())
		case f.Result.Report.Partial:
			complaints = append(complaints, f.Name+" is incomplete: "+f.Result.Report.Fault)
		}
	}
	suite := junitSuite{Name: strings.Join(names, ", "), Err: strings.Join(complaints, "\n")}
	for i := range result.Replay.Tallies {
		c := o.testCase(finding.Rule(i), &result.Replay.Tallies[i])
		switch {
		case c.Failure != nil:
			suite.Failures++
		case c.Skipped != nil:
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

// testCase is what is to be said of a rule.
func (o *replayJUnit) testCase(rule finding.Rule, n *finding.Tally) junitCase {
	d := rule.Describe()
	transport, _, _ := strings.Cut(d.ID, ".")
	c := junitCase{Class: transport, Name: d.ID + ": " + d.Title}
	switch {
	case n.Diverges > 0:
		message, told := fmt.Sprintf("diverges %s, %s", plural(uint64(n.Diverges), "time"), d.Severity), strings.Join(o.sentences[rule], "\n")
		if d.Severity >= o.least {
			c.Failure = &junitMessage{Message: message, Text: told}
		} else {
			c.Out = message + "\n" + told
		}
	case n.Undetermined > 0:
		c.Skipped = &junitMessage{Message: "undetermined " + plural(uint64(n.Undetermined), "time")}
	case n.Conforms == 0:
		c.Skipped = &junitMessage{Message: "nothing in the capture to apply it to"}
	}
	return c
}
