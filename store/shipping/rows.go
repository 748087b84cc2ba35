package shipping

import (
	"strings"
	"time"

	"github.com/ClickHouse/ch-go/proto"
	"github.com/google/uuid"

	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/store/blocks"
	"github.com/rocelens/rocelens/store/wire"
)

// AgentSpan is what the rows of one interval of one interface have in common.
type AgentSpan struct {
	Agent     uuid.UUID
	Host      string
	Interface string
	Start     time.Time
	End       time.Time
	Missed    uint64 // packets that the capture lost in the interval
}

// Input is the columns of the span, with the same value in each of so many rows.
func (s *AgentSpan) input(rows int) proto.Input {
	return proto.Input{
		{Name: "agent_id", Data: wire.Constant[proto.ColUUID](rows, s.Agent)},
		{Name: "host", Data: wire.ConstantName(rows, s.Host)},
		{Name: "interface", Data: wire.ConstantName(rows, s.Interface)},
		{Name: "interval_start", Data: wire.ConstantTime(rows, s.Start)},
		{Name: "interval_end", Data: wire.ConstantTime(rows, s.End)},
		{Name: "missed", Data: wire.Constant[proto.ColUInt64](rows, s.Missed)},
	}
}

// AgentBatch is rows of one table as they are put into a spool. All of them arrive, or none.
type AgentBatch struct {
	Data    []byte
	Rows    uint32
	Packets uint64 // that the rows count
	Beside  bool   // the account of the interval leaves the rows out
}

// maxAgentRows is how many rows a batch has at most: they are one block, which ClickHouse stores as a whole.
const maxAgentRows = 100_000

// AgentFlows collects the flows, and paths, of one interval of one interface.
type AgentFlows struct {
	flows       *blocks.FlowBlock
	paths       *blocks.RecordBlock[blocks.PathRow]
	packets     uint64 // of the rows at hand
	flowsUnseen []flow.Unseen
	pathsUnseen []flow.Unseen
	full        []fullBlock
}

// fullBlock is rows that have become enough for a batch before the end of the interval.
type fullBlock struct {
	table   string
	block   *blocks.Block
	packets uint64
	unseen  []flow.Unseen // of each row
}

// NewAgentFlows makes an empty collection.
func NewAgentFlows() *AgentFlows {
	return &AgentFlows{flows: blocks.NewFlowBlock(), paths: blocks.NewPathBlock()}
}

// Append adds a flow and its paths. It keeps nothing of r.
func (a *AgentFlows) Append(r *flow.Record) {
	a.flows.Append(r)
	a.flowsUnseen = append(a.flowsUnseen, r.Unseen)
	a.packets += r.Packets
	if r.MetaRoCE != nil {
		for i := range r.MetaRoCE.Paths {
			a.paths.Append(&blocks.PathRow{Flow: r, PathRecord: &r.MetaRoCE.Paths[i]})
			a.pathsUnseen = append(a.pathsUnseen, r.MetaRoCE.Paths[i].Unseen)
		}
	}
	if a.flows.Rows() >= maxAgentRows || a.paths.Rows() >= maxAgentRows {
		a.finish()
	}
}

func (a *AgentFlows) finish() {
	if a.flows.Rows() > 0 {
		a.full = append(a.full, fullBlock{wire.AgentFlowsTable, &a.flows.Block, a.packets, a.flowsUnseen})
		a.flows, a.packets, a.flowsUnseen = blocks.NewFlowBlock(), 0, nil
	}
	if a.paths.Rows() > 0 {
		a.full = append(a.full, fullBlock{wire.AgentPathsTable, &a.paths.Block, 0, a.pathsUnseen})
		a.paths, a.pathsUnseen = blocks.NewPathBlock(), nil
	}
}

// Batches hands over what was collected, and begins anew. The packets of paths are those of their flows, and not
// counted again.
func (a *AgentFlows) Batches(span AgentSpan) []AgentBatch {
	a.finish()
	batches := make([]AgentBatch, 0, len(a.full))
	for _, f := range a.full {
		rows := f.block.Rows()
		batches = append(batches, AgentBatch{
			Data:    wire.Encode(f.table, span.Agent, span.End, append(span.input(rows), differences(masked(f.table, f.block.Columns(), f.unseen))...)),
			Rows:    uint32(rows),
			Packets: f.packets,
		})
	}
	a.full = nil
	return batches
}

