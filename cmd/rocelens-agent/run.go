package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/rocelens/rocelens/analysis/document"
	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/afpacket"
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/flow"
)

type runCommand struct {
	Interface     string        `short:"i" required:"" help:"Network interface to capture on."`
	Interval      time.Duration `default:"10s" help:"Print what was seen so often."`
	NoPromiscuous bool          `help:"Leave frames alone that are not addressed to the interface."`
	RingMiB       int           `name:"ring" default:"32" help:"MiB of the ring that bridges moments without attention."`
}

// flowLine is one flow of one interval.
type flowLine struct {
	Type      string `json:"type"` // "flow"
	Version   int    `json:"version"`
	Interface string `json:"interface"`
	*document.Flow
}

// intervalLine ends an interval. Received, dropped and the totals count from the start.
type intervalLine struct {
	Type      string      `json:"type"` // "interval"
	Version   int         `json:"version"`
	Interface string      `json:"interface"`
	From      string      `json:"from"`
	To        string      `json:"to"`
	Received  *uint64     `json:"received_packets"`
	Dropped   *uint64     `json:"dropped_packets"`
	Totals    flow.Totals `json:"totals"`
}

// Run captures until it is told to stop, and then reports what it has.
func (c *runCommand) Run(ctx context.Context, out io.Writer) error {
	if c.Interval < time.Millisecond || c.RingMiB < 2 || c.RingMiB > 1<<14 {
		return errors.New("--interval must be at least 1ms, --ring between 2 and 16384")
	}
	source, err := afpacket.Open(c.Interface, afpacket.Options{RingBytes: c.RingMiB << 20, NoPromiscuous: c.NoPromiscuous})
	if err != nil {
		return err
	}
	w := watch{name: c.Interface, source: source, out: bufio.NewWriter(out)}
	w.encode = json.NewEncoder(w.out)
	w.tracker = flow.NewTracker(flow.Config{}, w.flow)
	return errors.Join(w.run(ctx, c.Interval), source.Close())
}

// watch is one interface at work. Only its own goroutine touches the tracker.
type watch struct {
	name    string
	source  capture.Source
	out     *bufio.Writer
	encode  *json.Encoder
	tracker *flow.Tracker
	packet  dissector.Packet
	from    time.Time
	err     error // of the output
}

// filled is a batch of the reader, or why it ended.
type filled struct {
	batch *capture.Batch
	err   error
}

const batches = 4

func (w *watch) run(ctx context.Context, interval time.Duration) error {
	full, empty := make(chan filled, batches+1), make(chan *capture.Batch, batches)
	for range batches {
		empty <- &capture.Batch{}
	}
	go read(w.source, empty, full)
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	w.from = time.Now()
	for {
		select {
		case next := <-full:
			if next.err != nil {
				return errors.Join(ignoreEnd(next.err), w.report())
			}
			w.observe(next.batch)
			empty <- next.batch
		case <-ticker.C:
			if err := w.report(); err != nil {
				return err
			}
		case <-ctx.Done():
			// Closing ends the reader behind what it has read already.
			if err := w.source.Close(); err != nil {
				return err
			}
			for next := range full {
				if next.err != nil {
					break
				}
				w.observe(next.batch)
				empty <- next.batch
			}
			return w.report()
		}
	}
}

// read fills batches until the source ends. It never blocks on full, which holds them all.
func read(source capture.Source, empty <-chan *capture.Batch, full chan<- filled) {
	for batch := range empty {
		if err := source.Next(batch); err != nil {
			full <- filled{err: err}
			return
		}
		full <- filled{batch: batch}
	}
}

func ignoreEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (w *watch) observe(batch *capture.Batch) {
	for i := range batch.Frames {
		f := &batch.Frames[i]
		err := dissector.Decode(f.Data, dissector.Meta{
			Time: f.Time, Number: f.Number, OriginalLength: f.OriginalLength, Interface: f.Interface,
			LinkType: dissector.LinkType(f.LinkType), FCSLength: f.FCSLength, HasTime: f.HasTime,
		}, &w.packet)
		icrc := dissector.ICRCNotChecked
		if w.packet.IsRDMA() {
			icrc = dissector.VerifyICRC(&w.packet)
		}
		w.tracker.Observe(&w.packet, err, icrc)
	}
}

func (w *watch) flow(r *flow.Record) {
	if w.err == nil {
		w.err = w.encode.Encode(flowLine{"flow", document.Version, w.name, document.NewFlow(r)})
	}
}

// report prints the flows of the interval and then what ends it.
func (w *watch) report() error {
	w.tracker.Flush()
	now := time.Now()
	line := intervalLine{
		Type: "interval", Version: document.Version, Interface: w.name,
		From: *document.Time(w.from.UnixNano()), To: *document.Time(now.UnixNano()), Totals: w.tracker.Totals(),
	}
	if interfaces := w.source.Interfaces(); len(interfaces) > 0 {
		line.Received, line.Dropped = interfaces[0].Received, interfaces[0].Dropped
	}
	w.from = now
	if w.err == nil {
		w.err = w.encode.Encode(line)
	}
	if err := errors.Join(w.err, w.out.Flush()); err != nil {
		return fmt.Errorf("print flows: %w", err)
	}
	return nil
}
