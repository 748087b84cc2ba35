package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/rocelens/rocelens/analysis"
	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/replay/finding"
)

// exitDiverges says that something diverges from the reference.
const exitDiverges = 3

type replayCommand struct {
	Files   []string `arg:"" name:"file" help:"Captures (pcap, pcapng; gzip, zstd, xz), replayed one after the other as one; - is standard input."`
	JSON    bool     `help:"Print JSON; its form is described in docs/json.md."`
	JUnit   bool     `name:"junit" help:"Print a JUnit report: a test case for each rule."`
	All     bool     `help:"Print undetermined places in full, too, and connections that conform."`
	Packets string   `placeholder:"DIR" help:"Write the packets that prove each divergence to DIR, one pcapng file a divergence, with comments that say what they prove; with --all, of undetermined places, too."`
	Around  int      `default:"10" help:"With --packets: how many packets of the connection before and after each, ${default} by default."`
	Merge   bool     `help:"Merge two captures of the same traffic from two points: clocks, delays, what was lost between the points, and what a capture missed."`
	FailOn  string   `default:"notice" enum:"notice,warning,error" help:"Exit with 3 for divergences of this severity and above: ${enum}."`
}

// replayOutput takes what replay finds and prints it.
type replayOutput interface {
	Finding(f *finding.Finding)
	Connection(c *finding.Connection)
	Attempt(a *finding.Attempt)
	write(w io.Writer, files []fileResult, result *analysis.Result) error
}

// Run replays the files and prints where they diverge from the reference.
func (c *replayCommand) Run(ctx context.Context, std *streams) error {
	if c.JSON && c.JUnit {
		return &exitError{exitUsage, errors.New("--json and --junit exclude each other")}
	}
	if c.Around < 0 {
		return &exitError{exitUsage, errors.New("--around: it cannot be negative")}
	}
	if err := c.checkPackets(); err != nil {
		return err
	}
	if c.Merge {
		return c.merge(ctx, std)
	}
	var out replayOutput
	switch {
	case c.JSON:
		out = &replayJSON{}
	case c.JUnit:
		out = &replayJUnit{least: c.least()}
	default:
		out = &replayText{style: newStyle(std), all: c.All}
	}
	type outcome struct {
		result *analysis.Result
		err    error
	}
	done := make(chan outcome, 1) // a read of standard input cannot be interrupted, so it is left behind
	go func() {
		result, err := c.run(ctx, std, out)
		done <- outcome{result, err}
	}()
	select {
	case o := <-done:
		if o.err != nil {
			return o.err
		}
		return c.verdict(&o.result.Replay.Tallies)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// least is the severity from which on a divergence fails.
func (c *replayCommand) least() finding.Severity {
	least, _ := finding.ParseSeverity(c.FailOn)
	return least
}

// verdict is the exit code: what is undetermined is no divergence.
func (c *replayCommand) verdict(tallies *[finding.RuleCount]finding.Tally) error {
	least := c.least()
	for i := range tallies {
		if tallies[i].Diverges != 0 && finding.Rule(i).Describe().Severity >= least {
			return &exitError{Code: exitDiverges}
		}
	}
	return nil
}

func (c *replayCommand) run(ctx context.Context, std *streams, out replayOutput) (*analysis.Result, error) {
	found := newProofs(out, c.All)
	config, sinks := analysis.Config{Replay: out}, []any{}
	if c.Packets != "" {
		config.Replay, sinks = found, []any{found}
	}
	a := analysis.New(config, sinks...)
	a.ExpectBytes(sizeOf(c.Files))
	stop := showProgress(std, a)
	files, err := addFiles(ctx, a, c.Files, func(name string) (*pcapfile.Source, error) {
		source, err := openSource(name, std.In)
		found.sources[name] = source
		return source, err
	})
	stop()
	if err != nil {
		return nil, err
	}
	failed := 0
	for _, f := range files {
		if f.Err != nil {
			failed++
			fmt.Fprintf(std.Err, "rocelens: %v\n", f.Err)
		}
	}
	if failed == len(files) {
		return nil, &exitError{Code: exitFailure}
	}
	result, err := a.Finish()
	if err != nil {
		return nil, err
	}
	fillFiles(files, result.Files)
	for _, f := range files {
		if f.Err == nil && f.Result.Report.Partial {
			fmt.Fprintf(std.Err, "rocelens: %s is incomplete: %s\n", f.Name, f.Result.Report.Fault)
		}
	}
	if c.Packets != "" {
		if err := found.writePackets(ctx, c, files, std); err != nil {
			return nil, err
		}
	}
	return &result, out.write(std.Out, files, &result)
}
