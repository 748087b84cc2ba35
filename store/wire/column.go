package wire

import (
	"encoding/binary"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/ClickHouse/ch-go/proto"
)

// wireColumn is a column in ClickHouse's native format of which every value was looked at. Bytes from outside must not be
// handed to the database as they are: what is left behind a column's last value would be read as what comes next, in the end as
// another statement.
type wireColumn interface {
	// read takes so many rows. The reader fails when they are not there, or one of them is not of the column's type.
	read(r *batchReader, rows int)
	// Append adds the rows of a column of the same type.
	append(other wireColumn)
	state(b *proto.Buffer)
	encode(b *proto.Buffer)
}

// wireInput is a column as ch-go sends it.
type wireInput struct {
	kind   proto.ColumnType
	rows   int
	column wireColumn
}

var (
	_ proto.ColInput     = (*wireInput)(nil)
	_ proto.StateEncoder = (*wireInput)(nil)
)

func (c *wireInput) Type() proto.ColumnType       { return c.kind }
func (c *wireInput) Rows() int                    { return c.rows }
func (c *wireInput) EncodeState(b *proto.Buffer)  { c.column.state(b) }
func (c *wireInput) EncodeColumn(b *proto.Buffer) { c.column.encode(b) }
func (c *wireInput) WriteColumn(w *proto.Writer)  { w.ChainBuffer(c.column.encode) }

// widths are the bytes of a value by the name of its type.
var widths = map[string]int{
	"UInt8": 1, "UInt16": 2, "UInt32": 4, "UInt64": 8, "Int8": 1, "Int16": 2, "Int32": 4, "Int64": 8, "Float32": 4, "Float64": 8,
	"UUID": 16, "IPv4": 4, "IPv6": 16, "Bool": 1, "DateTime64(9, 'UTC')": 8,
}

// maxNesting is how deep types may stand in each other.
const maxNesting = 4

// newWireColumn makes an empty column of a type.
func newWireColumn(kind string, nesting int) (wireColumn, error) {
	if width, known := widths[kind]; known {
		c := &fixedWire{width: width}
		if kind == "Bool" {
			c.allowed = &[256]bool{0: true, 1: true}
		}
		return c, nil
	}
	name, inner, nested := strings.Cut(strings.TrimSuffix(kind, ")"), "(")
	if !nested || !strings.HasSuffix(kind, ")") || nesting == 0 {
		if kind == "String" {
			return &textWire{}, nil
		}
		return nil, fmt.Errorf("%w: the type %.60q is not taken", errBatch, kind)
	}
	switch name {
	case "Enum8":
		allowed, err := enumValues(inner)
		return &fixedWire{width: 1, allowed: allowed}, err
	case "LowCardinality":
		if inner == "String" {
			return &lowWire{}, nil
		}
	case "Nullable":
		values, err := newWireColumn(inner, nesting-1)
		if _, fixed := values.(*fixedWire); err == nil && fixed || inner == "String" {
			return &nullableWire{nulls: fixedWire{width: 1, allowed: &[256]bool{0: true, 1: true}}, values: values}, err
		}
	case "Array":
		values, err := newWireColumn(inner, nesting-1)
		return &arrayWire{values: []wireColumn{values}}, err
	case "Map":
		if key, value, two := strings.Cut(inner, ", "); two {
			keys, err := newWireColumn(key, nesting-1)
			if err != nil {
				return nil, err
			}
			values, err := newWireColumn(value, nesting-1)
			return &arrayWire{values: []wireColumn{keys, values}}, err
		}
	}
	return nil, fmt.Errorf("%w: the type %.60q is not taken", errBatch, kind)
}

var enumEntry = regexp.MustCompile(`^'(?:[^'\\]|\\.)*' = (-?\d{1,3})(?:, |$)`)

// enumValues reads the values of an Enum8.
func enumValues(text string) (*[256]bool, error) {
	var allowed [256]bool
	for text != "" {
		entry := enumEntry.FindStringSubmatch(text)
		if entry == nil {
			return nil, fmt.Errorf("%w: an Enum8 cannot be read", errBatch)
		}
		value, err := strconv.ParseInt(entry[1], 10, 8)
		if err != nil {
			return nil, fmt.Errorf("%w: an Enum8 cannot be read", errBatch)
		}
		allowed[uint8(value)] = true
		text = text[len(entry[0]):]
	}
	return &allowed, nil
}

// fixedWire is values of the same width.
type fixedWire struct {
	width   int
	data    []byte
	allowed *[256]bool // values of one byte; nil: all
}

func (c *fixedWire) read(r *batchReader, rows int) {
	c.data = r.take(uint64(rows) * uint64(c.width))
	if c.allowed == nil {
		return
	}
	for _, value := range c.data {
		r.failed = r.failed || !c.allowed[value]
	}
}

func (c *fixedWire) append(other wireColumn) {
	if o, ok := other.(*fixedWire); ok {
		c.data = append(c.data, o.data...)
	}
}
func (*fixedWire) state(*proto.Buffer)      {}
func (c *fixedWire) encode(b *proto.Buffer) { b.PutRaw(c.data) }

// textWire is strings, each behind its length.
type textWire struct{ data []byte }

func (c *textWire) read(r *batchReader, rows int) {
	from := r.rest
	for range rows {
		r.bytes()
	}
	if !r.failed {
		c.data = from[: len(from)-len(r.rest) : len(from)-len(r.rest)]
	}
}

func (c *textWire) append(other wireColumn) {
	if o, ok := other.(*textWire); ok {
		c.data = append(c.data, o.data...)
	}
}
func (*textWire) state(*proto.Buffer)      {}
func (c *textWire) encode(b *proto.Buffer) { b.PutRaw(c.data) }

