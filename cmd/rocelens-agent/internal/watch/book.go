package watch

import (
	"time"

	"github.com/rocelens/rocelens/flow"
)

// Interval is what was seen on an interface between two times.
type Interval struct {
	Interface  string
	Tier       string
	Start, End time.Time
	Up         bool         // at its end, the interface could be captured on
	Account    Account      // of the interval
	Total      Account      // since the start
	Totals     *flow.Totals // since the start; nil where packets are counted and not followed
}

// Sink takes what is found. It is called by one goroutine, and keeps nothing of r nor i.
type Sink interface {
	Flow(r *flow.Record)
	// End follows the flows of the interval. An error ends the watch.
	End(i *Interval) error
}

// Book keeps the account of an interface, and hands it on at the end of each interval.
type Book struct {
	Total  Account // since the start
	sink   Sink
	name   string // of the interface
	tier   string
	before Account // at the begin of the interval
	from   time.Time
}

// NewBook begins an interval.
func NewBook(name, tier string, sink Sink) *Book {
	b := &Book{Total: Account{Drops: map[string]uint64{}}, sink: sink, name: name, tier: tier, from: time.Now()}
	b.before = b.Total.clone()
	return b
}

// Flow counts a record's packets as those of a row, and hands it on.
func (b *Book) Flow(r *flow.Record) {
	b.Total.TrackOut += r.Packets
	b.Total.FlowRows++
	if r.MetaRoCE != nil {
		b.Total.PathRows += uint64(len(r.MetaRoCE.Paths))
	}
	b.sink.Flow(r)
}

// Close ends an interval, whose flows have been handed on, and begins the next. totals may be nil.
func (b *Book) Close(up bool, totals *flow.Totals) error {
	now := time.Now()
	i := Interval{
		Interface: b.name, Tier: b.tier, Start: b.from, End: now, Up: up,
		Account: b.Total.since(&b.before), Total: b.Total, Totals: totals,
	}
	b.before, b.from = b.Total.clone(), now
	return b.sink.End(&i)
}
