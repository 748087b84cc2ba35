package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"
)

// Column is a column of a result.
type Column struct {
	Name string
	Type string // ClickHouse's
}

// Result is the answer to a user's statement. Rows hold what encoding/json can write: nil, bool, numbers,
// text, []any and map[string]any. Integers beyond 2^53 are text, since JavaScript cannot hold them; times
// are RFC 3339, addresses as people write them.
type Result struct {
	Columns   []Column
	Rows      [][]any
	Truncated bool // there were more rows than asked for
	Elapsed   time.Duration
	RowsRead  uint64
	BytesRead uint64
}

// Query runs one statement as the reader and returns up to maxRows rows. The database's refusal is a
// *QueryError, a store without a reader answers with a *DisabledError. When ctx ends the query is killed.
func (s *Store) Query(ctx context.Context, statement string, maxRows int) (Result, error) {
	result := Result{Rows: [][]any{}}
	visit := func(columns []Column) func([]any) error {
		result.Columns = columns
		return func(row []any) error {
			if len(result.Rows) == maxRows {
				result.Truncated = true
				return errEnough
			}
			result.Rows = append(result.Rows, row)
			return nil
		}
	}
	statistics, err := s.Stream(ctx, statement, visit)
	if errors.Is(err, errEnough) {
		err = nil
	}
	result.Elapsed, result.RowsRead, result.BytesRead = statistics.Elapsed, statistics.RowsRead, statistics.BytesRead
	return result, err
}

// errEnough ends a stream whose reader has seen enough.
var errEnough = errors.New("enough rows")

// Statistics tell what a query cost.
type Statistics struct {
	Elapsed   time.Duration
	RowsRead  uint64
	BytesRead uint64
}

// Stream runs one statement as the reader and hands its rows to the function that begin returns, until that
// answers with an error. The values are as in a Result.
//
// Each statement has a connection of its own: what it changes of its session is gone with it.
func (s *Store) Stream(ctx context.Context, statement string, begin func([]Column) func([]any) error) (statistics Statistics, err error) {
	if err := s.QueryDisabled(); err != nil {
		return Statistics{}, err
	}
	conn, err := s.connectReader()
	if err != nil {
		return Statistics{}, err
	}
	defer closing(&err, conn)

	start := time.Now()
	ctx, cancel := withoutDeadline(ctx)
	defer cancel()
	running := clickhouse.Context(ctx, clickhouse.WithQueryID(uuid.NewString()), clickhouse.WithProgress(func(p *clickhouse.Progress) {
		statistics.RowsRead += p.Rows
		statistics.BytesRead += p.Bytes
	}))
	rows, err := conn.Query(running, statement)
	if errors.Is(err, io.EOF) && conn.Ping(ctx) == nil { // a statement without an answer, such as SET
		begin([]Column{})
		return statistics, nil
	}
	if err != nil {
		return statistics, s.queryError(err)
	}
	defer func() {
		cancel() // otherwise Close reads the rest of the answer
		closed := rows.Close()
		if err == nil && !errors.Is(closed, context.Canceled) {
			err = s.queryError(closed)
		}
		statistics.Elapsed = time.Since(start)
	}()
	types := rows.ColumnTypes()
	columns := make([]Column, len(types))
	for i, t := range types {
		columns[i] = Column{Name: t.Name(), Type: t.DatabaseTypeName()}
	}
	row := begin(columns)
	destinations := make([]any, len(types))
	for rows.Next() {
		for i, t := range types {
			destinations[i] = reflect.New(t.ScanType()).Interface()
		}
		if err := rows.Scan(destinations...); err != nil {
			return statistics, fmt.Errorf("read the answer: %w", err)
		}
		values := make([]any, len(types))
		for i, d := range destinations {
			values[i] = plain(reflect.ValueOf(d).Elem(), columns[i].Type)
		}
		if err := row(values); err != nil {
			return statistics, err
		}
	}
	return statistics, s.queryError(rows.Err())
}

// withoutDeadline is ctx without its deadline, which clickhouse-go would send as a limit on the query that
// the reader may not raise; it still ends when ctx does.
func withoutDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	free, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	return free, func() {
		stop()
		cancel()
	}
}
