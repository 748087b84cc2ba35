package blocks

import (
	"encoding/hex"
	"slices"

	"github.com/ClickHouse/ch-go/proto"

	"github.com/rocelens/rocelens/flow"
)

// column is one column of a block that is being filled. Its rows can be moved into another of its kind.
type column interface {
	Rows() int
	AppendFrom(other column)
	Reset()
	Input() proto.ColInput
}

// lateColumn is a column that may lack the last of its rows until they are asked for.
type lateColumn interface {
	column
	pad(rows int) // adds NULLs, or empty values, until there are as many rows
}

// values is a column without NULL.
type values[S ~[]E, E any, P interface {
	*S
	proto.Column
}] struct {
	data     S
	declared proto.ColumnType // for types whose name says more than ch-go's, such as an Enum8; or empty
}

func (c *values[S, E, P]) Append(v E) { c.data = append(c.data, v) }
func (c *values[S, E, P]) Rows() int  { return len(c.data) }
func (c *values[S, E, P]) Reset()     { c.data = c.data[:0] }

func (c *values[S, E, P]) AppendFrom(other column) {
	if o, ok := other.(*values[S, E, P]); ok {
		c.data = append(c.data, o.data...)
	}
}

func (c *values[S, E, P]) Input() proto.ColInput {
	if c.declared != "" {
		return proto.Alias(P(&c.data), c.declared)
	}
	return P(&c.data)
}

// nullable is a column with NULLs.
type nullable[S ~[]E, E any, P interface {
	*S
	proto.ColumnOf[E]
}] struct {
	nulls    proto.ColUInt8
	data     S
	Declared proto.ColumnType
}

// Append adds v, or NULL when known does not hold.
func (c *nullable[S, E, P]) Append(known bool, v E) {
	if known {
		c.nulls = append(c.nulls, 0)
		c.data = append(c.data, v)
		return
	}
	var zero E
	c.nulls = append(c.nulls, 1)
	c.data = append(c.data, zero)
}

func (c *nullable[S, E, P]) Rows() int { return len(c.data) }

func (c *nullable[S, E, P]) pad(rows int) {
	var zero E
	for len(c.data) < rows {
		c.Append(false, zero)
	}
}

func (c *nullable[S, E, P]) Reset() { c.nulls, c.data = c.nulls[:0], c.data[:0] }

func (c *nullable[S, E, P]) AppendFrom(other column) {
	if o, ok := other.(*nullable[S, E, P]); ok {
		c.nulls = append(c.nulls, o.nulls...)
		c.data = append(c.data, o.data...)
	}
}

func (c *nullable[S, E, P]) Input() proto.ColInput {
	col := &proto.ColNullable[E]{Nulls: c.nulls, Values: P(&c.data)}
	if c.Declared != "" {
		return proto.Alias(col, c.Declared)
	}
	return col
}

// Columns by element type.
type (
	uint8s  = values[proto.ColUInt8, uint8, *proto.ColUInt8]
	int8s   = values[proto.ColInt8, int8, *proto.ColInt8]
	uint16s = values[proto.ColUInt16, uint16, *proto.ColUInt16]
	uint32s = values[proto.ColUInt32, uint32, *proto.ColUInt32]
	uint64s = values[proto.ColUInt64, uint64, *proto.ColUInt64]
	int64s  = values[proto.ColInt64, int64, *proto.ColInt64]
	ipv6s   = values[proto.ColIPv6, proto.IPv6, *proto.ColIPv6]

	uint16Arrays = arrays[proto.ColUInt16, uint16, *proto.ColUInt16]
	uint32Arrays = arrays[proto.ColUInt32, uint32, *proto.ColUInt32]
	uint64Arrays = arrays[proto.ColUInt64, uint64, *proto.ColUInt64]

	nullBools   = nullable[proto.ColBool, bool, *proto.ColBool]
	nullInt8s   = nullable[proto.ColInt8, int8, *proto.ColInt8]
	nullUint8s  = nullable[proto.ColUInt8, uint8, *proto.ColUInt8]
	nullUint16s = nullable[proto.ColUInt16, uint16, *proto.ColUInt16]
	nullUint32s = nullable[proto.ColUInt32, uint32, *proto.ColUInt32]
	// NullUint64s is a column of counts, NULL where one is not known.
	NullUint64s = nullable[proto.ColUInt64, uint64, *proto.ColUInt64]
	// NullInt64s is a column of times, NULL where one is not known.
	NullInt64s = nullable[proto.ColInt64, int64, *proto.ColInt64]
	nullIPv6s  = nullable[proto.ColIPv6, proto.IPv6, *proto.ColIPv6]
)

// names is a LowCardinality(String) column that is filled with codes.
type names struct {
	codes []uint8
	name  func(uint8) string
}

func (c *names) Append(code uint8) { c.codes = append(c.codes, code) }

func (c *names) pad(rows int) {
	for len(c.codes) < rows {
		c.codes = append(c.codes, 0)
	}
}
func (c *names) Rows() int { return len(c.codes) }
func (c *names) Reset()    { c.codes = c.codes[:0] }

func (c *names) AppendFrom(other column) {
	if o, ok := other.(*names); ok {
		c.codes = append(c.codes, o.codes...)
	}
}

// Input makes a dictionary of the names that occur; two codes of one name share their entry.
func (c *names) Input() proto.ColInput {
	var dictionary proto.ColStr
	var entries []string
	var keys [256]uint8
	var known [256]bool
	out := make(proto.ColUInt8, len(c.codes))
	for i, code := range c.codes {
		if !known[code] {
			name := c.name(code)
			key := slices.Index(entries, name)
			if key < 0 {
				key = len(entries)
				entries = append(entries, name)
				dictionary.Append(name)
			}
			known[code], keys[code] = true, uint8(key)
		}
		out[i] = keys[code]
	}
	return &proto.ColLowCardinalityRaw{Index: &dictionary, Key: proto.KeyUInt8, Keys8: out}
}

