package shipping

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/google/uuid"

	"github.com/rocelens/rocelens/store/access"
	"github.com/rocelens/rocelens/store/blocks"
	"github.com/rocelens/rocelens/store/wire"
)

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
		if err == nil && taken < wire.MaxTokens {
			continue // the database knew the token and has not got the rows
		}
		if err == nil {
			s.config.Logger.Error("the database took rows and has not got them: they are given up",
				slog.String("table", next.Table), slog.Int("rows", next.Rows))
			s.refuse(RefusedVanished, uint64(next.Rows))
			return s.end(next)
		}
		if partial, ok := errors.AsType[*wire.PartialError](err); ok {
			s.config.Logger.Error("a part of a batch is stored, the rest is given up", slog.Any("cause", err))
			s.refuse(RefusedPartial, uint64(next.Rows)-partial.Stored)
			return s.end(next)
		}
		w.disconnect()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.failed(next.Table, err)
		if err := s.pause(ctx, delay); err != nil {
			return err
		}
		delay = min(2*delay, s.config.LastDelay)
	}
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
	countable := next.Table != wire.AgentsTable
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
	token := next.Agent.String() + "-" + id.String()
	if taken > 0 {
		token += "-" + strconv.Itoa(taken)
	}
	input := next.Input(id)
	return w.client.Do(ctx, ch.Query{
		Body:    "INSERT INTO " + access.Identifier(w.shipper.config.Database) + "." + access.Identifier(next.Table) + " (" + blocks.ColumnNames(input) + ") VALUES",
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
	if code, _, _ := access.Answer(err); err != nil && code != access.CodeNoRight {
		return false, err
	}
	if running > 0 {
		return false, wire.ErrRunning
	}
	found, err := w.count(ctx, fmt.Sprintf("SELECT count() FROM %s.%s WHERE interval_end = fromUnixTimestamp64Nano(toInt64(%d)) AND agent_id = '%s' AND batch = '%s'",
		access.Identifier(w.shipper.config.Database), access.Identifier(next.Table), next.At.UnixNano(), next.Agent, id))
	switch {
	case err != nil:
		return false, err
	case found != 0 && found != uint64(next.Rows):
		return false, &wire.PartialError{Table: next.Table, Stored: found, Rows: next.Rows}
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
