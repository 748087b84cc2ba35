package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/rocelens/rocelens/analysis/document"
	"github.com/rocelens/rocelens/cmd/rocelens-agent/internal/watch"
	"github.com/rocelens/rocelens/flow"
)

// flowLine is one flow of one interval.
type flowLine struct {
	Type      string `json:"type"` // "flow"
	Version   int    `json:"version"`
	Interface string `json:"interface"`
	*document.Flow
}

// intervalLine ends an interval. Received, dropped and the totals count from the start.
type intervalLine struct {
	Type      string `json:"type"` // "interval"
	Version   int    `json:"version"`
	Interface string `json:"interface"`
	Tier      string `json:"tier"` // "packet" or "kernel"
	Up        bool   `json:"up"`
	From      string `json:"from"`
	To        string `json:"to"`
	Received  uint64 `json:"received_packets"`
	Dropped   uint64 `json:"dropped_packets"`
	Totals    any    `json:"totals"` // *flow.Totals, or counted
}

// counted is what is known of flow.Totals where packets are counted and not followed.
type counted struct {
	Packets     uint64 `json:"packets"`
	RDMAPackets uint64 `json:"rdma_packets"`
	Bytes       uint64 `json:"bytes"`
	RDMABytes   uint64 `json:"rdma_bytes"`
}

func totalsOf(i *watch.Interval) any {
	if i.Totals != nil {
		return i.Totals
	}
	t := &i.Total
	return counted{t.SourceOut, t.DecodeOut, t.Bytes, t.RDMABytes}
}

// page is what all printers write on.
type page struct {
	mutex  sync.Mutex
	out    *bufio.Writer
	encode *json.Encoder
}

func newPage(out io.Writer) *page {
	p := &page{out: bufio.NewWriter(out)}
	p.encode = json.NewEncoder(p.out)
	return p
}

// printer prints what a watch finds as JSON lines. It implements watch.Sink.
type printer struct {
	page *page
	name string // of the interface
	held []flowLine
}

// Flow implements watch.Sink. Lines of an interval stay together.
func (p *printer) Flow(r *flow.Record) {
	p.held = append(p.held, flowLine{"flow", document.Version, p.name, document.NewFlow(r)})
}

// End implements watch.Sink.
func (p *printer) End(i *watch.Interval) error {
	p.page.mutex.Lock()
	defer p.page.mutex.Unlock()
	var errs []error
	for k := range p.held {
		errs = append(errs, p.page.encode.Encode(&p.held[k]))
	}
	clear(p.held)
	p.held = p.held[:0]
	errs = append(errs, p.page.encode.Encode(intervalLine{
		Type: "interval", Version: document.Version, Interface: i.Interface, Tier: i.Tier, Up: i.Up,
		From: *document.Time(i.Start.UnixNano()), To: *document.Time(i.End.UnixNano()),
		Received: i.Total.SourceIn, Dropped: i.Total.Drops[watch.DropRing] + i.Total.Drops[watch.DropTableFull], Totals: totalsOf(i),
	}), p.page.out.Flush())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("print flows: %w", err)
	}
	return nil
}

// sinks hands on to several.
type sinks []watch.Sink

// Flow implements watch.Sink.
func (s sinks) Flow(r *flow.Record) {
	for _, each := range s {
		each.Flow(r)
	}
}

// End implements watch.Sink.
func (s sinks) End(i *watch.Interval) error {
	var errs []error
	for _, each := range s {
		errs = append(errs, each.End(i))
	}
	return errors.Join(errs...)
}
