package blocks

import (
	"github.com/ClickHouse/ch-go/proto"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/flow"
)

// RecordBlock is rows of a table that has few. Each column is declared together with where its value comes from.
type RecordBlock[R any] struct {
	Block

	fill []func(*R)
}

// Append adds a row. It keeps nothing of it.
func (b *RecordBlock[R]) Append(row *R) {
	for _, fill := range b.fill {
		fill(row)
	}
}

// add declares a column, and how a row fills it.
func (b *RecordBlock[R]) add(name string, c column, fill func(*R)) {
	b.fields = append(b.fields, field{name, c})
	b.fill = append(b.fill, fill)
}

func (b *RecordBlock[R]) uint8(name string, of func(*R) uint8) {
	c := &uint8s{}
	b.add(name, c, func(row *R) { c.Append(of(row)) })
}

func (b *RecordBlock[R]) uint16(name string, of func(*R) uint16) {
	c := &uint16s{}
	b.add(name, c, func(row *R) { c.Append(of(row)) })
}

// Uint32 declares a column.
func (b *RecordBlock[R]) Uint32(name string, of func(*R) uint32) {
	c := &uint32s{}
	b.add(name, c, func(row *R) { c.Append(of(row)) })
}

func (b *RecordBlock[R]) uint64(name string, of func(*R) uint64) {
	c := &uint64s{}
	b.add(name, c, func(row *R) { c.Append(of(row)) })
}

func (b *RecordBlock[R]) address(name string, of func(*R) dissector.Address) {
	c := &ipv6s{}
	b.add(name, c, func(row *R) { c.Append(proto.IPv6(of(row))) })
}

// Text declares a column.
func (b *RecordBlock[R]) Text(name string, of func(*R) string) {
	c := &texts{}
	b.add(name, c, func(row *R) { c.Append(of(row)) })
}

// Enum is a column of a type whose name says more than ch-go's.
func (b *RecordBlock[R]) Enum(name, declared string, of func(*R) int8) {
	c := &int8s{declared: proto.ColumnType(declared)}
	b.add(name, c, func(row *R) { c.Append(of(row)) })
}

// A count that is not known is NULL, in columns of any width.

func (b *RecordBlock[R]) count8(name string, of func(*R) flow.Count) {
	c := &nullUint8s{}
	b.add(name, c, func(row *R) { n := of(row); c.Append(n.Known, uint8(n.N)) })
}

func (b *RecordBlock[R]) count32(name string, of func(*R) flow.Count) {
	c := &nullUint32s{}
	b.add(name, c, func(row *R) { n := of(row); c.Append(n.Known, uint32(n.N)) })
}

// Count declares a column that is NULL where the count is not known.
func (b *RecordBlock[R]) Count(name string, of func(*R) flow.Count) {
	c := &NullUint64s{}
	b.add(name, c, func(row *R) { n := of(row); c.Append(n.Known, n.N) })
}

// time is a column of times, ns since the Unix epoch.
func (b *RecordBlock[R]) time(name string, of func(*R) (at int64, known bool)) {
	c := &NullInt64s{Declared: NullableTimeType}
	b.add(name, c, func(row *R) { at, known := of(row); c.Append(known, at) })
}

// inFlow declares the columns that tell which flow a row belongs to.
func (b *RecordBlock[R]) inFlow(of func(*R) *flow.Record) {
	b.uint64("flow_id", func(r *R) uint64 { return uint64(of(r).ID) })
	b.uint64("connection_id", func(r *R) uint64 { return uint64(of(r).ConnectionID) })
	b.address("source", func(r *R) dissector.Address { return of(r).Key.Source })
	b.address("destination", func(r *R) dissector.Address { return of(r).Key.Destination })
	b.Uint32("destination_qp", func(r *R) uint32 { return of(r).Key.DestinationQP })
}
