package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/ch-go/proto"
	"github.com/google/uuid"
)

// wireBatch is a batch of an agent that came over the network, and was looked at value by value.
type wireBatch struct {
	id      uuid.UUID
	agent   uuid.UUID
	table   string
	at      time.Time // interval_end of all its rows
	rows    int
	names   []string
	kinds   []string
	columns []wireColumn
}

// agentTables are the columns, by their names, of the tables that agents may write.
type agentTables map[string]map[string]bool

// notForAgents are columns that an agent has no say in.
var notForAgents = map[string]bool{"batch": true, "arrived": true}

// newerError says that a batch is for what this database has not got. An agent of a later release may send such; its rows
// can wait.
type newerError struct{ table, column string }

func (e *newerError) Error() string {
	if e.column == "" {
		return fmt.Sprintf("there is no table %.60q that agents write: bring the service up to the release of the agent", e.table)
	}
	return fmt.Sprintf("the table %s has no column %.60q for agents: bring the service up to the release of the agent", e.table, e.column)
}

// readWireBatch takes a batch apart. Any bytes may be given.
func readWireBatch(id uuid.UUID, data []byte, tables agentTables) (*wireBatch, error) {
	b, err := decodeBatch(data)
	if err != nil {
		return nil, err
	}
	known := tables[b.table]
	if known == nil {
		return nil, &newerError{table: b.table}
	}
	out := &wireBatch{id: id, agent: b.agent, table: b.table, at: b.at, rows: b.rows}
	for i := range b.columns {
		raw := &b.columns[i]
		switch {
		case slices.Contains(out.names, raw.name):
			return nil, fmt.Errorf("%w: the column %.60q comes twice", errBatch, raw.name)
		case notForAgents[raw.name]:
			return nil, fmt.Errorf("%w: agents have no say in the column %s", errBatch, raw.name)
		case !known[raw.name]:
			return nil, &newerError{b.table, raw.name}
		}
		column, err := readWireColumn(raw)
		if err != nil {
			return nil, fmt.Errorf("the column %s: %w", raw.name, err)
		}
		out.names, out.kinds, out.columns = append(out.names, raw.name), append(out.kinds, string(raw.kind)), append(out.columns, column)
	}
	// By these a batch is found again.
	for name, value := range map[string][]byte{"agent_id": wireUUID(out.agent), timeColumn(out.table): binary.LittleEndian.AppendUint64(nil, uint64(out.at.UnixNano()))} {
		column, _ := out.column(name).(*fixedWire)
		if column == nil || len(column.data) != out.rows*len(value) || !bytes.Equal(column.data, bytes.Repeat(value, out.rows)) {
			return nil, fmt.Errorf("%w: the column %s is not what the batch says of itself", errBatch, name)
		}
	}
	return out, nil
}

// timeColumn is the column that the time of a batch stands in.
func timeColumn(table string) string {
	if table == agentsTable {
		return "heartbeat"
	}
	return "interval_end"
}

// wireUUID is a UUID as ClickHouse has it: two numbers of 64 bits, the lowest byte first.
func wireUUID(id uuid.UUID) []byte {
	out := bytes.Clone(id[:])
	slices.Reverse(out[:8])
	slices.Reverse(out[8:])
	return out
}

func readWireColumn(raw *rawColumn) (wireColumn, error) {
	column, err := newWireColumn(string(raw.kind), maxNesting)
	if err != nil {
		return nil, err
	}
	var state proto.Buffer
	column.state(&state)
	if !bytes.Equal(state.Buf, raw.prefix) {
		return nil, fmt.Errorf("%w: it begins as no column of its type does", errBatch)
	}
	r := batchReader{rest: raw.data}
	column.read(&r, raw.rows)
	if r.failed || len(r.rest) > 0 {
		return nil, fmt.Errorf("%w: it has not the values that it says", errBatch)
	}
	return column, nil
}

func (b *wireBatch) column(name string) wireColumn {
	if i := slices.Index(b.names, name); i >= 0 {
		return b.columns[i]
	}
	return nil
}

// shape is equal for batches that can be inserted as one block, which ClickHouse stores as a whole or not at all: same
// columns, same partition.
func (b *wireBatch) shape() string {
	day := ""
	if b.table != agentsTable {
		day = b.at.UTC().Format(time.DateOnly)
	}
	return b.table + "\n" + day + "\n" + strings.Join(b.names, "\n") + "\n" + strings.Join(b.kinds, "\n")
}

// wireBlock is the columns of batches of one shape, one after the other.
func wireBlock(batches []*wireBatch) proto.Input {
	rows := 0
	var ids proto.ColUUID
	for _, b := range batches {
		rows += b.rows
		for range b.rows {
			ids = append(ids, b.id)
		}
	}
	first := batches[0]
	input := make(proto.Input, 0, len(first.names)+1)
	for i, name := range first.names {
		column := first.columns[i]
		if len(batches) > 1 {
			// What the batches have stays as it is: the block may have to be made again of fewer.
			column, _ = newWireColumn(first.kinds[i], maxNesting) // it was made before
			for _, b := range batches {
				column.append(b.columns[i])
			}
		}
		input = append(input, proto.InputColumn{Name: name, Data: &wireInput{proto.ColumnType(first.kinds[i]), rows, column}})
	}
	return append(input, proto.InputColumn{Name: "batch", Data: &ids})
}
