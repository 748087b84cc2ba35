package store

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

// agentTable is what the tables of agents are called, those of later releases included.
var agentTable = regexp.MustCompile(`^(agents?|port)(_[a-z_]+)?$`)

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

// batch is rows of one table, column by column as ClickHouse takes them, so that they need not be understood again when
// they are sent: an agent ships what an older release has put into the spool.
type batch struct {
	table   string
	agent   uuid.UUID
	at      time.Time // interval_end of all its rows
	rows    int
	columns []rawColumn
}

// rawColumn is a column in ClickHouse's native format.
type rawColumn struct {
	name   string
	kind   proto.ColumnType
	rows   int
	prefix []byte // what comes once before the data of some types
	data   []byte
}

var (
	_ proto.ColInput     = (*rawColumn)(nil)
	_ proto.StateEncoder = (*rawColumn)(nil)
)

func (c *rawColumn) Type() proto.ColumnType       { return c.kind }
func (c *rawColumn) Rows() int                    { return c.rows }
func (c *rawColumn) EncodeState(b *proto.Buffer)  { b.PutRaw(c.prefix) }
func (c *rawColumn) EncodeColumn(b *proto.Buffer) { b.PutRaw(c.data) }
func (c *rawColumn) WriteColumn(w *proto.Writer)  { w.ChainWrite(c.data) }

// encodeBatch makes a batch of columns, which all have as many rows as the first.
func encodeBatch(table string, agent uuid.UUID, at time.Time, input proto.Input) []byte {
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

// decodeBatch reads what encodeBatch has made. Any bytes may be given.
func decodeBatch(data []byte) (*batch, error) {
	_, decoder := zstdCoders()
	plain, err := decoder.DecodeAll(data, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBatch, err)
	}
	r := batchReader{rest: plain}
	if version := r.take(1); r.failed || version[0] != batchVersion {
		return nil, fmt.Errorf("%w of a kind that is known", errBatch)
	}
	b := &batch{table: string(r.bytes())}
	copy(b.agent[:], r.take(uint64(len(b.agent))))
	if at := r.take(8); !r.failed {
		b.at = time.Unix(0, int64(binary.LittleEndian.Uint64(at)))
	}
	rows, columns := r.number(), r.number()
	if r.failed || rows == 0 || rows > math.MaxInt32 || columns > uint64(len(r.rest)) || !agentTable.MatchString(b.table) {
		return nil, errBatch
	}
	b.rows = int(rows)
	for range columns {
		b.columns = append(b.columns, rawColumn{
			name: string(r.bytes()), kind: proto.ColumnType(r.bytes()), rows: b.rows, prefix: r.bytes(), data: r.bytes(),
		})
	}
	if r.failed || len(r.rest) > 0 {
		return nil, errBatch
	}
	return b, nil
}

// input is the batch as ch-go sends it, with what names it in the table.
func (b *batch) input(id uuid.UUID) proto.Input {
	input := make(proto.Input, 0, len(b.columns)+1)
	for i := range b.columns {
		input = append(input, proto.InputColumn{Name: b.columns[i].name, Data: &b.columns[i]})
	}
	return append(input, proto.InputColumn{Name: "batch", Data: constant[proto.ColUUID](b.rows, id)})
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
