package watch

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/cmd/rocelens-agent/internal/budget"
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/flow"
)

// Tiers are the ways in which an interface is watched.
const (
	PacketTier = "packet" // each packet is looked at here
	KernelTier = "kernel" // the kernel counts them
)

// Options says what to watch.
type Options struct {
	Interface string
	Interval  time.Duration // intervals end at whole multiples of it since the Unix epoch, so that those of all agents agree
	Idle      time.Duration // connections are forgotten after so long a silence, when the next interval ends
	MaxFlows  int           // and before, when there are more; 0 means the default of flow.Config
	Capture   Capture
	Share     *budget.Share    // of connections that is followed; nil means all
	Captured  func(how string) // is told how packets are captured, whenever that is new; may be nil
	Taps      []Tap
	Logger    *slog.Logger
}

// Watch is one interface at work. All but Open is for one goroutine.
type Watch struct {
	Clock

	options Options
	book    *Book
	tracker *flow.Tracker
	packet  dissector.Packet

	source    capture.Source // nil while the interface is down
	fellBack  string         // why the source is not the first choice
	clockName string         // of the source's time stamps, as it was told
	ending    bool           // the source was closed because all is to end
	received  uint64         // by sources before this one
	dropped   uint64
	ignored   capture.Ignored // by all sources
	past      capture.Ignored // by sources before this one
	number    uint64          // packets of sources before this one
	cuts      []cut           // ends of intervals, those before Idle left out
	asked     time.Time       // when the kernel was last asked what it lost, for the taps
	told      uint64          // of what it lost, to the taps
	event     Event
	parts     int // of connections that are followed
}

// Open begins to capture, or to wait for an interface that is down. Errors are those of the source.
func Open(o Options, sink Sink) (*Watch, error) {
	w := &Watch{options: o, book: NewBook(o.Interface, PacketTier, sink), asked: time.Now(), parts: budget.Parts}
	w.SetInterval(o.Interval)
	w.tracker = flow.NewTracker(flow.Config{MaxFlows: o.MaxFlows}, w.book.Flow)
	source, fellBack, err := o.Capture.open(o.Interface)
	switch {
	case err == nil:
		w.begin(source, fellBack)
	case errors.Is(err, capture.ErrDown):
		w.down()
	default:
		return nil, err
	}
	return w, nil
}

// filled is a batch of the reader, empty when it has ended, and why.
type filled struct {
	batch *capture.Batch
	err   error
}

const (
	batches = 4
	// again is how often an interface that is down is looked for.
	again = time.Second
)

// Run works until ctx ends, and then reports what it has, or until the sink refuses.
func (w *Watch) Run(ctx context.Context) error {
	full, empty := make(chan filled, batches+1), make(chan *capture.Batch, batches)
	for range batches {
		empty <- &capture.Batch{}
	}
	if w.source != nil {
		go read(w.source, empty, full)
	}
	interval := time.NewTimer(w.UntilEnd())
	defer interval.Stop()
	reopen := time.NewTicker(again)
	defer reopen.Stop()
	for {
		select {
		case next := <-full:
			if next.err == nil {
				w.observe(next.batch)
			} else if err := w.lost(next.err); err != nil {
				w.tracker.Flush()
				return errors.Join(err, w.report())
			}
			empty <- next.batch
		case now := <-reopen.C:
			w.tick(now)
			if w.source == nil && w.open() {
				go read(w.source, empty, full)
			}
		case <-interval.C:
			w.cut()
			if err := w.report(); err != nil {
				return errors.Join(err, w.end(empty, full))
			}
			interval.Reset(w.UntilEnd())
		case <-ctx.Done():
			err := w.end(empty, full)
			w.tracker.Flush()
			return errors.Join(err, w.report())
		}
	}
}

// Close ends a capture that was opened and is not run.
func (w *Watch) Close() error {
	if w.source == nil {
		return nil
	}
	return w.source.Close()
}

// read fills batches until the source ends. It never blocks on full, which holds them all.
func read(source capture.Source, empty <-chan *capture.Batch, full chan<- filled) {
	for batch := range empty {
		if err := source.Next(batch); err != nil {
			full <- filled{batch, err}
			return
		}
		full <- filled{batch, nil}
	}
}

