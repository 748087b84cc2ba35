package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"github.com/rocelens/rocelens/store/shipping"
)

// AgentEvent is an event that a flight recorder was triggered by, and the latest that has become of it; see the comments of
// the table agent_triggers.
type AgentEvent struct {
	Agent      uuid.UUID  `ch:"agent_id"`
	Host       string     `ch:"host"`
	Interface  string     `ch:"interface"`
	Event      uuid.UUID  `ch:"event_id"`
	Time       time.Time  `ch:"time"`
	Kind       string     `ch:"kind"`
	Rule       string     `ch:"rule"`
	Connection uint64     `ch:"connection_id"`
	Sentence   string     `ch:"sentence"`
	Fate       string     `ch:"fate"`
	Why        string     `ch:"why"`
	Since      time.Time  `ch:"since"` // when the fate came about
	Record     string     `ch:"record"`
	Packets    uint64     `ch:"packets"`
	Capture    *uuid.UUID `ch:"capture_id"`
}

// AgentEventPage is a part of the list of events.
type AgentEventPage struct {
	Events []AgentEvent
	Total  uint64
}

// AgentEventQuery asks for events, of a scope or of a capture.
type AgentEventQuery struct {
	Scope   AgentScope // whose times are those of the events
	Capture uuid.UUID  // that the record has become; with it the scope does not count
	Offset  int
	Limit   int
}

func (q *AgentEventQuery) where(table string) (string, []any) {
	if q.Capture != uuid.Nil {
		return "(t.agent_id, t.event_id) IN (SELECT c.agent_id, c.event_id FROM " + table + " AS c WHERE c.capture_id = {capture:UUID})",
			[]any{clickhouse.Named("capture", q.Capture.String())}
	}
	conditions := append(within("t.time", &q.Scope.From, &q.Scope.To), within("t.interval_end", &q.Scope.From, nil)...)
	var arguments []any
	if q.Scope.Agent != uuid.Nil {
		conditions, arguments = append(conditions, "t.agent_id = {agent:UUID}"), append(arguments, ofAgent(q.Scope.Agent))
	}
	if q.Scope.Interface != "" {
		conditions, arguments = append(conditions, "t.interface = {interface:String}"), append(arguments, clickhouse.Named("interface", q.Scope.Interface))
	}
	return strings.Join(conditions, " AND "), arguments
}

// AgentEvents lists events that triggered flight recorders, the newest first.
func (s *Store) AgentEvents(ctx context.Context, query AgentEventQuery) (page AgentEventPage, err error) {
	where, arguments := query.where(s.table(shipping.AgentTriggersTable))
	from := " FROM " + s.table(shipping.AgentTriggersTable) + " AS t WHERE " + where
	if err := s.conn.QueryRow(ctx, "SELECT uniqExact(t.agent_id, t.event_id)"+from, arguments...).Scan(&page.Total); err != nil {
		return page, fmt.Errorf("count events of agents: %w", err)
	}
	page.Events, err = rowsAs[AgentEvent](ctx, s, "events of agents", "SELECT t.agent_id AS agent_id, any(t.host) AS host, any(t.interface) AS interface,"+
		" t.event_id AS event_id, any(t.time) AS time, any(t.kind) AS kind, any(t.rule) AS rule, any(t.connection_id) AS connection_id,"+
		" any(t.sentence) AS sentence, toString(max(t.fate)) AS fate, argMax(t.why, t.fate) AS why, argMax(t.interval_end, t.fate) AS since,"+
		" max(t.record) AS record, max(t.packets) AS packets, max(t.capture_id) AS capture_id"+from+
		" GROUP BY t.agent_id, t.event_id ORDER BY time DESC, event_id LIMIT "+strconv.Itoa(query.Limit)+" OFFSET "+strconv.Itoa(query.Offset), arguments...)
	return page, err
}
