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

// lateField is a column that only packets of a rare kind fill.
type lateField struct {
	name string
	lateColumn
}

// block is a run of rows of one table, column by column.
type block struct {
	captures proto.ColUUID
	fields   []field
	late     []lateField // have no rows, or some less than the fields, until a row needs them
}

func (b *block) rows() int { return b.fields[0].rows() }

// lateInUse tells whether a row has filled the late columns. Without one they are left out of the insert, so that
// rows of the usual kind pay nothing for them.
func (b *block) lateInUse() bool { return len(b.late) > 0 && b.late[0].rows() > 0 }

// fillLate gives the first rows that came without late columns NULL in them.
func (b *block) fillLate(rows int) {
	for i := range b.late {
		b.late[i].pad(rows)
	}
}

// appendFrom adds the rows of other, all of which belong to one capture.
func (b *block) appendFrom(other *block, capture uuid.UUID) {
	if other.lateInUse() {
		b.fillLate(b.rows())
		other.fillLate(other.rows())
		for i := range b.late {
			b.late[i].appendFrom(other.late[i].lateColumn)
		}
	}
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
	for i := range b.late {
		b.late[i].reset()
	}
}

// input is the block as ch-go sends it, and the names of its columns. It shares the block's memory.
func (b *block) input() (input proto.Input, names string) {
	input = append(proto.Input{{Name: "capture_id", Data: &b.captures}}, b.columns()...)
	return input, columnNames(input)
}

// columns is all of it but the capture.
func (b *block) columns() proto.Input {
	input := make(proto.Input, 0, len(b.fields)+len(b.late))
	for _, f := range b.fields {
		input = append(input, proto.InputColumn{Name: f.name, Data: f.input()})
	}
	if b.lateInUse() {
		b.fillLate(b.rows())
		for _, f := range b.late {
			input = append(input, proto.InputColumn{Name: f.name, Data: f.input()})
		}
	}
	return input
}

func columnNames(input proto.Input) string {
	quoted := make([]string, len(input))
	for i := range input {
		quoted[i] = identifier(input[i].Name)
	}
	return strings.Join(quoted, ", ")
}
