package store

import (
	"strings"

	"github.com/ClickHouse/ch-go/proto"
	"github.com/google/uuid"
)

// field is a column by its name in the table.
type field struct {
	name string
	column
}

// block is a run of rows of one table, column by column.
type block struct {
	captures proto.ColUUID
	fields   []field
}

func (b *block) rows() int { return b.fields[0].rows() }

// appendFrom adds the rows of other, all of which belong to one capture.
func (b *block) appendFrom(other *block, capture uuid.UUID) {
	for range other.rows() {
		b.captures = append(b.captures, capture)
	}
	for i := range b.fields {
		b.fields[i].appendFrom(other.fields[i].column)
	}
}

func (b *block) reset() {
	b.captures = b.captures[:0]
	for i := range b.fields {
		b.fields[i].reset()
	}
}

// input is the block as ch-go sends it. It shares the block's memory.
func (b *block) input() proto.Input {
	input := make(proto.Input, 0, len(b.fields)+1)
	input = append(input, proto.InputColumn{Name: "capture_id", Data: &b.captures})
	for _, f := range b.fields {
		input = append(input, proto.InputColumn{Name: f.name, Data: f.input()})
	}
	return input
}

// columnNames lists the columns for the INSERT statement.
func (b *block) columnNames() string {
	names := make([]string, 0, len(b.fields)+1)
	names = append(names, "capture_id")
	for _, f := range b.fields {
		names = append(names, f.name)
	}
	return strings.Join(names, ", ")
}
