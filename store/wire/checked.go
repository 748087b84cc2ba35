package wire

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

// Checked is a batch of an agent that came over the network, and was looked at value by value.
type Checked struct {
	ID      uuid.UUID
	agent   uuid.UUID
	Table   string
	At      time.Time // interval_end of all its rows
	Rows    int
	names   []string
	kinds   []string
	columns []wireColumn
}

// Tables are the columns, by their names, of the tables that agents may write.
type Tables map[string]map[string]bool

// NotForAgents are columns that an agent has no say in.
var NotForAgents = map[string]bool{"batch": true, "arrived": true}

// NewerError says that a batch is for what this database has not got. An agent of a later release may send such; its rows
// can wait.
type NewerError struct{ table, column string }

func (e *NewerError) Error() string {
	if e.column == "" {
		return fmt.Sprintf("there is no table %.60q that agents write: bring the service up to the release of the agent", e.table)
	}
	return fmt.Sprintf("the table %s has no column %.60q for agents: bring the service up to the release of the agent", e.table, e.column)
}

// Check takes a batch apart. Any bytes may be given.
func Check(id uuid.UUID, data []byte, tables Tables) (*Checked, error) {
	b, err := Decode(data)
	if err != nil {
		return nil, err
	}
	known := tables[b.Table]
	if known == nil {
		return nil, &NewerError{table: b.Table}
	}
	out := &Checked{ID: id, agent: b.Agent, Table: b.Table, At: b.At, Rows: b.Rows}
	for i := range b.Columns {
		raw := &b.Columns[i]
		switch {
		case slices.Contains(out.names, raw.Name):
			return nil, fmt.Errorf("%w: the column %.60q comes twice", errBatch, raw.Name)
		case NotForAgents[raw.Name]:
			return nil, fmt.Errorf("%w: agents have no say in the column %s", errBatch, raw.Name)
		case !known[raw.Name]:
			return nil, &NewerError{b.Table, raw.Name}
		}
		column, err := readWireColumn(raw)
		if err != nil {
			return nil, fmt.Errorf("the column %s: %w", raw.Name, err)
		}
		out.names, out.kinds, out.columns = append(out.names, raw.Name), append(out.kinds, string(raw.kind)), append(out.columns, column)
	}
	// By these a batch is found again.
	for name, value := range map[string][]byte{"agent_id": wireUUID(out.agent), timeColumn(out.Table): binary.LittleEndian.AppendUint64(nil, uint64(out.At.UnixNano()))} {
		column, _ := out.column(name).(*fixedWire)
		if column == nil || len(column.data) != out.Rows*len(value) || !bytes.Equal(column.data, bytes.Repeat(value, out.Rows)) {
			return nil, fmt.Errorf("%w: the column %s is not what the batch says of itself", errBatch, name)
		}
	}
	return out, nil
}

// timeColumn is the column that the time of a batch stands in.
func timeColumn(table string) string {
	if table == AgentsTable {
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

func readWireColumn(raw *Column) (wireColumn, error) {
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

func (b *Checked) column(name string) wireColumn {
	if i := slices.Index(b.names, name); i >= 0 {
		return b.columns[i]
	}
	return nil
}

// Shape is equal for batches that can be inserted as one block, which ClickHouse stores as a whole or not at all: same
// columns, same partition.
func (b *Checked) Shape() string {
	day := ""
	if b.Table != AgentsTable {
		day = b.At.UTC().Format(time.DateOnly)
	}
	return b.Table + "\n" + day + "\n" + strings.Join(b.names, "\n") + "\n" + strings.Join(b.kinds, "\n")
}

// Join is the columns of batches of one shape, one after the other.
func Join(batches []*Checked) proto.Input {
	rows := 0
	var ids proto.ColUUID
	for _, b := range batches {
		rows += b.Rows
		for range b.Rows {
			ids = append(ids, b.ID)
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
