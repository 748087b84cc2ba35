package wire

// Tables that agents write.
const (
	AgentsTable         = "agents"
	AgentIntervalsTable = "agent_intervals"
	AgentFlowsTable     = "agent_flows"
	AgentPathsTable     = "agent_paths"
)
