package store

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/rocelens/rocelens/migrations"
)

// Table describes a table that users may read.
type Table struct {
	Name    string
	Comment string
	Rows    uint64 // as a query counts them
	Bytes   uint64 // on disk
	Columns []TableColumn
}

// TableColumn describes a column.
type TableColumn struct {
	Name    string
	Type    string
	Comment string
	Derived bool // computed from others when asked for; SELECT * leaves it out
}

// Schema describes the tables that users may read.
func (s *Store) Schema(ctx context.Context) ([]Table, error) {
	tables, err := s.tables(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	if err := s.countCaptures(ctx, tables); err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	if err := s.tableColumns(ctx, tables); err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	return tables, nil
}

func (s *Store) tables(ctx context.Context) (tables []Table, err error) {
	rows, err := s.conn.Query(ctx, `SELECT name, comment, ifNull(total_rows, 0), ifNull(total_bytes, 0) FROM system.tables
		WHERE database = {database:String} AND name != {versions:String} ORDER BY name`,
		clickhouse.Named("database", s.config.Database), clickhouse.Named("versions", migrations.VersionTable))
	if err != nil {
		return nil, err
	}
	defer closing(&err, rows)
	for rows.Next() {
		var t Table
		if err := rows.Scan(&t.Name, &t.Comment, &t.Rows, &t.Bytes); err != nil {
			return nil, err
		}
		tables = append(tables, t)
	}
	return tables, rows.Err()
}

// countCaptures counts the rows of captures, whose parts still hold what later versions have replaced.
func (s *Store) countCaptures(ctx context.Context, tables []Table) error {
	for i := range tables {
		if tables[i].Name != capturesTable {
			continue
		}
		return s.conn.QueryRow(ctx, "SELECT count() FROM "+s.table(capturesTable)+" FINAL").Scan(&tables[i].Rows)
	}
	return nil
}

func (s *Store) tableColumns(ctx context.Context, tables []Table) (err error) {
	rows, err := s.conn.Query(ctx, `SELECT table, name, type, comment, default_kind = 'ALIAS' FROM system.columns
		WHERE database = {database:String} ORDER BY table, position`, clickhouse.Named("database", s.config.Database))
	if err != nil {
		return err
	}
	defer closing(&err, rows)
	for rows.Next() {
		var table string
		var c TableColumn
		var derived uint8
		if err := rows.Scan(&table, &c.Name, &c.Type, &c.Comment, &derived); err != nil {
			return err
		}
		c.Derived = derived != 0
		for i := range tables {
			if tables[i].Name == table {
				tables[i].Columns = append(tables[i].Columns, c)
			}
		}
	}
	return rows.Err()
}
