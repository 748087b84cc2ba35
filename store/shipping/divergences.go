package shipping

import (
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/store/blocks"
	"github.com/rocelens/rocelens/store/wire"
)

// AgentDivergencesTable is where findings of replay go.
const AgentDivergencesTable = "agent_divergences"

// AgentDivergences collects what replay found on one interface in one interval.
type AgentDivergences struct {
	block *blocks.RecordBlock[finding.Finding]
}

// NewAgentDivergences makes an empty collection.
func NewAgentDivergences() *AgentDivergences { return &AgentDivergences{blocks.NewDivergenceBlock()} }

// Append adds a finding. It keeps nothing of f.
func (a *AgentDivergences) Append(f *finding.Finding) { a.block.Append(f) }

// Rows is how many are collected.
func (a *AgentDivergences) Rows() int { return a.block.Rows() }

// Batches hands over what was collected, and begins anew.
func (a *AgentDivergences) Batches(span AgentSpan) []AgentBatch {
	rows := a.block.Rows()
	if rows == 0 {
		return nil
	}
	full := a.block
	a.block = blocks.NewDivergenceBlock()
	return []AgentBatch{{
		Data: wire.Encode(AgentDivergencesTable, span.Agent, span.End, append(span.input(rows), full.Columns()...)),
		Rows: uint32(rows),
	}}
}
