package store

import "github.com/rocelens/rocelens/replay/finding"

const agentDivergencesTable = "agent_divergences"

// AgentDivergences collects what replay found on one interface in one interval.
type AgentDivergences struct{ block *recordBlock[finding.Finding] }

// NewAgentDivergences makes an empty collection.
func NewAgentDivergences() *AgentDivergences { return &AgentDivergences{newDivergenceBlock()} }

// Append adds a finding. It keeps nothing of f.
func (a *AgentDivergences) Append(f *finding.Finding) { a.block.append(f) }

// Rows is how many are collected.
func (a *AgentDivergences) Rows() int { return a.block.rows() }

// Batches hands over what was collected, and begins anew.
func (a *AgentDivergences) Batches(span AgentSpan) []AgentBatch {
	rows := a.block.rows()
	if rows == 0 {
		return nil
	}
	full := a.block
	a.block = newDivergenceBlock()
	return []AgentBatch{{
		Data: encodeBatch(agentDivergencesTable, span.Agent, span.End, append(span.input(rows), full.columns()...)),
		Rows: uint32(rows),
	}}
}
