package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/rocelens/rocelens/replay/compliance"
	"github.com/rocelens/rocelens/replay/softmetaroce"
)

// exitFails says that a scenario of the compliance suite fails.
const exitFails = 3

type complianceCommand struct {
	Address   string        `arg:"" optional:"" name:"address" help:"Address of the implementation, HOST or HOST:PORT (51791); both ends receive on that port."`
	From      string        `placeholder:"ADDR" help:"Own address. Default: what the route to the target says, and the next one for a target on a loopback address."`
	Scenario  []string      `placeholder:"NAME" sep:"," help:"Run these alone: names as --list prints them, or patterns such as 'sender/*'."`
	List      bool          `help:"Print the scenarios and stop."`
	Timeout   time.Duration `default:"500ms" placeholder:"TIME" help:"How long an answer is waited for that is due at once (${default})."`
	Partition uint16        `default:"65535" placeholder:"KEY" help:"Partition key of the target (${default})."`
	JSON      bool          `name:"json" help:"Print the report as JSON."`
	JUnit     string        `name:"junit" type:"path" placeholder:"FILE" help:"Write a JUnit report: a test case for each scenario."`
	HTML      string        `name:"html" type:"path" placeholder:"FILE" help:"Write the report as one HTML page, with the packets of each scenario to look at and to download."`
	PCAP      string        `name:"pcap" type:"path" placeholder:"DIR" help:"Write the packets of each scenario to a capture in this directory."`
	Seed      uint64        `default:"0" placeholder:"N" help:"Seed of ids and sequence numbers. 0: random."`
}

// Run runs the suite and prints what it has come to.
func (c *complianceCommand) Run(ctx context.Context, std *streams) error {
	scenarios, err := compliance.Select(c.Scenario...)
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("--scenario: %w; --list prints them", err)}
	}
	if c.List {
		return listScenarios(std, scenarios, c.JSON)
	}
	config, err := c.config(scenarios)
	if err != nil {
		return err
	}
	stop := c.progress(std, &config)
	report, err := compliance.Run(ctx, config)
	stop()
	if report == nil || len(report.Results) == 0 {
		return c.unreached(ctx, err)
	}
	if errors.Is(err, context.Canceled) {
		err = &exitError{exitInterrupted, fmt.Errorf("interrupted after %d of %d scenarios", len(report.Results), len(scenarios))}
	}
	err = errors.Join(err, c.write(std, report))
	if err == nil && report.Failed > 0 {
		return &exitError{Code: exitFails}
	}
	return err
}

// unreached is the error when no scenario could run.
func (c *complianceCommand) unreached(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &exitError{exitInterrupted, errors.New("interrupted before the first scenario was done")}
	}
	if err == nil {
		err = errors.New("no scenario could run")
	}
	return &exitError{exitFailure, err}
}

func (c *complianceCommand) config(scenarios []compliance.Scenario) (config compliance.Config, err error) {
	if c.Address == "" {
		return config, &exitError{exitUsage, errors.New("name the address of the implementation to be tested")}
	}
	if c.Timeout <= 0 {
		return config, &exitError{exitUsage, errors.New("--timeout must be positive")}
	}
	config = compliance.Config{Timeout: c.Timeout, PartitionKey: c.Partition, Seed: c.Seed, Scenarios: scenarios}
	if config.Target, err = parsePeer(c.Address); err != nil {
		return config, err
	}
	if c.Seed == 0 {
		var b [8]byte
		_, _ = rand.Read(b[:]) // never fails
		config.Seed = binary.NativeEndian.Uint64(b[:])
	}
	config.Local, err = ownAddress(c.From, config.Target)
	return config, err
}

// ownAddress is the named one, or that of the route to the peer.
func ownAddress(from string, peer netip.AddrPort) (netip.Addr, error) {
	if from != "" {
		a, err := netip.ParseAddr(from)
		if err != nil {
			return a, &exitError{exitUsage, fmt.Errorf("--from: %q is no address", from)}
		}
		return a.Unmap(), nil
	}
	own, _, err := softmetaroce.RouteTo(peer)
	switch {
	case err != nil:
		return own, err
	case own == peer.Addr() && own.Is4() && own.IsLoopback():
		return own.Next(), nil // both ends receive on the same port, so they need two addresses
	case own == peer.Addr():
		return own, fmt.Errorf("the target at %s is on this host, and both ends receive on port %d: name a second address of this host by --from", own, peer.Port())
	}
	return own, nil
}

// write prints the report, and writes the files that were asked for.
func (c *complianceCommand) write(std *streams, report *compliance.Report) error {
	var errs []error
	if c.JSON {
		errs = append(errs, writeComplianceJSON(std.Out, report))
	} else {
		errs = append(errs, writeComplianceText(std, report))
	}
	if c.PCAP != "" {
		errs = append(errs, writeCaptures(c.PCAP, report))
	}
	if c.JUnit != "" {
		errs = append(errs, writeFile(c.JUnit, func(w io.Writer) error { return writeComplianceJUnit(w, report) }))
	}
	if c.HTML != "" {
		errs = append(errs, writeFile(c.HTML, func(w io.Writer) error { return writeComplianceHTML(w, report) }))
	}
	return errors.Join(errs...)
}

// writeCaptures writes a capture for each scenario.
func writeCaptures(directory string, report *compliance.Report) error {
	if err := os.MkdirAll(directory, 0o755); err != nil { //nolint:gosec // reports are for others to read
		return fmt.Errorf("make the directory of captures: %w", err)
	}
	for i := range report.Results {
		r := &report.Results[i]
		if err := writeFile(filepath.Join(directory, r.FileName()+".pcapng"), r.WritePCAP); err != nil {
			return err
		}
	}
	return nil
}

// writeFile writes a file as a whole.
func writeFile(name string, write func(w io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("write a report: %w", err)
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