// end closes the capture, and observes what it still has.
func (w *Watch) end(empty chan<- *capture.Batch, full <-chan filled) error {
	if w.source == nil {
		return nil
	}
	// Closing ends the reader behind what it has read already.
	err := w.source.Close()
	for next := range full {
		if next.err != nil {
			break
		}
		w.observe(next.batch)
		empty <- next.batch
	}
	w.ending = true
	return errors.Join(err, w.settle())
}

// lost takes the end of a source. An interface that went down is waited for; other errors are final.
func (w *Watch) lost(err error) error {
	err = errors.Join(ignoreEnd(err), w.settle())
	if errors.Is(err, capture.ErrDown) {
		w.down()
		return nil
	}
	return err
}

func (w *Watch) down() {
	w.options.Logger.Warn("the network interface is down or has gone away; it is waited for", slog.String("interface", w.options.Interface))
}

func ignoreEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// open tries to capture again.
func (w *Watch) open() bool {
	source, fellBack, err := w.options.Capture.open(w.options.Interface)
	if err != nil {
		return false
	}
	w.begin(source, fellBack)
	now := time.Now()
	w.missed(0, now) // while it was down
	w.asked = now
	w.options.Logger.Info("the network interface is back", slog.String("interface", w.options.Interface))
	return true
}

// settle keeps the counters of a source that has ended, and closes it.
func (w *Watch) settle() error {
	w.count()
	w.received, w.dropped = w.book.Total.SourceIn, w.book.Total.Drops[DropRing]
	w.past = w.ignored
	w.number += w.source.Report().Packets
	source := w.source
	w.source = nil
	return source.Close()
}

// count asks the kernel.
func (w *Watch) count() {
	if w.source == nil {
		return
	}
	if i := w.source.Interfaces(); len(i) > 0 && i[0].Received != nil && i[0].Dropped != nil {
		w.book.Total.SourceIn, w.book.Total.Drops[DropRing] = w.received+*i[0].Received, w.dropped+*i[0].Dropped
		w.ignored = capture.Ignored{Packets: w.past.Packets + i[0].Ignored.Packets, Bytes: w.past.Bytes + i[0].Ignored.Bytes}
	}
}

func (w *Watch) observe(batch *capture.Batch) {
	w.attend()
	w.reshare()
	for i := range batch.Frames {
		f := &batch.Frames[i]
		err := dissector.Decode(f.Data, dissector.Meta{
			Time: f.Time, Number: w.number + f.Number, OriginalLength: f.OriginalLength, Interface: f.Interface,
			LinkType: dissector.LinkType(f.LinkType), FCSLength: f.FCSLength, HasTime: f.HasTime,
		}, &w.packet)
		if !budget.Follows(&w.packet, w.parts) {
			w.tracker.Skip(&w.packet)
			w.book.Total.Drops[DropShed]++
			continue
		}
		icrc := dissector.ICRCNotChecked
		if flow.Tracks(&w.packet) {
			icrc = dissector.VerifyICRC(&w.packet)
		} else if w.packet.Fault.Reason == dissector.ReasonFragment {
			w.book.Total.Drops[DropFragment]++
		}
		o := w.tracker.Observe(&w.packet, err, icrc)
		if len(w.options.Taps) > 0 {
			w.event = Event{Frame: f, Packet: &w.packet, Err: err, ICRC: icrc, Observation: o, Tracker: w.tracker}
			for _, tap := range w.options.Taps {
				tap.Packet(&w.event)
			}
		}
	}
}

// report ends an interval, whose flows have been told.
func (w *Watch) report() error {
	w.count()
	if w.source != nil {
		w.describe()
	}
	totals, t := w.tracker.Totals(), &w.book.Total
	t.observe(&totals)
	t.SourceOut, t.Bytes, t.Drops[DropNotRDMA] = t.SourceOut+w.ignored.Packets, t.Bytes+w.ignored.Bytes, t.Drops[DropNotRDMA]+w.ignored.Packets
	t.SourceHeld = t.SourceIn - min(t.SourceIn, t.SourceOut+t.Drops[DropRing])
	return w.book.Close(w.source != nil || w.ending, &totals)
}