// macPresent marks a MAC address in a macs column; without it the value is empty.
const macPresent = 1 << 48

// macs is a LowCardinality(String) column of MAC addresses.
type macs struct{ data []uint64 }

func (c *macs) Append(present bool, mac [6]byte) {
	if !present {
		c.data = append(c.data, 0)
		return
	}
	c.data = append(c.data, macPresent|uint64(mac[0])<<40|uint64(mac[1])<<32|uint64(mac[2])<<24|
		uint64(mac[3])<<16|uint64(mac[4])<<8|uint64(mac[5]))
}

func (c *macs) Rows() int { return len(c.data) }
func (c *macs) Reset()    { c.data = c.data[:0] }

func (c *macs) AppendFrom(other column) {
	if o, ok := other.(*macs); ok {
		c.data = append(c.data, o.data...)
	}
}

func (c *macs) Input() proto.ColInput {
	var dictionary proto.ColStr
	keys := make(map[uint64]uint32)
	out := make(proto.ColUInt32, len(c.data))
	var last uint64
	var lastKey uint32
	for i, mac := range c.data {
		if i == 0 || mac != last {
			key, known := keys[mac]
			if !known {
				key = uint32(len(keys))
				keys[mac] = key
				dictionary.Append(macText(mac))
			}
			last, lastKey = mac, key
		}
		out[i] = lastKey
	}
	return &proto.ColLowCardinalityRaw{Index: &dictionary, Key: proto.KeyUInt32, Keys32: out}
}

func macText(mac uint64) string {
	if mac&macPresent == 0 {
		return ""
	}
	text := make([]byte, 0, 17)
	for shift := 40; shift >= 0; shift -= 8 {
		if shift < 40 {
			text = append(text, ':')
		}
		text = hex.AppendEncode(text, []byte{byte(mac >> shift)})
	}
	return string(text)
}

// arrays is a column of arrays of numbers.
type arrays[S ~[]E, E any, P interface {
	*S
	proto.ColumnOf[E]
}] struct {
	ends proto.ColUInt64
	data S
}

func (c *arrays[S, E, P]) Append(list []E) {
	c.data = append(c.data, list...)
	c.ends = append(c.ends, uint64(len(c.data)))
}

func (c *arrays[S, E, P]) Rows() int { return len(c.ends) }
func (c *arrays[S, E, P]) Reset()    { c.ends, c.data = c.ends[:0], c.data[:0] }

func (c *arrays[S, E, P]) pad(rows int) {
	for len(c.ends) < rows {
		c.Append(nil)
	}
}

func (c *arrays[S, E, P]) AppendFrom(other column) {
	if o, ok := other.(*arrays[S, E, P]); ok {
		start := uint64(len(c.data))
		c.data = append(c.data, o.data...)
		for _, end := range o.ends {
			c.ends = append(c.ends, start+end)
		}
	}
}

func (c *arrays[S, E, P]) Input() proto.ColInput {
	return &proto.ColArr[E]{Offsets: c.ends, Data: P(&c.data)}
}

// timeArrays is an Array(Nullable(DateTime64(9))) column.
type timeArrays struct {
	ends  proto.ColUInt64
	times NullInt64s
}

// Append adds an array of times in ns, those that are not known as NULL.
func (c *timeArrays) Append(list []flow.Count) {
	for _, t := range list {
		c.times.Append(t.Known, int64(t.N))
	}
	c.ends = append(c.ends, uint64(c.times.Rows()))
}

func (c *timeArrays) Rows() int { return len(c.ends) }

func (c *timeArrays) Reset() {
	c.ends = c.ends[:0]
	c.times.Reset()
}

func (c *timeArrays) AppendFrom(other column) {
	if o, ok := other.(*timeArrays); ok {
		start := uint64(c.times.Rows())
		c.times.AppendFrom(&o.times)
		for _, end := range o.ends {
			c.ends = append(c.ends, start+end)
		}
	}
}

func (c *timeArrays) Input() proto.ColInput {
	times := &proto.ColNullable[int64]{Nulls: c.times.nulls, Values: &c.times.data}
	return proto.Alias(&proto.ColArr[proto.Nullable[int64]]{Offsets: c.ends, Data: times}, "Array("+NullableTimeType+")")
}

// counters is a Map(LowCardinality(String), UInt64) column that is filled with codes.
type counters struct {
	ends   proto.ColUInt64
	codes  []uint8
	counts proto.ColUInt64
	name   func(uint8) string
}

// Append adds the entries that are not 0.
func (c *counters) Append(counts []uint64) {
	for code, n := range counts {
		if n != 0 {
			c.codes = append(c.codes, uint8(code))
			c.counts = append(c.counts, n)
		}
	}
	c.ends = append(c.ends, uint64(len(c.codes)))
}

func (c *counters) Rows() int { return len(c.ends) }
func (c *counters) Reset()    { c.ends, c.codes, c.counts = c.ends[:0], c.codes[:0], c.counts[:0] }

func (c *counters) AppendFrom(other column) {
	if o, ok := other.(*counters); ok {
		start := uint64(len(c.codes))
		c.codes = append(c.codes, o.codes...)
		c.counts = append(c.counts, o.counts...)
		for _, end := range o.ends {
			c.ends = append(c.ends, start+end)
		}
	}
}

func (c *counters) Input() proto.ColInput {
	keys := proto.NewLowCardinality(new(proto.ColStr))
	for _, code := range c.codes {
		keys.Append(c.name(code))
	}
	return &proto.ColMap[string, uint64]{Offsets: c.ends, Keys: keys, Values: &c.counts}
}
