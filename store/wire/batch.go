package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"regexp"
	"sync"
	"time"

	"github.com/ClickHouse/ch-go/proto"
	"github.com/google/uuid"
	"github.com/klauspost/compress/zstd"
)

// batchVersion is the first byte of a batch before it is compressed.
const batchVersion = 1

// maxBatchBytes is how long a batch may be once it is decompressed.
const maxBatchBytes = 1 << 30

// AgentTable is what the tables of agents are called, those of later releases included.
var AgentTable = regexp.MustCompile(`^(agents?|port)(_[a-z_]+)?$`)

var errBatch = errors.New("not a batch of an agent")

// zstdCoders are made when they are first needed, since a program that ships nothing pays for none.
var zstdCoders = sync.OnceValues(func() (*zstd.Encoder, *zstd.Decoder) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err) // the options are constants
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBatchBytes))
	if err != nil {
		panic(err)
	}
	return encoder, decoder
})

// Batch is rows of one table, column by column as ClickHouse takes them, so that they need not be understood again when
// they are sent: an agent ships what an older release has put into the spool.
type Batch struct {
	Table   string
	Agent   uuid.UUID
	At      time.Time // interval_end of all its rows
	Rows    int
	Columns []Column
}

// Column is a column in ClickHouse's native format.
type Column struct {
	Name   string
	kind   proto.ColumnType
	rows   int
	prefix []byte // what comes once before the data of some types
	data   []byte
}

var (
	_ proto.ColInput     = (*Column)(nil)
	_ proto.StateEncoder = (*Column)(nil)
)

// Type implements proto.ColInput.
func (c *Column) Type() proto.ColumnType { return c.kind }

// Rows implements proto.ColInput.
func (c *Column) Rows() int { return c.rows }

// EncodeState implements proto.StateEncoder.
func (c *Column) EncodeState(b *proto.Buffer) { b.PutRaw(c.prefix) }

// EncodeColumn implements proto.ColInput.
func (c *Column) EncodeColumn(b *proto.Buffer) { b.PutRaw(c.data) }

// WriteColumn implements proto.ColInput.
func (c *Column) WriteColumn(w *proto.Writer) { w.ChainWrite(c.data) }

// Encode makes a batch of columns, which all have as many rows as the first.
func Encode(table string, agent uuid.UUID, at time.Time, input proto.Input) []byte {
	b := []byte{batchVersion}
	b = appendBytes(b, []byte(table))
	b = append(b, agent[:]...)
	b = binary.LittleEndian.AppendUint64(b, uint64(at.UnixNano()))
	b = binary.AppendUvarint(b, uint64(input[0].Data.Rows()))
	b = binary.AppendUvarint(b, uint64(len(input)))
	var buffer proto.Buffer
	for _, c := range input {
		if preparable, ok := c.Data.(proto.Preparable); ok {
			if err := preparable.Prepare(); err != nil {
				panic(fmt.Sprintf("column %s: %v", c.Name, err)) // only dictionaries of impossible size fail
			}
		}
		b = appendBytes(b, []byte(c.Name))
		b = appendBytes(b, []byte(c.Data.Type()))
		buffer.Reset()
		if stateful, ok := c.Data.(proto.StateEncoder); ok {
			stateful.EncodeState(&buffer)
		}
		b = appendBytes(b, buffer.Buf)
		buffer.Reset()
		c.Data.EncodeColumn(&buffer)
		b = appendBytes(b, buffer.Buf)
	}
	encoder, _ := zstdCoders()
	return encoder.EncodeAll(b, nil)
}

func appendBytes(b, more []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(more))), more...)
}

// Decode reads what encodeBatch has made. Any bytes may be given.
func Decode(data []byte) (*Batch, error) {
	_, decoder := zstdCoders()
	plain, err := decoder.DecodeAll(data, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBatch, err)
	}
	r := batchReader{rest: plain}
	if version := r.take(1); r.failed || version[0] != batchVersion {
		return nil, fmt.Errorf("%w of a kind that is known", errBatch)
	}
	b := &Batch{Table: string(r.bytes())}
	copy(b.Agent[:], r.take(uint64(len(b.Agent))))
	if at := r.take(8); !r.failed {
		b.At = time.Unix(0, int64(binary.LittleEndian.Uint64(at)))
	}
	rows, columns := r.number(), r.number()
	if r.failed || rows == 0 || rows > math.MaxInt32 || columns > uint64(len(r.rest)) || !AgentTable.MatchString(b.Table) {
		return nil, errBatch
	}
	b.Rows = int(rows)
	for range columns {
		b.Columns = append(b.Columns, Column{
			Name: string(r.bytes()), kind: proto.ColumnType(r.bytes()), rows: b.Rows, prefix: r.bytes(), data: r.bytes(),
		})
	}
	if r.failed || len(r.rest) > 0 {
		return nil, errBatch
	}
	return b, nil
}

// Input is the batch as ch-go sends it, with what names it in the table.
func (b *Batch) Input(id uuid.UUID) proto.Input {
	input := make(proto.Input, 0, len(b.Columns)+1)
	for i := range b.Columns {
		input = append(input, proto.InputColumn{Name: b.Columns[i].Name, Data: &b.Columns[i]})
	}
	return append(input, proto.InputColumn{Name: "batch", Data: Constant[proto.ColUUID](b.Rows, id)})
}

// batchReader takes bytes one after the other. After a failure all it gives is empty.
type batchReader struct {
	rest   []byte
	failed bool
}

func (r *batchReader) take(n uint64) []byte {
	if r.failed || n > uint64(len(r.rest)) {
		r.failed = true
		return nil
	}
	out := r.rest[:n:n]
	r.rest = r.rest[n:]
	return out
}

func (r *batchReader) number() uint64 {
	n, size := binary.Uvarint(r.rest)
	if r.failed || size <= 0 {
		r.failed = true
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *batchReader) bytes() []byte { return r.take(r.number()) }
