package shipping

import (
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/store/blocks"
	"github.com/rocelens/rocelens/store/wire"
)

// PortCountersTable is where counters of ports go.
const PortCountersTable = "port_counters"

const counterSourceType = "Enum8('port' = 0, 'hardware' = 1, 'interface' = 2, 'driver' = 3, 'setting' = 4)"

// PortCounter is a counter or setting of a port; see the comments of the table port_counters.
type PortCounter struct {
	Source  uint8 // as the column source has it
	Device  string
	Port    uint32
	Name    string
	Value   flow.Count
	Delta   flow.Count
	Setting string
}

// PortCountersBatch is the counters of one interface at the end of an interval, nothing when there are none.
func PortCountersBatch(span AgentSpan, all []PortCounter) []AgentBatch {
	if len(all) == 0 {
		return nil
	}
	type row = PortCounter
	b := &blocks.RecordBlock[row]{}
	b.Enum("source", counterSourceType, func(r *row) int8 { return int8(r.Source) })
	b.Text("device", func(r *row) string { return r.Device })
	b.Uint32("port", func(r *row) uint32 { return r.Port })
	b.Text("name", func(r *row) string { return r.Name })
	b.Count("value", func(r *row) flow.Count { return r.Value })
	b.Count("delta", func(r *row) flow.Count { return r.Delta })
	b.Text("setting", func(r *row) string { return r.Setting })
	for i := range all {
		b.Append(&all[i])
	}
	return []AgentBatch{{
		Data: wire.Encode(PortCountersTable, span.Agent, span.End, append(span.input(b.Rows()), b.Columns()...)),
		Rows: uint32(b.Rows()), Beside: true,
	}}
}
