package store

import (
	"context"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/rocelens/rocelens/store/shipping"
)

// PortCounterSum is a counter or setting of a port over the intervals of a scope.
type PortCounterSum struct {
	Agent     uuid.UUID `ch:"agent_id"`
	Host      string    `ch:"host"`
	Interface string    `ch:"interface"`
	Source    string    `ch:"source"`
	Device    string    `ch:"device"`
	Port      uint32    `ch:"port"`
	Name      string    `ch:"name"`
	Value     *uint64   `ch:"value"`   // the newest
	Delta     *uint64   `ch:"delta"`   // of the intervals in which it is known
	Unknown   uint64    `ch:"unknown"` // intervals in which it is not
	Setting   string    `ch:"setting"` // the newest
	Before    string    `ch:"before"`  // the oldest
	Read      time.Time `ch:"read"`    // when it was last
}

// maxPortCounters bounds an answer. An interface has a few hundred.
const maxPortCounters = 20_000

// PortCounters adds up the counters of a scope by port: those that counted most first, then by name.
func (s *Store) PortCounters(ctx context.Context, scope AgentScope) ([]PortCounterSum, error) {
	where, arguments := scope.where("t")
	return rowsAs[PortCounterSum](ctx, s, "counters", "SELECT t.agent_id AS agent_id, any(t.host) AS host, t.interface AS interface, toString(t.source) AS source,"+
		" t.device AS device, t.port AS port, t.name AS name, argMax(t.value, t.interval_end) AS value, sum(t.delta) AS delta, countIf(t.delta IS NULL) AS unknown,"+
		" argMax(t.setting, t.interval_end) AS setting, argMin(t.setting, t.interval_end) AS before, max(t.interval_end) AS read FROM "+s.table(shipping.PortCountersTable)+
		" AS t WHERE "+where+" GROUP BY t.agent_id, t.interface, t.source, t.device, t.port, t.name"+
		" ORDER BY interface, delta DESC NULLS LAST, t.source, device, port, name LIMIT "+strconv.Itoa(maxPortCounters), arguments...)
}