// SignedColumns are counts that an interval may take back; see flow.Tracker.Cut.
var SignedColumns = map[string]bool{
	"missing_psns": true, "missing_acknowledged": true, "retransmitted": true, "retransmitted_after_nak": true,
	"retransmitted_after_rnr": true, "retransmitted_after_timeout": true, "out_of_order": true,
}

// differences says that counts which may be negative are signed. Their bits are that already.
func differences(input proto.Input) proto.Input {
	for i := range input {
		if data := input[i].Data; SignedColumns[input[i].Name] {
			input[i].Data = signedColumn{data, proto.ColumnType(strings.ReplaceAll(string(data.Type()), "UInt64", "Int64"))}
		}
	}
	return input
}

type signedColumn struct {
	proto.ColInput
	kind proto.ColumnType
}

func (c signedColumn) Type() proto.ColumnType { return c.kind }

// AgentInterval is the account of one interval of one interface; see the comments of the table agent_intervals.
type AgentInterval struct {
	AgentSpan
	Run              uuid.UUID
	Tier             string
	Up               bool
	InterfacePackets flow.Count
	InterfaceDropped flow.Count
	SourceIn         uint64
	SourceOut        uint64
	SourceHeld       uint64
	DecodeOut        uint64
	TrackOut         uint64
	SpoolOut         uint64
	Drops            map[string]uint64 // by stage and reason
	Bytes            uint64
	RDMABytes        uint64
	FlowRows         uint64
	PathRows         uint64
	SpooledRows      uint64
	Judged           flow.Count // by replay; unknown when it is off
	Divergences      uint64
	DivergenceRows   uint64
}

// Batch is the row for the spool.
func (i *AgentInterval) Batch() AgentBatch {
	input := append(i.input(1),
		proto.InputColumn{Name: "run", Data: wire.Constant[proto.ColUUID](1, i.Run)},
		proto.InputColumn{Name: "tier", Data: wire.ConstantName(1, i.Tier)},
		proto.InputColumn{Name: "up", Data: wire.Constant[proto.ColUInt8](1, flag(i.Up))},
		proto.InputColumn{Name: "interface_packets", Data: optional(i.InterfacePackets)},
		proto.InputColumn{Name: "interface_dropped", Data: optional(i.InterfaceDropped)},
		proto.InputColumn{Name: "drops", Data: counts(i.Drops)},
		proto.InputColumn{Name: "judged", Data: optional(i.Judged)},
	)
	input = append(input, numbers([]number{
		{"source_in", i.SourceIn},
		{"source_out", i.SourceOut},
		{"source_held", i.SourceHeld},
		{"decode_out", i.DecodeOut},
		{"track_out", i.TrackOut},
		{"spool_out", i.SpoolOut},
		{"bytes", i.Bytes},
		{"rdma_bytes", i.RDMABytes},
		{"flow_rows", i.FlowRows},
		{"path_rows", i.PathRows},
		{"spooled_rows", i.SpooledRows},
		{"divergences", i.Divergences},
		{"divergence_rows", i.DivergenceRows},
	})...)
	return AgentBatch{Data: wire.Encode(wire.AgentIntervalsTable, i.Agent, i.End, input), Rows: 1}
}

// AgentHeartbeat is what an agent says of itself; see the comments of the table agents.
type AgentHeartbeat struct {
	Agent        uuid.UUID
	Time         time.Time
	Run          uuid.UUID
	Started      time.Time
	Host         string
	Version      string
	Kernel       string
	Architecture string
	Interval     time.Duration
	Interfaces   []AgentInterface
	Problem      string

	PacketsPerSecond, RDMAPacketsPerSecond, BitsPerSecond float64
	Drops                                                 map[string]uint64

	SpoolRows, SpoolBatches, SpoolBytes, SpoolLimit uint64
	SpoolTornBytes, SpoolDamaged                    uint64
	Lag                                             time.Duration
	ShippedRows, RefusedRows, Failures              uint64

	// Of the flight recorder.
	Triggers                    uint64
	LastTrigger                 time.Time // zero: none
	LastTriggerEvent            string
	RecordsWaiting, RecordsLost uint64
}

// AgentInterface is an interface that an agent watches.
type AgentInterface struct {
	Name     string
	Tier     string
	Up       bool
	RDMA     string // port behind it, or that there is none
	Bypassed bool   // a NIC moves packets past the kernel
}

