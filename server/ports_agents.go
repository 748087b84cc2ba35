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
