package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/google/uuid"

	"github.com/rocelens/rocelens/store/blocks"
)

// delivery is what an analysis hands to a writer: rows, or a request to be told when all its rows are in
// the database, or both.
type delivery struct {
	analysis *Analysis
	rows     *blocks.Block
	release  func()          // gives rows back; may be nil
	flushed  chan<- struct{} // closed when nothing of the analysis is outstanding; its error is in the analysis
}

// writer inserts the rows of all analyses into one table: one goroutine, one connection, one insert at a
// time. Its queue is bounded, so a database that is slow slows the analyses.
type writer struct {
	table    string // with its database
	queue    chan delivery
	done     chan struct{}
	batch    *blocks.Block
	members  map[*Analysis]struct{} // with rows in the batch
	waiting  []chan<- struct{}
	dial     func(context.Context) (*ch.Client, error)
	client   *ch.Client
	maxRows  int
	maxAge   time.Duration
	patience time.Duration
}

// queueLength is how many blocks may wait for a writer.
const queueLength = 16

func newWriter(table string, batch *blocks.Block, config Config, dial func(context.Context) (*ch.Client, error)) *writer {
	return &writer{
		table:    table,
		queue:    make(chan delivery, queueLength),
		done:     make(chan struct{}),
		batch:    batch,
		members:  map[*Analysis]struct{}{},
		dial:     dial,
		maxRows:  config.BatchRows,
		maxAge:   config.BatchAge,
		patience: config.Patience,
	}
}

// run works until ctx ends. Rows that are not yet in the database then are lost; they belong to analyses
// that have not been committed.
func (w *writer) run(ctx context.Context) {
	defer close(w.done)
	timer := time.NewTimer(w.maxAge)
	timer.Stop()
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			w.disconnect()
			return
		case <-timer.C:
			w.insert(ctx)
		case d := <-w.queue:
			fresh := w.batch.Rows() == 0
			w.take(d)
			w.takeWaiting()
			switch {
			case len(w.waiting) > 0, w.batch.Rows() >= w.maxRows:
				w.insert(ctx)
				timer.Stop()
			case fresh && w.batch.Rows() > 0:
				timer.Reset(w.maxAge)
			}
		}
	}
}

// takeWaiting empties the queue as far as the batch has room, so that analyses which end together share
// an insert.
func (w *writer) takeWaiting() {
	for w.batch.Rows() < w.maxRows {
		select {
		case d := <-w.queue:
			w.take(d)
		default:
			return
		}
	}
}

func (w *writer) take(d delivery) {
	if d.rows != nil {
		if !d.analysis.isOver() {
			w.batch.AppendFrom(d.rows, d.analysis.id)
			w.members[d.analysis] = struct{}{}
		}
		if d.release != nil {
			d.release()
		}
	}
	if d.flushed != nil {
		w.waiting = append(w.waiting, d.flushed)
	}
}

// insert writes the batch, with one deduplication token over all tries: an insert whose answer was lost is
// not doubled by the next one.
func (w *writer) insert(ctx context.Context) {
	if w.batch.Rows() > 0 {
		token := uuid.NewString()
		err := persist(ctx, w.patience, func() error { return w.try(ctx, token) })
		if err != nil {
			err = fmt.Errorf("insert %d rows into %s: %w", w.batch.Rows(), w.table, err)
			for analysis := range w.members {
				analysis.fail(err)
			}
		}
		w.batch.Reset()
		clear(w.members)
	}
	for _, flushed := range w.waiting {
		close(flushed)
	}
	w.waiting = w.waiting[:0]
}

func (w *writer) try(ctx context.Context, token string) error {
	if w.client == nil || w.client.IsClosed() {
		client, err := w.dial(ctx)
		if err != nil {
			return err
		}
		w.client = client
	}
	input, names := w.batch.Input()
	err := w.client.Do(ctx, ch.Query{
		Body:  "INSERT INTO " + w.table + " (" + names + ") VALUES",
		Input: input,
		Settings: []ch.Setting{
			ch.SettingInt("async_insert", 0),
			ch.SettingInt("insert_deduplicate", 1),
			{Key: "insert_deduplication_token", Value: token, Important: true},
			ch.SettingInt("throw_on_max_partitions_per_insert_block", 0),
		},
	})
	if err != nil {
		w.disconnect()
	}
	return err
}

func (w *writer) disconnect() {
	if w.client == nil {
		return
	}
	// A connection that failed may be closed already; what matters is that it is gone.
	if err := w.client.Close(); err != nil && !errors.Is(err, ch.ErrClosed) {
		w.client = nil
		return
	}
	w.client = nil
}

// send puts a delivery into the queue; it waits while the queue is full.
func (w *writer) send(ctx context.Context, d delivery) error {
	select {
	case w.queue <- d:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-w.done:
		return ErrClosed
	}
}

// flush returns when all that the analysis has sent is in the database or has failed.
func (w *writer) flush(ctx context.Context, analysis *Analysis) error {
	flushed := make(chan struct{})
	if err := w.send(ctx, delivery{analysis: analysis, flushed: flushed}); err != nil {
		return err
	}
	select {
	case <-flushed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-w.done:
		return ErrClosed
	}
}

// packetBlocks lends blocks of packets to analyses.
var packetBlocks = sync.Pool{New: func() any { return blocks.NewPacketBlock() }}

func takePacketBlock() *blocks.PacketBlock {
	if b, ok := packetBlocks.Get().(*blocks.PacketBlock); ok {
		return b
	}
	return blocks.NewPacketBlock()
}

func giveBack(b *blocks.PacketBlock) func() {
	return func() {
		b.Reset()
		packetBlocks.Put(b)
	}
}
