package shipping

import (
	"time"

	"github.com/ClickHouse/ch-go/proto"
	"github.com/google/uuid"

	"github.com/rocelens/rocelens/store/wire"
)

// AgentTriggersTable is where events go that a flight recorder was triggered by.
const AgentTriggersTable = "agent_triggers"

const fateType = "Enum8('recording' = 0, 'not recorded' = 1, 'recorded' = 2, 'uploaded' = 3, 'lost' = 4)"

// AgentTrigger is what has become of an event that a flight recorder was triggered by; see the comments of the table
// agent_triggers.
type AgentTrigger struct {
	Event      uuid.UUID
	Time       time.Time // of the event
	Kind       string
	Rule       string // of replay, or empty
	Connection uint64 // 0: of none
	Sentence   string
	Fate       int8 // as fateType counts
	Why        string
	Record     string
	Packets    uint64
	Capture    uuid.UUID // zero: none
}

// Batch is the row for the spool. The span begins with the event, and ends when that became of it.
func (t *AgentTrigger) Batch(span AgentSpan) AgentBatch {
	text := func(s string) proto.ColInput {
		var column proto.ColStr
		column.Append(s)
		return &column
	}
	capture := new(proto.ColUUID).Nullable()
	if t.Capture == (uuid.UUID{}) {
		capture.Append(proto.Null[uuid.UUID]())
	} else {
		capture.Append(proto.NewNullable(t.Capture))
	}
	input := append(span.input(1),
		proto.InputColumn{Name: "event_id", Data: wire.Constant[proto.ColUUID](1, t.Event)},
		proto.InputColumn{Name: "time", Data: wire.ConstantTime(1, t.Time)},
		proto.InputColumn{Name: "kind", Data: wire.ConstantName(1, t.Kind)},
		proto.InputColumn{Name: "rule", Data: wire.ConstantName(1, t.Rule)},
		proto.InputColumn{Name: "connection_id", Data: wire.Constant[proto.ColUInt64](1, t.Connection)},
		proto.InputColumn{Name: "sentence", Data: text(t.Sentence)},
		proto.InputColumn{Name: "fate", Data: proto.Alias(wire.Constant[proto.ColInt8](1, t.Fate), fateType)},
		proto.InputColumn{Name: "why", Data: text(t.Why)},
		proto.InputColumn{Name: "record", Data: text(t.Record)},
		proto.InputColumn{Name: "packets", Data: wire.Constant[proto.ColUInt64](1, t.Packets)},
		proto.InputColumn{Name: "capture_id", Data: capture},
	)
	return AgentBatch{Data: wire.Encode(AgentTriggersTable, span.Agent, span.End, input), Rows: 1}
}
