package kernel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/rocelens/rocelens/capture/xdp"
	"github.com/rocelens/rocelens/cmd/rocelens-agent/internal/watch"
)

// Options says what to watch.
type Options struct {
	Interface string
	Interval  time.Duration // as in watch.Options
	MaxFlows  int           // rows are made before the interval ends where the records of more are held
	Count     xdp.Options   // its Interface is this one
	Logger    *slog.Logger
}

// Watch is one interface whose packets the kernel counts. All but Open and SetInterval is for one goroutine.
type Watch struct {
	watch.Clock

	options Options
	book    *watch.Book
	port    *port
	source  *xdp.Source // nil while the interface is gone
	index   uint32      // of the interface that the source counts on
	up      bool
	flows   Flows
	why     string // an interface that is there cannot be counted on, as it was logged
}

// ErrNoInterface says that there is no interface of the name.
var ErrNoInterface = errors.New("there is no such network interface")

// Open begins to count. Errors are ErrNoInterface and those of xdp.Open.
func Open(o Options, sink watch.Sink) (*Watch, error) {
	p, err := openPort(o.Interface)
	if err != nil {
		return nil, err
	}
	o.Count.Interface = o.Interface
	w := &Watch{options: o, book: watch.NewBook(o.Interface, watch.KernelTier, sink), port: p}
	w.SetInterval(o.Interval)
	var up bool
	if w.index, up = p.state(); w.index == 0 {
		return nil, errors.Join(fmt.Errorf("count on %s: %w", o.Interface, ErrNoInterface), p.close())
	}
	if w.source, err = xdp.Open(o.Count); err != nil {
		return nil, errors.Join(err, p.close())
	}
	w.up = true
	w.turn(up)
	return w, nil
}

// Attached is how the programs are attached.
func (w *Watch) Attached() xdp.Attached { return w.source.Attached() }

const (
	// often is how often the map is looked at. Meanwhile it must not fill up: what finds no room in it has the ring.
	often = 100 * time.Millisecond
	// enough is which share of the map is taken when it is emptied: what was read last still takes as much.
	enough = 0.3
	// seldom is how often the interface is looked at, and a program that outlives the agent is told that it lives.
	seldom = time.Second
)

// Run works until ctx ends, and then reports what it has, or until the sink refuses.
func (w *Watch) Run(ctx context.Context) error {
	interval := time.NewTimer(w.UntilEnd())
	defer interval.Stop()
	relief, visit := time.NewTicker(often), time.NewTicker(seldom)
	defer relief.Stop()
	defer visit.Stop()
	for {
		var err error
		select {
		case <-relief.C:
			err = w.relieve()
		case <-visit.C:
			err = w.visit()
		case <-interval.C:
			err = w.report()
			interval.Reset(w.UntilEnd())
		case <-ctx.Done():
			return w.end()
		}
		if err != nil {
			return errors.Join(err, w.Close())
		}
	}
}

// Close detaches the programs. What was counted since the latest report is lost.
func (w *Watch) Close() error {
	err := w.port.close()
	if w.source != nil {
		err = errors.Join(err, w.source.Close())
		w.source = nil
	}
	return err
}

// relieve empties the map before it is full, and makes rows of what has become too much to hold.
func (w *Watch) relieve() error {
	if w.source == nil {
		return nil
	}
	filled, err := w.source.Filled()
	if err != nil || filled < enough {
		return err
	}
	if err := w.source.Collect(); err != nil {
		return err
	}
	if w.source.Held() < w.options.MaxFlows {
		return nil
	}
	return w.sweep()
}

// sweep makes rows of all that was counted.
func (w *Watch) sweep() error {
	if w.source == nil {
		return nil
	}
	ledger, err := w.source.Sweep(w.flows.Add)
	if err != nil {
		return err
	}
	enter(&w.book.Total, &ledger)
	w.flows.Flush(w.book.Flow)
	return nil
}

// report ends an interval.
func (w *Watch) report() error {
	if err := w.sweep(); err != nil {
		return err
	}
	return w.book.Close(w.up, nil)
}

// end detaches the programs, and reports what they have counted.
func (w *Watch) end() error {
	var err error
	if w.source != nil {
		err = w.source.Detach()
	}
	return errors.Join(err, w.report(), w.Close())
}

// visit looks after the interface: one that is down is waited for, and one that has gone for another of its name. Programs
// stay on what is down, and count again when it comes back.
func (w *Watch) visit() error {
	index, up := w.port.state()
	if w.source != nil && index != w.index {
		if err := w.leave(); err != nil {
			return err
		}
		w.turn(false)
	}
	if w.source == nil && index != 0 {
		w.attach(index)
	}
	w.turn(up && w.source != nil)
	if w.source == nil {
		return nil
	}
	if err := w.source.Renew(); err != nil {
		return fmt.Errorf("keep counting on %s: %w", w.options.Interface, err)
	}
	return nil
}

// turn takes over whether the interface is up.
func (w *Watch) turn(up bool) {
	was := w.up
	w.up = up
	switch named := slog.String("interface", w.options.Interface); {
	case was && !up:
		w.options.Logger.Warn("the network interface is down or has gone away; it is waited for", named)
	case !was && up:
		w.options.Logger.Info("the network interface is back", named)
	}
}

// leave takes what was counted on an interface that is gone, with which its programs went.
func (w *Watch) leave() error {
	if err := w.sweep(); err != nil {
		return err
	}
	source := w.source
	w.source = nil
	return source.Close()
}

// attach counts on an interface that has come back. Where that does not do, it says why, once.
func (w *Watch) attach(index uint32) {
	source, err := xdp.Open(w.options.Count)
	if err == nil {
		w.source, w.index, w.why = source, index, ""
		return
	}
	if err.Error() != w.why {
		w.why = err.Error()
		w.options.Logger.Warn("the packets of the network interface cannot be counted", slog.String("interface", w.options.Interface), slog.Any("cause", err))
	}
}
