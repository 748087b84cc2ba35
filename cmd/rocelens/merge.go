package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/rocelens/rocelens/analysis/document"
	"github.com/rocelens/rocelens/analysis/merging"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/merge"
)

// countOnly takes what replay finds where only its totals are asked for.
type countOnly struct{}

func (countOnly) Finding(*finding.Finding)       {}
func (countOnly) Connection(*finding.Connection) {}
func (countOnly) Attempt(*finding.Attempt)       {}

// merge reads two captures of the same traffic and prints what they tell together.
func (c *replayCommand) merge(ctx context.Context, std *streams) error {
	switch {
	case len(c.Files) != 2:
		return &exitError{exitUsage, fmt.Errorf("--merge takes two captures, not %d", len(c.Files))}
	case c.JUnit || c.Packets != "":
		return &exitError{exitUsage, errors.New("--merge excludes --junit and --packets")}
	case slices.Contains(c.Files, "-"):
		return &exitError{exitUsage, errors.New("--merge reads each capture twice, which standard input cannot be")}
	}
	for _, name := range c.Files {
		if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
			return &exitError{exitUsage, fmt.Errorf("--merge reads each capture twice: %s is no regular file", name)}
		}
	}
	var inputs [2]merging.Input
	for i, name := range c.Files {
		inputs[i] = merging.Input{Name: name, Replay: countOnly{}, Open: func() (merging.Source, error) { return openSource(name, nil) }}
	}
	run := merging.New(inputs[0], inputs[1])
	stop := func() {}
	if std.ErrTTY {
		stop = every(progressInterval, func() {
			fmt.Fprintf(std.Err, "%s%s packets read; each is read twice", eraseLine, countText(run.Packets()))
		}, func() { fmt.Fprint(std.Err, eraseLine) })
	}
	result, err := run.Do(ctx)
	stop()
	if errors.Is(err, merge.ErrNothingInCommon) {
		return fmt.Errorf("%s and %s have %w", c.Files[0], c.Files[1], merge.ErrNothingInCommon)
	}
	if err != nil {
		return err
	}
	for i := range result.Alone {
		if f := &result.Alone[i].Files[0]; f.Report.Partial {
			fmt.Fprintf(std.Err, "rocelens: %s is incomplete: %s\n", c.Files[i], f.Report.Fault)
		}
	}
	if err := c.writeMerge(std, result); err != nil {
		return err
	}
	for i := range result.Alone {
		if err := c.verdict(&result.Alone[i].Replay.Tallies); err != nil {
			return err
		}
	}
	return nil
}

func (c *replayCommand) writeMerge(std *streams, result *merging.Result) error {
	if !c.JSON {
		return (&mergeText{style: newStyle(std), all: c.All, names: [2]string(c.Files)}).write(std.Out, result)
	}
	d := document.NewMerge(result)
	d.Files = [2]string(c.Files)
	e := json.NewEncoder(std.Out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(d)
}
