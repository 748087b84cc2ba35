package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/rocelens/rocelens/analysis"
	"github.com/rocelens/rocelens/capture/pcapfile"
)

type analyzeCommand struct {
	Files  []string `arg:"" name:"file" help:"Captures (pcap, pcapng; gzip, zstd, xz), analysed one after the other as one; - is standard input."`
	JSON   bool     `help:"Print JSON; its form is described in docs/json.md."`
	Sort   flowSort `default:"bytes" enum:"${flow_sorts}" help:"Order of the flows, largest first: ${enum}."`
	Limit  int      `default:"20" help:"Print so many flows."`
	All    bool     `help:"Print all flows."`
	Paths  bool     `help:"Print the paths and streams of the MetaRoCE flows that are printed."`
	Follow bool     `help:"Go on reading while the file grows, until its writer closes it or Ctrl-C; then print."`
	ICRC   bool     `name:"icrc" default:"true" negatable:"" help:"Verify the invariant CRC of every packet."`
}

// flowOutput takes the flows of a run and prints them with everything else.
type flowOutput interface {
	analysis.FlowSink
	write(w io.Writer, files []fileResult, result *analysis.Result) error
	io.Closer
}

// fileResult is one file of the command line: analysed, or the error that prevented it.
type fileResult struct {
	Name   string
	Result *analysis.File // nil with Err
	Err    error
}

// Run analyses the files and prints what was found.
func (c *analyzeCommand) Run(ctx context.Context, std *streams) error {
	if c.Limit < 1 {
		return &exitError{exitUsage, errors.New("--limit must be at least 1; --all prints all flows")}
	}
	if c.Follow && (len(c.Files) != 1 || c.Files[0] == "-") {
		return &exitError{exitUsage, errors.New("--follow follows one file")}
	}
	var out flowOutput
	if c.JSON {
		out = newJSONOutput()
	} else {
		limit := c.Limit
		if c.All {
			limit = 0
		}
		out = &textOutput{flows: topFlows{sort: c.Sort, limit: limit}, style: newStyle(std), paths: c.Paths}
	}
	if c.Follow {
		return errors.Join(c.run(ctx, std, out), out.Close())
	}
	// A read of standard input cannot be interrupted, so the analysis is left behind: the process ends with it.
	done := make(chan error, 1)
	go func() { done <- c.run(ctx, std, out) }()
	select {
	case err := <-done:
		return errors.Join(err, out.Close())
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *analyzeCommand) run(ctx context.Context, std *streams, out flowOutput) error {
	a := analysis.New(analysis.Config{SkipICRC: !c.ICRC}, out)
	var files []fileResult
	var err error
	if c.Follow {
		stop := showFindings(std, a)
		files, err = followFile(ctx, a, c.Files[0])
		stop()
	} else {
		a.ExpectBytes(sizeOf(c.Files))
		stop := showProgress(std, a)
		files, err = addFiles(ctx, a, c.Files, func(name string) (*pcapfile.Source, error) { return openSource(name, std.In) })
		stop()
	}
	if err != nil {
		return err
	}
	failed := 0
	for _, f := range files {
		if f.Err != nil {
			failed++
		}
	}
	// A person who has both on one screen reads it once.
	quiet := !c.JSON && std.OutTTY && std.ErrTTY && failed < len(files)
	for _, f := range files {
		if f.Err != nil && !quiet {
			fmt.Fprintf(std.Err, "rocelens: %v\n", f.Err)
		}
	}
	if failed == len(files) {
		return &exitError{Code: exitFailure}
	}
	result, err := a.Finish()
	if err != nil {
		return err
	}
	fillFiles(files, result.Files)
	for _, f := range files {
		if f.Err == nil && f.Result.Report.Partial && !quiet {
			fmt.Fprintf(std.Err, "rocelens: %s is incomplete: %s\n", f.Name, f.Result.Report.Fault)
		}
	}
	return out.write(std.Out, files, &result)
}

// followFile analyses a file that grows. That ctx is done ends the file, not the analysis.
func followFile(ctx context.Context, a *analysis.Analyzer, name string) ([]fileResult, error) {
	return addFiles(context.WithoutCancel(ctx), a, []string{name}, func(name string) (*pcapfile.Source, error) {
		return pcapfile.Follow(ctx, name, pcapfile.Options{})
	})
}

// addFiles analyses the files one after the other. What is wrong with one of them does not end the run.
func addFiles(ctx context.Context, a *analysis.Analyzer, names []string, open func(name string) (*pcapfile.Source, error)) ([]fileResult, error) {
	files := make([]fileResult, 0, len(names))
	for _, name := range names {
		f := fileResult{Name: name}
		source, err := open(name)
		if err != nil {
			f.Err = err
			files = append(files, f)
			continue
		}
		if name == "-" {
			f.Name = "standard input"
		}
		err = a.Add(ctx, f.Name, source)
		report := source.Report()
		closed := source.Close()
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil && report.Packets > 0:
			return nil, err // a sink gave up
		case err != nil:
			f.Err = err
		case closed != nil:
			return nil, closed
		case report.Partial && report.Packets == 0:
			f.Err = fmt.Errorf("read capture %q: %s", f.Name, report.Fault)
		}
		files = append(files, f)
	}
	return files, nil
}

// fillFiles finds for each readable file of the command line what the run says of it.
func fillFiles(files []fileResult, results []analysis.File) {
	next := 0
	for i := range files {
		if next < len(results) && results[next].Name == files[i].Name {
			files[i].Result = &results[next]
			next++
		}
	}
}

func openSource(name string, stdin io.Reader) (*pcapfile.Source, error) {
	if name == "-" {
		return pcapfile.New(stdin, "standard input", pcapfile.Options{})
	}
	return pcapfile.Open(name, pcapfile.Options{})
}

// sizeOf is the size of all files together, 0 when one of them has none.
func sizeOf(names []string) int64 {
	var sum int64
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			continue // it will be told when it is opened
		}
		if !info.Mode().IsRegular() {
			return 0
		}
		sum += info.Size()
	}
	return sum
}
