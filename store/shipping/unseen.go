package shipping

import (
	"github.com/ClickHouse/ch-go/proto"

	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/store/wire"
)

// unseenColumns are NULL in rows of which nobody found out so much. What else can be unknown is NULL in the tables of captures,
// too.
var unseenColumns = map[string]map[string]flow.Unseen{
	wire.AgentFlowsTable: {
		"first_number": flow.UnseenPackets, "last_number": flow.UnseenPackets, "mirror_copies": flow.UnseenPackets,
		"connection_requests": flow.UnseenPackets, "streams_seen": flow.UnseenPackets, "untracked_stream_packets": flow.UnseenPackets,
		"rate_hint_unlimited": flow.UnseenPackets,
	},
	wire.AgentPathsTable: {
		"first_number": flow.UnseenPackets, "last_number": flow.UnseenPackets, "source_ports.first_number": flow.UnseenPackets,
		"retransmitted_seen": flow.UnseenPackets, "retransmitted_moved": flow.UnseenPackets, "out_of_order": flow.UnseenPackets,
		"naks": flow.UnseenPackets, "rate_hint_unlimited": flow.UnseenPackets,
		"psn_gaps": flow.UnseenSequence, "missing_psns": flow.UnseenSequence, "duplicates": flow.UnseenDuplicates,
		"plane_changes": flow.UnseenChanges, "re_paths": flow.UnseenChanges, "state": flow.UnseenState,
	},
}

// masked makes NULL of what is unseen in the rows of a table. Columns of which all is known stay as they are.
func masked(table string, input proto.Input, unseen []flow.Unseen) proto.Input {
	for i := range input {
		mask := unseenColumns[table][input[i].Name]
		nulls := make(proto.ColUInt8, len(unseen))
		some := false
		for row, u := range unseen {
			if u&mask != 0 {
				nulls[row], some = 1, true
			}
		}
		if some {
			input[i].Data = maskedColumn(input[i].Data, nulls)
		}
	}
	return input
}

func maskedColumn(data proto.ColInput, nulls proto.ColUInt8) proto.ColInput {
	switch c := data.(type) {
	case *proto.ColNullable[uint64]:
		for row, null := range c.Nulls {
			nulls[row] |= null
		}
		return &proto.ColNullable[uint64]{Nulls: nulls, Values: c.Values}
	case *proto.ColArr[uint64]:
		var each proto.ColUInt8
		for row, end := range c.Offsets {
			for uint64(len(each)) < end {
				each = append(each, nulls[row])
			}
		}
		return &proto.ColArr[proto.Nullable[uint64]]{Offsets: c.Offsets, Data: &proto.ColNullable[uint64]{Nulls: each, Values: c.Data}}
	}
	return nullableColumn{data, nulls}
}

// nullableColumn is a column without NULLs that is given some.
type nullableColumn struct {
	proto.ColInput
	nulls proto.ColUInt8
}

func (c nullableColumn) Type() proto.ColumnType { return "Nullable(" + c.ColInput.Type() + ")" }

func (c nullableColumn) EncodeColumn(b *proto.Buffer) {
	c.nulls.EncodeColumn(b)
	c.ColInput.EncodeColumn(b)
}

func (c nullableColumn) WriteColumn(w *proto.Writer) {
	c.nulls.WriteColumn(w)
	c.ColInput.WriteColumn(w)
}