// Batch is the row for the spool.
func (h *AgentHeartbeat) Batch() AgentBatch {
	var names, tiers, rdma []string
	var up, bypassed []uint8
	for _, i := range h.Interfaces {
		names, tiers, up = append(names, i.Name), append(tiers, i.Tier), append(up, flag(i.Up))
		rdma, bypassed = append(rdma, i.RDMA), append(bypassed, flag(i.Bypassed))
	}
	var problem, event proto.ColStr
	problem.Append(h.Problem)
	event.Append(h.LastTriggerEvent)
	last := blocks.NullInt64s{Declared: blocks.NullableTimeType}
	last.Append(!h.LastTrigger.IsZero(), h.LastTrigger.UnixNano())
	input := proto.Input{
		{Name: "agent_id", Data: wire.Constant[proto.ColUUID](1, h.Agent)},
		{Name: "heartbeat", Data: wire.ConstantTime(1, h.Time)},
		{Name: "run", Data: wire.Constant[proto.ColUUID](1, h.Run)},
		{Name: "started", Data: wire.ConstantTime(1, h.Started)},
		{Name: "host", Data: wire.ConstantName(1, h.Host)},
		{Name: "version", Data: wire.ConstantName(1, h.Version)},
		{Name: "kernel", Data: wire.ConstantName(1, h.Kernel)},
		{Name: "architecture", Data: wire.ConstantName(1, h.Architecture)},
		{Name: "interfaces", Data: textArray(names)},
		{Name: "tiers", Data: textArray(tiers)},
		{Name: "up", Data: arrayOf[uint8](new(proto.ColUInt8), up)},
		{Name: "rdma", Data: textArray(rdma)},
		{Name: "bypassed", Data: arrayOf[uint8](new(proto.ColUInt8), bypassed)},
		{Name: "problem", Data: &problem},
		{Name: "packets_per_second", Data: wire.Constant[proto.ColFloat64](1, h.PacketsPerSecond)},
		{Name: "rdma_packets_per_second", Data: wire.Constant[proto.ColFloat64](1, h.RDMAPacketsPerSecond)},
		{Name: "bits_per_second", Data: wire.Constant[proto.ColFloat64](1, h.BitsPerSecond)},
		{Name: "drops", Data: counts(h.Drops)},
		{Name: "last_trigger", Data: last.Input()},
		{Name: "last_trigger_event", Data: &event},
	}
	input = append(input, numbers([]number{
		{"interval_ns", uint64(h.Interval)},
		{"spool_rows", h.SpoolRows},
		{"spool_batches", h.SpoolBatches},
		{"spool_bytes", h.SpoolBytes},
		{"spool_limit", h.SpoolLimit},
		{"spool_torn_bytes", h.SpoolTornBytes},
		{"spool_damaged", h.SpoolDamaged},
		{"lag_ns", uint64(h.Lag)},
		{"shipped_rows", h.ShippedRows},
		{"refused_rows", h.RefusedRows},
		{"failures", h.Failures},
		{"triggers", h.Triggers},
		{"records_waiting", h.RecordsWaiting},
		{"records_lost", h.RecordsLost},
	})...)
	return AgentBatch{Data: wire.Encode(wire.AgentsTable, h.Agent, h.Time, input), Rows: 1}
}

func flag(set bool) uint8 {
	if set {
		return 1
	}
	return 0
}

// number is a column of one row.
type number struct {
	name  string
	value uint64
}

func numbers(all []number) proto.Input {
	input := make(proto.Input, 0, len(all))
	for _, n := range all {
		input = append(input, proto.InputColumn{Name: n.name, Data: wire.Constant[proto.ColUInt64](1, n.value)})
	}
	return input
}

func optional(c flow.Count) proto.ColInput {
	var column blocks.NullUint64s
	column.Append(c.Known, c.N)
	return column.Input()
}

func arrayOf[E any](data proto.ColumnOf[E], values []E) proto.ColInput {
	data.AppendArr(values)
	return &proto.ColArr[E]{Offsets: proto.ColUInt64{uint64(len(values))}, Data: data}
}

func textArray(values []string) proto.ColInput { return arrayOf[string](new(proto.ColStr), values) }

// counts is a Map(LowCardinality(String), UInt64) column of one row.
func counts(all map[string]uint64) proto.ColInput {
	column := proto.NewMap(proto.NewLowCardinality(new(proto.ColStr)), new(proto.ColUInt64))
	column.Append(all)
	return column
}
