package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/rocelens/rocelens/analysis"
	"github.com/rocelens/rocelens/analysis/diff"
	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/flow"
)

type diffCommand struct {
	A           string `arg:"" help:"Capture before the change (pcap, pcapng; gzip, zstd, xz); - is standard input."`
	B           string `arg:"" help:"Capture after it; the same file when two connections of it are compared."`
	ConnectionA string `name:"connection-a" placeholder:"ID" help:"Look at this connection of A alone: a connection_id of rocelens analyze --json."`
	ConnectionB string `name:"connection-b" placeholder:"ID" help:"Look at this connection of B alone."`
	JSON        bool   `help:"Print JSON; its form is described in docs/json.md."`
}

// diffSide is one side on the command line.
type diffSide struct {
	file       string
	connection flow.ID // 0: all
	side       *diff.Side
}

// Run analyses and replays both captures and sets what was found side by side.
func (c *diffCommand) Run(ctx context.Context, std *streams) error {
	sides := [2]diffSide{{file: c.A}, {file: c.B}}
	for i, text := range []string{c.ConnectionA, c.ConnectionB} {
		if text == "" {
			continue
		}
		id, err := strconv.ParseUint(text, 10, 64)
		if err != nil || id == 0 {
			return &exitError{exitUsage, fmt.Errorf("--connection-%c: %q is no connection_id, which is a number", 'a'+rune(i), text)}
		}
		sides[i].connection = flow.ID(id)
	}
	if err := c.distinct(&sides); err != nil {
		return &exitError{exitUsage, err}
	}
	done := make(chan error, 1) // a read of standard input cannot be interrupted, so it is left behind
	go func() {
		var err error
		for i := range sides {
			if err == nil {
				err = sides[i].analyse(ctx, std)
			}
		}
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			return err
		}
		return c.write(std, &sides)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// distinct says why the sides are one and the same.
func (c *diffCommand) distinct(sides *[2]diffSide) error {
	a, errA := os.Stat(c.A)
	b, errB := os.Stat(c.B)
	same := c.A == c.B || errA == nil && errB == nil && os.SameFile(a, b)
	switch {
	case c.A == "-" && c.B == "-":
		return errors.New("standard input can be one side only")
	case same && (sides[0].connection == 0 || sides[1].connection == 0):
		return errors.New("both sides are the same file: name another, or a connection of each with --connection-a and --connection-b")
	case same && sides[0].connection == sides[1].connection:
		return errors.New("both sides are the same connection: name two")
	}
	return nil
}

// analyse reads the side's capture to its end.
func (s *diffSide) analyse(ctx context.Context, std *streams) error {
	found := &diff.Collector{Only: s.connection}
	a := analysis.New(analysis.Config{Replay: found}, found)
	names := []string{s.file}
	a.ExpectBytes(sizeOf(names))
	stop := showProgress(std, a)
	files, err := addFiles(ctx, a, names, func(name string) (*pcapfile.Source, error) { return openSource(name, std.In) })
	stop()
	if err != nil {
		return err
	}
	if err := files[0].Err; err != nil {
		return err
	}
	result, err := a.Finish()
	if err != nil {
		return err
	}
	fillFiles(files, result.Files)
	if report := &files[0].Result.Report; report.Partial {
		fmt.Fprintf(std.Err, "rocelens: %s is incomplete: %s\n", s.file, report.Fault)
	}
	s.side = found.Side(&result)
	if s.connection != 0 && s.side.Flows == 0 {
		return fmt.Errorf("%s has no connection %d; rocelens analyze --json lists them", s.file, s.connection)
	}
	return nil
}

func (c *diffCommand) write(std *streams, sides *[2]diffSide) error {
	result := diff.Compare(sides[0].side, sides[1].side)
	if !c.JSON {
		return (&diffText{style: newStyle(std)}).write(std.Out, sides, &result)
	}
	d := result.Document(sides[0].side, sides[1].side)
	for i, to := range []*diff.DocumentSide{&d.A, &d.B} {
		to.File = sides[i].file
		if id := sides[i].connection; id != 0 {
			text := strconv.FormatUint(uint64(id), 10)
			to.ConnectionID = &text
		}
	}
	e := json.NewEncoder(std.Out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(d)
}
