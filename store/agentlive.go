package store

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rocelens/rocelens/store/wire"
)

// LiveQuery asks what is new of agents.
type LiveQuery struct {
	Flows    int         // how many of the busiest flows of each of Agents, and of all agents together
	Agents   []uuid.UUID // that are looked at one by one
	Together bool        // all are looked at together
}

// Live is what is new of all agents.
type Live struct {
	Agents   []Agent
	Newest   []AgentAccount // of each interface of each agent, when all are looked at together
	Accounts []AgentAccount // latest of those agents that are looked at one by one, in the order of their ends
	ByAgent  []AgentFlow    // of each of these, the busiest first; of its newest intervals
	Together []AgentFlow    // of all agents
}

// Bounds of how far a live view looks back for intervals.
const (
	liveSlack    = 5 * time.Second // for rows on their way
	liveFarthest = 10 * time.Minute
	// maxLiveAgents bounds what is read at once.
	maxLiveAgents = 10_000
)

// liveSince is the time after which the newest intervals of agents ended, by the clocks of these.
func liveSince(agents []Agent) time.Time {
	if len(agents) == 0 {
		return time.Time{}
	}
	now := agents[0].Now
	since, farthest := now, now.Add(-liveFarthest)
	for i := range agents {
		a := &agents[i]
		at := a.Heartbeat.Add(-2*time.Duration(a.Interval) - liveSlack)
		if at.After(farthest) && at.Before(since) {
			since = at
		}
	}
	return since
}

// AgentsLive reads what is new of agents, by a number of statements that does not depend on theirs.
func (s *Store) AgentsLive(ctx context.Context, query LiveQuery) (live Live, err error) {
	page, err := s.Agents(ctx, 0, maxLiveAgents)
	live.Agents = page.Agents
	if err != nil || len(live.Agents) == 0 {
		return live, err
	}
	since := liveSince(live.Agents)
	accounts := "SELECT " + accountColumns + " FROM " + s.table(wire.AgentIntervalsTable) + " AS t WHERE " + within("t.interval_end", &since, nil)[0]
	busiest := func(further string) string {
		return "SELECT " + agentFlowColumns + " FROM (" + s.agentFlowsOver(within("f.interval_end", &since, nil)[0]+strings.ReplaceAll(further, "a.", "f.")+
			" AND (f.agent_id, f.interface, f.interval_end) IN ("+s.complete(since, further)+")") + ") AS t ORDER BY t.bytes DESC, t.agent_id, t.interface, t.flow_id LIMIT " + strconv.Itoa(query.Flows)
	}
	if query.Together {
		if live.Newest, err = rowsAs[AgentAccount](ctx, s, "intervals", accounts+" ORDER BY t.interval_end DESC LIMIT 1 BY t.agent_id, t.interface"); err != nil {
			return live, err
		}
		if live.Together, err = rowsAs[AgentFlow](ctx, s, "flows of agents", busiest("")); err != nil {
			return live, err
		}
	}
	if len(query.Agents) == 0 {
		return live, nil
	}
	ids := make([]string, len(query.Agents))
	for i, id := range query.Agents {
		ids[i] = "'" + id.String() + "'"
	}
	chosen := " AND a.agent_id IN (" + strings.Join(ids, ", ") + ")"
	live.Accounts, err = rowsAs[AgentAccount](ctx, s, "intervals", accounts+strings.ReplaceAll(chosen, "a.", "t.")+" ORDER BY t.interval_end, t.agent_id, t.interface")
	if err != nil {
		return live, err
	}
	live.ByAgent, err = rowsAs[AgentFlow](ctx, s, "flows of agents", busiest(chosen)+" BY t.agent_id")
	return live, err
}
