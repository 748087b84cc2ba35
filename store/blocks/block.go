package blocks

import (
	"strings"

	"github.com/ClickHouse/ch-go/proto"
	"github.com/google/uuid"

	"github.com/rocelens/rocelens/store/access"
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

// Block is a run of rows of one table, column by column.
type Block struct {
	captures proto.ColUUID
	fields   []field
	late     []lateField // have no rows, or some less than the fields, until a row needs them
}

// Rows is how many rows it has.
func (b *Block) Rows() int { return b.fields[0].Rows() }

// lateInUse tells whether a row has filled the late columns. Without one they are left out of the insert, so that
// Rows of the usual kind pay nothing for them.
func (b *Block) lateInUse() bool { return len(b.late) > 0 && b.late[0].Rows() > 0 }

// fillLate gives the first rows that came without late columns NULL in them.
func (b *Block) fillLate(rows int) {
	for i := range b.late {
		b.late[i].pad(rows)
	}
}

// AppendFrom adds the rows of other, all of which belong to one capture.
func (b *Block) AppendFrom(other *Block, capture uuid.UUID) {
	if other.lateInUse() {
		b.fillLate(b.Rows())
		other.fillLate(other.Rows())
		for i := range b.late {
			b.late[i].AppendFrom(other.late[i].lateColumn)
		}
	}
	for range other.Rows() {
		b.captures = append(b.captures, capture)
	}
	for i := range b.fields {
		b.fields[i].AppendFrom(other.fields[i].column)
	}
}

// Reset empties it, and keeps its memory.
func (b *Block) Reset() {
	b.captures = b.captures[:0]
	for i := range b.fields {
		b.fields[i].Reset()
	}
	for i := range b.late {
		b.late[i].Reset()
	}
}

// Input is the block as ch-go sends it, and the names of its columns. It shares the block's memory.
func (b *Block) Input() (input proto.Input, names string) {
	input = append(proto.Input{{Name: "capture_id", Data: &b.captures}}, b.Columns()...)
	return input, ColumnNames(input)
}

// Columns is all of it but the capture.
func (b *Block) Columns() proto.Input {
	input := make(proto.Input, 0, len(b.fields)+len(b.late))
	for _, f := range b.fields {
		input = append(input, proto.InputColumn{Name: f.name, Data: f.Input()})
	}
	if b.lateInUse() {
		b.fillLate(b.Rows())
		for _, f := range b.late {
			input = append(input, proto.InputColumn{Name: f.name, Data: f.Input()})
		}
	}
	return input
}

// ColumnNames names the columns as an INSERT does.
func ColumnNames(input proto.Input) string {
	quoted := make([]string, len(input))
	for i := range input {
		quoted[i] = access.Identifier(input[i].Name)
	}
	return strings.Join(quoted, ", ")
}
