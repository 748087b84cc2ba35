package service

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/rocelens/rocelens/server"
	"github.com/rocelens/rocelens/server/api"
	"github.com/rocelens/rocelens/store"
)

// queries implements server.Queries.
type queries struct{ store *store.Store }

// refusal turns the database's answer into the server's form of it.
func refusal(err error) error {
	if e, ok := errors.AsType[*store.QueryError](err); ok {
		return &server.QueryError{Code: e.Code, Name: e.Name, Message: e.Message, NoFiles: e.NoFiles}
	}
	return served(err)
}

// Query implements server.Queries.
func (q *queries) Query(ctx context.Context, sql string, maxRows int) (api.QueryResult, error) {
	result, err := q.store.Query(ctx, sql, maxRows)
	if err != nil {
		return api.QueryResult{}, refusal(err)
	}
	out := api.QueryResult{
		Rows: result.Rows, RowCount: len(result.Rows), Truncated: result.Truncated, ElapsedSeconds: result.Elapsed.Seconds(),
		RowsRead: int64(result.RowsRead), BytesRead: int64(result.BytesRead),
	}
	out.Columns = make([]struct {
		Name string `json:"name"`
		Type string `json:"type"`
	}, len(result.Columns))
	for i, column := range result.Columns {
		out.Columns[i].Name, out.Columns[i].Type = column.Name, column.Type
	}
	return out, nil
}

// Export implements server.Queries.
func (q *queries) Export(ctx context.Context, sql string, format api.QueryRequestFormat, w io.Writer) error {
	form := store.FormatJSONLines
	if format == api.Csv {
		form = store.FormatCSV
	}
	answer, err := q.store.Download(ctx, sql, form)
	if err != nil {
		return refusal(err)
	}
	_, err = io.Copy(w, answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return fmt.Errorf("send the answer: %w", err)
	}
	return nil
}

// Tables implements server.Queries.
func (q *queries) Tables(ctx context.Context) ([]api.Table, error) {
	tables, err := q.store.Schema(ctx)
	if err != nil {
		return nil, served(err)
	}
	out := make([]api.Table, len(tables))
	for i, t := range tables {
		rows, bytes := int64(t.Rows), int64(t.Bytes)
		out[i] = api.Table{Name: t.Name, Comment: t.Comment, Rows: &rows, Bytes: &bytes}
		out[i].Columns = make([]struct {
			Comment string `json:"comment"`
			Name    string `json:"name"`
			Type    string `json:"type"`
		}, len(t.Columns))
		for n, c := range t.Columns {
			out[i].Columns[n].Name, out[i].Columns[n].Type, out[i].Columns[n].Comment = c.Name, c.Type, c.Comment
		}
	}
	return out, nil
}
