package store

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rocelens/rocelens/store/shipping"
)

// AgentDivergence is a row of the table agent_divergences.
type AgentDivergence struct {
	Divergence
	AgentSource
}

// AgentSource is where a row of an agent comes from.
type AgentSource struct {
	Agent     uuid.UUID `ch:"agent_id"`
	Host      string    `ch:"host"`
	Interface string    `ch:"interface"`
	Start     time.Time `ch:"interval_start"`
	End       time.Time `ch:"interval_end"`
	Missed    uint64    `ch:"missed"`
}

var agentDivergenceColumns = strings.Replace(divergenceColumns, divergenceID,
	"sipHash64(t.agent_id, t.interval_end, t.connection_id, t.rule, toString(t.verdict), t.packets, t.sentence)", 1) + ", " + columnsOf(AgentSource{})

// AgentDivergencePage is a part of the list of divergences that agents found.
type AgentDivergencePage struct {
	Divergences []AgentDivergence
	Total       uint64
}

// AgentDivergences lists places where connections diverged, or may have, as Divergences does of a capture.
func (s *Store) AgentDivergences(ctx context.Context, scope AgentScope, query DivergenceQuery) (page AgentDivergencePage, err error) {
	where, arguments := scope.where("t")
	page.Divergences, page.Total, err = divergencesOf[AgentDivergence](ctx, s, shipping.AgentDivergencesTable, agentDivergenceColumns, where, "t.agent_id, t.interface, t.connection_id", arguments, query)
	return page, err
}

// AgentRules lists the rules that connections diverged from, or may have, as Rules does of a capture. Agents do not tell how
// often a rule was kept.
func (s *Store) AgentRules(ctx context.Context, scope AgentScope) ([]Rule, error) {
	where, arguments := scope.where("t")
	return rowsAs[Rule](ctx, s, "the rules of agents", "SELECT t.rule AS rule, countIf(t.verdict = 'diverges') AS diverges, countIf(t.verdict = 'undetermined') AS undetermined,"+
		" uniqExact(t.connection_id) AS connections, uniqExactIf(t.connection_id, t.verdict = 'diverges') AS diverging FROM "+
		s.table(shipping.AgentDivergencesTable)+" AS t WHERE "+where+" GROUP BY t.rule ORDER BY diverges > 0 DESC, undetermined > 0 DESC, any(t.severity) DESC, rule", arguments...)
}
