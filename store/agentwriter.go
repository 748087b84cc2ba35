package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/google/uuid"
)

// maxTokens is how many tokens an insert may use up.
const maxTokens = 3

// errRunning says that an earlier insert of the same rows has not ended yet.
var errRunning = errors.New("an earlier insert of the same rows is still running")

// tableWriter puts batches into one table, one after the other over one connection.
type tableWriter struct {
	shipper   *Shipper
	client    *ch.Client
	uncertain bool // whether the rows at hand may have been sent before
}

// deliver returns nil when the batch is stored or given up. It tries for as long as ctx lasts.
func (w *tableWriter) deliver(ctx context.Context, next shipment) error {
	s := w.shipper
	delay := s.config.FirstDelay
	for taken := 0; ; {
		done, err := w.try(ctx, next, &taken)
		if err == nil && done {
			return s.confirm(next)
		}
		if err == nil && taken < maxTokens {
			continue // the database knew the token and has not got the rows
		}
		if err == nil {
			s.config.Logger.Error("the database took rows and has not got them: they are given up",
				slog.String("table", next.table), slog.Int("rows", next.rows))
			s.refuse(RefusedVanished, uint64(next.rows))
			return s.end(next)
		}
		if partial, ok := errors.AsType[*partialError](err); ok {
			s.config.Logger.Error("a part of a batch is stored, the rest is given up", slog.Any("cause", err))
			s.refuse(RefusedPartial, uint64(next.rows)-partial.stored)
			return s.end(next)
		}
		w.disconnect()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.failed(next.table, err)
		if err := s.pause(ctx, delay); err != nil {
			return err
		}
		delay = min(2*delay, s.config.LastDelay)
	}
}

// partialError says that some rows of a batch are stored, which one insert of one block cannot do.
type partialError struct {
	table  string
	stored uint64
	rows   int
}

func (e *partialError) Error() string {
	return fmt.Sprintf("%d of %d rows of a batch are in %s", e.stored, e.rows, e.table)
}

// try inserts once, unless the rows are there. It is done when they are; taken counts the inserts that the database
// confirmed without effect.
func (w *tableWriter) try(ctx context.Context, next shipment, taken *int) (done bool, err error) {
	if w.client == nil || w.client.IsClosed() {
		if w.client, err = w.shipper.dial(ctx); err != nil {
			w.client = nil
			return false, err
		}
	}
	// The newest heartbeat of an agent replaces the others, so they cannot be counted, nor do they harm when they are doubled.
	countable := next.table != agentsTable
	if w.uncertain && countable {
		if stored, err := w.stored(ctx, next); stored || err != nil {
			return stored, err
		}
	}
	checked := w.uncertain
	w.uncertain = true // until the answer says otherwise
	if err := w.insert(ctx, next, *taken); err != nil {
		return false, err
	}
	if checked && countable {
		stored, err := w.stored(ctx, next)
		if err != nil {
			return false, err
		}
		if !stored {
			*taken++
			return false, nil
		}
	}
	w.uncertain = false
	return true, nil
}

// insert sends the rows as one block.
func (w *tableWriter) insert(ctx context.Context, next shipment, taken int) error {
	id := uuid.UUID(next.record.ID())
	token := next.agent.String() + "-" + id.String()
	if taken > 0 {
		token += "-" + strconv.Itoa(taken)
	}
	input := next.input(id)
	return w.client.Do(ctx, ch.Query{
		Body:    "INSERT INTO " + identifier(w.shipper.config.Database) + "." + identifier(next.table) + " (" + columnNames(input) + ") VALUES",
		QueryID: id.String() + "-" + uuid.NewString(),
		Input:   input,
		Settings: []ch.Setting{
			ch.SettingInt("async_insert", 0), // whose queue outlives the connection: nobody could tell what became of it
			ch.SettingInt("insert_deduplicate", 1),
			{Key: "deduplicate_insert", Value: "enable"},
			{Key: "insert_deduplication_token", Value: token, Important: true},
			ch.SettingInt("deduplicate_blocks_in_dependent_materialized_views", 1),
		},
	})
}

// stored tells whether the rows are in the table, once no insert of them is running any more.
func (w *tableWriter) stored(ctx context.Context, next shipment) (bool, error) {
	id := uuid.UUID(next.record.ID()).String()
	running, err := w.count(ctx, "SELECT count() FROM system.processes WHERE startsWith(query_id, '"+id+"')")
	if code, _ := exceptionCode(err); err != nil && code != codeNoRight {
		return false, err
	}
	if running > 0 {
		return false, errRunning
	}
	found, err := w.count(ctx, fmt.Sprintf("SELECT count() FROM %s.%s WHERE interval_end = fromUnixTimestamp64Nano(toInt64(%d)) AND agent_id = '%s' AND batch = '%s'",
		identifier(w.shipper.config.Database), identifier(next.table), next.at.UnixNano(), next.agent, id))
	switch {
	case err != nil:
		return false, err
	case found != 0 && found != uint64(next.rows):
		return false, &partialError{next.table, found, next.rows}
	}
	return found != 0, nil
}

func (w *tableWriter) count(ctx context.Context, query string) (uint64, error) {
	var data proto.ColUInt64
	err := w.client.Do(ctx, ch.Query{Body: query, Result: proto.Results{{Name: "count()", Data: &data}}})
	if err != nil {
		return 0, err
	}
	if len(data) != 1 {
		return 0, errors.New("the database did not say how many rows there are")
	}
	return data[0], nil
}

func (w *tableWriter) disconnect() {
	if w.client != nil {
		_ = w.client.Close() // it may have failed already; what matters is that it is gone
		w.client = nil
	}
}