// nullableWire is which values are NULL, then all of them.
type nullableWire struct {
	nulls  fixedWire
	values wireColumn
}

func (c *nullableWire) read(r *batchReader, rows int) {
	c.nulls.read(r, rows)
	fixed, ok := c.values.(*fixedWire)
	if !ok || fixed.allowed == nil {
		c.values.read(r, rows)
		return
	}
	// What stands in the place of a NULL is of no meaning.
	fixed.data = r.take(uint64(rows))
	for i, value := range fixed.data {
		r.failed = r.failed || c.nulls.data[i] == 0 && !fixed.allowed[value]
	}
}

func (c *nullableWire) append(other wireColumn) {
	if o, ok := other.(*nullableWire); ok {
		c.nulls.append(&o.nulls)
		c.values.append(o.values)
	}
}
func (c *nullableWire) state(b *proto.Buffer) { c.values.state(b) }
func (c *nullableWire) encode(b *proto.Buffer) {
	c.nulls.encode(b)
	c.values.encode(b)
}

// arrayWire is where each row's values end, then all of them: one column of an Array, keys and values of a Map.
type arrayWire struct {
	ends   []uint64
	values []wireColumn
}

func (c *arrayWire) read(r *batchReader, rows int) {
	raw := r.take(uint64(rows) * 8)
	c.ends = make([]uint64, 0, len(raw)/8)
	last := uint64(0)
	for ; len(raw) > 0; raw = raw[8:] {
		end := binary.LittleEndian.Uint64(raw)
		if end < last {
			r.failed = true
			return
		}
		c.ends, last = append(c.ends, end), end
	}
	if last > uint64(len(r.rest)) { // no value is less than a byte
		r.failed = true
		return
	}
	for _, values := range c.values {
		values.read(r, int(last))
	}
}

func (c *arrayWire) append(other wireColumn) {
	o, ok := other.(*arrayWire)
	if !ok {
		return
	}
	before := uint64(0)
	if len(c.ends) > 0 {
		before = c.ends[len(c.ends)-1]
	}
	for _, end := range o.ends {
		c.ends = append(c.ends, before+end)
	}
	for i := range c.values {
		c.values[i].append(o.values[i])
	}
}

func (c *arrayWire) state(b *proto.Buffer) {
	for _, values := range c.values {
		values.state(b)
	}
}

func (c *arrayWire) encode(b *proto.Buffer) {
	for _, end := range c.ends {
		b.PutUInt64(end)
	}
	for _, values := range c.values {
		values.encode(b)
	}
}

// The form of a LowCardinality(String) column; src/DataTypes/Serializations/SerializationLowCardinality.cpp.
const (
	lowVersion  = 1
	lowOwnKeys  = 1<<9 | 1<<10 // the block has all of its dictionary
	lowKeyWidth = 0xff
)

// lowWire is keys into a dictionary of strings.
type lowWire struct {
	words []string
	index map[string]uint32 // once rows were appended
	keys  []uint32
}

func (c *lowWire) read(r *batchReader, rows int) {
	if rows == 0 {
		return
	}
	meta := r.uint64()
	width := meta & lowKeyWidth
	words := r.uint64()
	if meta&^lowKeyWidth != lowOwnKeys || width > 2 || words > uint64(len(r.rest)) {
		r.failed = true
		return
	}
	c.words = make([]string, 0, words)
	for range words {
		c.words = append(c.words, string(r.bytes()))
	}
	if r.uint64() != uint64(rows) {
		r.failed = true
		return
	}
	size := 1 << width
	raw := r.take(uint64(rows) * uint64(size))
	c.keys = make([]uint32, 0, len(raw)/size)
	for ; len(raw) > 0; raw = raw[size:] {
		var key uint32
		for i := range size {
			key |= uint32(raw[i]) << (8 * i)
		}
		r.failed = r.failed || uint64(key) >= words
		c.keys = append(c.keys, key)
	}
}

func (c *lowWire) append(other wireColumn) {
	o, ok := other.(*lowWire)
	if !ok {
		return
	}
	if c.index == nil {
		c.index = make(map[string]uint32, len(c.words))
		for key, word := range c.words {
			c.index[word] = uint32(key)
		}
	}
	moved := make([]uint32, len(o.words))
	for i, word := range o.words {
		key, known := c.index[word]
		if !known {
			key = uint32(len(c.words))
			c.index[word] = key
			c.words = append(c.words, word)
		}
		moved[i] = key
	}
	for _, key := range o.keys {
		c.keys = append(c.keys, moved[key])
	}
}

func (*lowWire) state(b *proto.Buffer) { b.PutUInt64(lowVersion) }

func (c *lowWire) encode(b *proto.Buffer) {
	if len(c.keys) == 0 {
		return
	}
	width := 0
	if len(c.words) > math.MaxUint16+1 {
		width = 2
	} else if len(c.words) > math.MaxUint8+1 {
		width = 1
	}
	b.PutUInt64(lowOwnKeys | uint64(width))
	b.PutUInt64(uint64(len(c.words)))
	for _, word := range c.words {
		b.PutString(word)
	}
	b.PutUInt64(uint64(len(c.keys)))
	for _, key := range c.keys {
		for i := range 1 << width {
			b.PutByte(byte(key >> (8 * i)))
		}
	}
}

func (r *batchReader) uint64() uint64 {
	if raw := r.take(8); !r.failed {
		return binary.LittleEndian.Uint64(raw)
	}
	return 0
}
