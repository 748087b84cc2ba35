package store

import (
	"github.com/ClickHouse/ch-go/proto"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/flow"
)

// recordBlock is rows of a table that has few. Each column is declared together with where its value comes from.
type recordBlock[R any] struct {
	block

	fill []func(*R)
}

func (b *recordBlock[R]) append(row *R) {
	for _, fill := range b.fill {
		fill(row)
	}
}

// add declares a column, and how a row fills it.
func (b *recordBlock[R]) add(name string, c column, fill func(*R)) {
	b.fields = append(b.fields, field{name, c})
	b.fill = append(b.fill, fill)
}

func (b *recordBlock[R]) uint8(name string, of func(*R) uint8) {
	c := &uint8s{}
	b.add(name, c, func(row *R) { c.append(of(row)) })
}

func (b *recordBlock[R]) uint16(name string, of func(*R) uint16) {
	c := &uint16s{}
	b.add(name, c, func(row *R) { c.append(of(row)) })
}

func (b *recordBlock[R]) uint32(name string, of func(*R) uint32) {
	c := &uint32s{}
	b.add(name, c, func(row *R) { c.append(of(row)) })
}

func (b *recordBlock[R]) uint64(name string, of func(*R) uint64) {
	c := &uint64s{}
	b.add(name, c, func(row *R) { c.append(of(row)) })
}

func (b *recordBlock[R]) address(name string, of func(*R) dissector.Address) {
	c := &ipv6s{}
	b.add(name, c, func(row *R) { c.append(proto.IPv6(of(row))) })
}

func (b *recordBlock[R]) text(name string, of func(*R) string) {
	c := &texts{}
	b.add(name, c, func(row *R) { c.append(of(row)) })
}

// enum is a column of a type whose name says more than ch-go's.
func (b *recordBlock[R]) enum(name, declared string, of func(*R) int8) {
	c := &int8s{declared: proto.ColumnType(declared)}
	b.add(name, c, func(row *R) { c.append(of(row)) })
}

// A count that is not known is NULL, in columns of any width.

func (b *recordBlock[R]) count8(name string, of func(*R) flow.Count) {
	c := &nullUint8s{}
	b.add(name, c, func(row *R) { n := of(row); c.append(n.Known, uint8(n.N)) })
}

func (b *recordBlock[R]) count32(name string, of func(*R) flow.Count) {
	c := &nullUint32s{}
	b.add(name, c, func(row *R) { n := of(row); c.append(n.Known, uint32(n.N)) })
}

func (b *recordBlock[R]) count(name string, of func(*R) flow.Count) {
	c := &nullUint64s{}
	b.add(name, c, func(row *R) { n := of(row); c.append(n.Known, n.N) })
}

// time is a column of times, ns since the Unix epoch.
func (b *recordBlock[R]) time(name string, of func(*R) (at int64, known bool)) {
	c := &nullInt64s{declared: nullableTimeType}
	b.add(name, c, func(row *R) { at, known := of(row); c.append(known, at) })
}

// inFlow declares the columns that tell which flow a row belongs to.
func (b *recordBlock[R]) inFlow(of func(*R) *flow.Record) {
	b.uint64("flow_id", func(r *R) uint64 { return uint64(of(r).ID) })
	b.uint64("connection_id", func(r *R) uint64 { return uint64(of(r).ConnectionID) })
	b.address("source", func(r *R) dissector.Address { return of(r).Key.Source })
	b.address("destination", func(r *R) dissector.Address { return of(r).Key.Destination })
	b.uint32("destination_qp", func(r *R) uint32 { return of(r).Key.DestinationQP })
}
