package server

import (
	"context"

	"github.com/google/uuid"

	"github.com/rocelens/rocelens/server/api"
)

// Agents reads what agents have reported. An agent that never did is ErrNotFound.
type Agents interface {
	ListAgents(ctx context.Context, params api.ListAgentsParams) (api.AgentList, error)
	Agent(ctx context.Context, id uuid.UUID, intervals int) (api.AgentDetail, error)
	AgentFlows(ctx context.Context, id uuid.UUID, params api.ListAgentFlowsParams) (api.AgentFlowList, error)
	// News reads what is new of all agents.
	News(ctx context.Context, query NewsQuery) (News, error)
}

// NewsQuery asks what is new of all agents.
type NewsQuery struct {
	Agents   []uuid.UUID // that are watched one by one
	Together bool        // all are watched together
}

// News is what agents have reported of late.
type News struct {
	Agents   []api.Agent
	Accounts []api.AgentAccount            // of the agents that are watched one by one: the latest of each interface, in the order of their ends
	Newest   []api.AgentAccount            // of each interface of all agents, when they are watched together
	Flows    map[uuid.UUID][]api.AgentFlow // of the agents that are watched one by one, the busiest first
	Together []api.AgentFlow               // of all agents
}

// AgentHistory reads what agents counted in a span of time. A sort order or filter that makes no sense is ErrBadRequest.
type AgentHistory interface {
	FlowsOfAgents(ctx context.Context, params api.ListFlowsOfAgentsParams) (api.AgentFlowPage, error)
	PortCounters(ctx context.Context, agent uuid.UUID, params api.ListPortCountersParams) (api.PortCounterList, error)
	AgentSeries(ctx context.Context, agent uuid.UUID, params api.GetAgentSeriesParams) (api.AgentSeries, error)
}

// AgentFindings reads what agents made of what they saw.
type AgentFindings interface {
	RulesOfAgents(ctx context.Context, params api.ListRulesOfAgentsParams) (api.AgentRuleList, error)
	DivergencesOfAgents(ctx context.Context, params api.ListDivergencesOfAgentsParams) (api.AgentDivergenceList, error)
	EventsOfAgents(ctx context.Context, params api.ListEventsOfAgentsParams) (api.AgentEventList, error)
	EventsOfCapture(ctx context.Context, capture uuid.UUID) (api.AgentEventList, error)
}
