package store

import (
	"context"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"github.com/rocelens/rocelens/store/wire"
)

// AgentScope chooses the intervals of agents that end after From and begin before To.
type AgentScope struct {
	Agent     uuid.UUID // uuid.Nil: of all
	Interface string    // empty: all
	From, To  time.Time
}

// longestInterval bounds for how long after its begin an interval may end: the tables are sorted by the end.
const longestInterval = 5 * time.Minute

// where is the condition on a table of agents, and what it is bound to.
func (q *AgentScope) where(alias string) (condition string, arguments []any) {
	ends, latest := q.From.Add(1), q.To.Add(longestInterval)
	conditions := append(within(alias+".interval_end", &ends, &latest), within(alias+".interval_start", nil, &q.To)...)
	if q.Agent != uuid.Nil {
		conditions = append(conditions, alias+".agent_id = {agent:UUID}")
		arguments = append(arguments, ofAgent(q.Agent))
	}
	if q.Interface != "" {
		conditions = append(conditions, alias+".interface = {interface:String}")
		arguments = append(arguments, clickhouse.Named("interface", q.Interface))
	}
	return strings.Join(conditions, " AND "), arguments
}

// AgentLedger is the sum of the accounts of intervals: what is known to be missing from whatever is told of these.
type AgentLedger struct {
	Intervals        uint64            `ch:"intervals"`
	Down             uint64            `ch:"down"` // of these: with the interface down or gone at the end
	From             *time.Time        `ch:"span_start"`
	To               *time.Time        `ch:"span_end"`
	Missed           uint64            `ch:"missed"`
	InterfaceDropped *uint64           `ch:"interface_dropped"`
	SourceIn         uint64            `ch:"source_in"`
	SpoolOut         uint64            `ch:"spool_out"`
	Drops            map[string]uint64 `ch:"drops"`
	Judged           *uint64           `ch:"judged"`
	Divergences      uint64            `ch:"divergences"`
	DivergenceRows   uint64            `ch:"divergence_rows"`
}

// AgentLedger adds up the accounts of a scope.
func (s *Store) AgentLedger(ctx context.Context, scope AgentScope) (AgentLedger, error) {
	where, arguments := scope.where("t")
	all, err := rowsAs[AgentLedger](ctx, s, "the accounts of agents", "SELECT count() AS intervals, countIf(t.up = 0) AS down,"+
		" if(intervals = 0, NULL, min(t.interval_start)) AS span_start, if(intervals = 0, NULL, max(t.interval_end)) AS span_end, sum(t.missed) AS missed,"+
		" sum(t.interface_dropped) AS interface_dropped, sum(t.source_in) AS source_in, sum(t.spool_out) AS spool_out,"+
		" CAST(sumMap(t.drops), 'Map(String, UInt64)') AS drops, sum(t.judged) AS judged, sum(t.divergences) AS divergences,"+
		" sum(t.divergence_rows) AS divergence_rows FROM "+s.table(wire.AgentIntervalsTable)+" AS t WHERE "+where, arguments...)
	if err != nil || len(all) == 0 {
		return AgentLedger{}, err
	}
	return all[0], nil
}
