package store

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"github.com/rocelens/rocelens/store/shipping"
	"github.com/rocelens/rocelens/store/wire"
)

// Agent is the newest heartbeat of an agent; see the comments of the table agents.
type Agent struct {
	ID                   uuid.UUID         `ch:"agent_id"`
	Heartbeat            time.Time         `ch:"heartbeat"` // by the agent's clock
	Arrived              time.Time         `ch:"arrived"`   // by the database's
	Run                  uuid.UUID         `ch:"run"`
	Started              time.Time         `ch:"started"`
	Host                 string            `ch:"host"`
	Version              string            `ch:"version"`
	Kernel               string            `ch:"kernel"`
	Architecture         string            `ch:"architecture"`
	Interval             uint64            `ch:"interval_ns"`
	Interfaces           []string          `ch:"interfaces"`
	Tiers                []string          `ch:"tiers"`
	Up                   []uint8           `ch:"up"`
	RDMA                 []string          `ch:"rdma"`
	Bypassed             []uint8           `ch:"bypassed"`
	Problem              string            `ch:"problem"`
	PacketsPerSecond     float64           `ch:"packets_per_second"`
	RDMAPacketsPerSecond float64           `ch:"rdma_packets_per_second"`
	BitsPerSecond        float64           `ch:"bits_per_second"`
	Drops                map[string]uint64 `ch:"drops"`
	SpoolRows            uint64            `ch:"spool_rows"`
	SpoolBatches         uint64            `ch:"spool_batches"`
	SpoolBytes           uint64            `ch:"spool_bytes"`
	SpoolLimit           uint64            `ch:"spool_limit"`
	SpoolTornBytes       uint64            `ch:"spool_torn_bytes"`
	SpoolDamaged         uint64            `ch:"spool_damaged"`
	Lag                  uint64            `ch:"lag_ns"`
	ShippedRows          uint64            `ch:"shipped_rows"`
	RefusedRows          uint64            `ch:"refused_rows"`
	Failures             uint64            `ch:"failures"`
	Triggers             uint64            `ch:"triggers"`
	LastTrigger          *time.Time        `ch:"last_trigger"`
	LastTriggerEvent     string            `ch:"last_trigger_event"`
	RecordsWaiting       uint64            `ch:"records_waiting"`
	RecordsLost          uint64            `ch:"records_lost"`

	Now time.Time `ch:"now"` // by the database's clock, when it was asked
}

// Silence is for how long nothing was heard of the agent, when it was asked for.
func (a *Agent) Silence() time.Duration { return max(0, a.Now.Sub(a.Arrived)) }

// AgentPage is a part of the list of agents.
type AgentPage struct {
	Agents []Agent
	Total  uint64
}

// AgentAccount is a row of the table agent_intervals.
type AgentAccount struct {
	Agent            uuid.UUID         `ch:"agent_id"`
	Host             string            `ch:"host"`
	Interface        string            `ch:"interface"`
	Start            time.Time         `ch:"interval_start"`
	End              time.Time         `ch:"interval_end"`
	Missed           uint64            `ch:"missed"`
	Tier             string            `ch:"tier"`
	Up               uint8             `ch:"up"`
	InterfacePackets *uint64           `ch:"interface_packets"`
	InterfaceDropped *uint64           `ch:"interface_dropped"`
	SourceIn         uint64            `ch:"source_in"`
	SourceOut        uint64            `ch:"source_out"`
	SourceHeld       uint64            `ch:"source_held"`
	DecodeOut        uint64            `ch:"decode_out"`
	TrackOut         uint64            `ch:"track_out"`
	SpoolOut         uint64            `ch:"spool_out"`
	Drops            map[string]uint64 `ch:"drops"`
	Bytes            uint64            `ch:"bytes"`
	RDMABytes        uint64            `ch:"rdma_bytes"`
	FlowRows         uint64            `ch:"flow_rows"`
	PathRows         uint64            `ch:"path_rows"`
	SpooledRows      uint64            `ch:"spooled_rows"`
}

var (
	agentColumns   = agentColumnsOf()
	accountColumns = columnsOf(AgentAccount{})
)

// agentColumnsOf leaves the clock out, which is no column.
func agentColumnsOf() string {
	return strings.Replace(columnsOf(Agent{}), "t.`now` AS `now`", "now64(9, 'UTC') AS `now`", 1)
}

// Agents lists agents by the names of their hosts.
func (s *Store) Agents(ctx context.Context, offset, limit int) (page AgentPage, err error) {
	if err := s.conn.QueryRow(ctx, "SELECT count() FROM "+s.table(wire.AgentsTable)).Scan(&page.Total); err != nil {
		return page, fmt.Errorf("count agents: %w", err)
	}
	page.Agents, err = rowsAs[Agent](ctx, s, "agents", "SELECT "+agentColumns+" FROM "+s.table(wire.AgentsTable)+" AS t ORDER BY t.host, t.agent_id LIMIT "+
		strconv.Itoa(limit)+" OFFSET "+strconv.Itoa(offset))
	return page, err
}

// Agent returns one agent, or ErrNotFound.
func (s *Store) Agent(ctx context.Context, id uuid.UUID) (Agent, error) {
	agents, err := rowsAs[Agent](ctx, s, "an agent", "SELECT "+agentColumns+" FROM "+s.table(wire.AgentsTable)+" AS t WHERE t.agent_id = {agent:UUID}", ofAgent(id))
	if err == nil && len(agents) == 0 {
		err = fmt.Errorf("agent %s: %w", id, ErrNotFound)
	}
	if err != nil {
		return Agent{}, err
	}
	return agents[0], nil
}

func ofAgent(id uuid.UUID) any { return clickhouse.Named("agent", id.String()) }

// AgentAccounts returns the newest intervals of each interface of an agent, the newest first. An agent that is not there is
// ErrNotFound.
func (s *Store) AgentAccounts(ctx context.Context, id uuid.UUID, intervals int) ([]AgentAccount, error) {
	agent, err := s.Agent(ctx, id)
	if err != nil {
		return nil, err
	}
	// The table is sorted by time: counted back from the newest heartbeat, the agent's rows are found in a small part of it.
	oldest := agent.Heartbeat.Add(-time.Duration(agent.Interval) * time.Duration(intervals+1))
	return rowsAs[AgentAccount](ctx, s, "intervals", "SELECT "+accountColumns+" FROM "+s.table(wire.AgentIntervalsTable)+" AS t WHERE t.agent_id = {agent:UUID} AND "+
		within("t.interval_end", &oldest, nil)[0]+" ORDER BY t.interval_end DESC, t.interface LIMIT "+strconv.Itoa(intervals)+" BY t.interface", ofAgent(id))
}

// AgentFlow is a flow as an agent has seen it on an interface, over one or more intervals.
type AgentFlow struct {
	Agent         uuid.UUID `ch:"agent_id"`
	Host          string    `ch:"host"`
	Interface     string    `ch:"interface"`
	From          time.Time `ch:"span_start"` // begin of the first interval
	To            time.Time `ch:"span_end"`
	Flow          uint64    `ch:"flow_id"`
	Connection    uint64    `ch:"connection_id"`
	Protocol      string    `ch:"protocol"`
	Service       string    `ch:"service"`
	Application   string    `ch:"application"`
	Source        net.IP    `ch:"source"`
	Destination   net.IP    `ch:"destination"`
	SourceQP      *uint32   `ch:"source_qp"`
	DestinationQP uint32    `ch:"destination_qp"`
	Packets       uint64    `ch:"packets"`
	Bytes         uint64    `ch:"bytes"`
	PayloadBytes  uint64    `ch:"payload_bytes"`
	Messages      *uint64   `ch:"messages"`
	Retransmitted *uint64   `ch:"retransmitted"`
	OutOfOrder    *uint64   `ch:"out_of_order"`
	MissingPSNs   *uint64   `ch:"missing_psns"`
	Acks          uint64    `ch:"acks"`
	Naks          uint64    `ch:"naks"`
	RNRNaks       uint64    `ch:"rnr_naks"`
	CNPs          uint64    `ch:"cnps"`
	CEMarked      *uint64   `ch:"ce_marked"`
	ICRCBad       uint64    `ch:"icrc_bad"`
	Missed        uint64    `ch:"missed"` // packets that the capture lost on the interface in these intervals
}

// agentFlowSums are the columns of flows that are sums over intervals, those that a filter asks for among them.
var agentFlowSums = []string{
	"packets", "bytes", "payload_bytes", "messages", "retransmitted", "out_of_order", "missing_psns", "missing_acknowledged", "psn_gaps", "duplicates",
	"mirror_copies", "acks", "naks", "rnr_naks", "cnps", "ce_marked", "icrc_bad", "truncated", "malformed", "sends", "writes", "read_requests",
	"read_responses", "atomics", "atomic_responses", "ack_packets", "datagrams", "missed",
}

// agentFlowsOver is the statement that sums flows over the intervals that a condition on f chooses.
func (s *Store) agentFlowsOver(condition string) string {
	columns := []string{"f.agent_id AS agent_id", "f.interface AS interface", "f.flow_id AS flow_id", "min(f.interval_start) AS span_start", "max(f.interval_end) AS span_end"}
	for _, same := range []string{"host", "connection_id", "application", "source", "destination", "destination_qp", "source_mac", "destination_mac", "tunnel"} {
		columns = append(columns, "anyLast(f."+same+") AS "+same)
	}
	for _, sum := range agentFlowSums {
		value := "sum(f." + sum + ")"
		if shipping.SignedColumns[sum] { // the intervals may take back what those before them told
			value = "toUInt64(if(" + value + " < 0, 0, " + value + "))"
		}
		columns = append(columns, value+" AS "+sum)
	}
	return "SELECT " + strings.Join(columns, ", ") + ", toString(anyLast(f.protocol)) AS protocol, toString(anyLast(f.service)) AS service, anyLast(f.source_qp) AS source_qp FROM " +
		s.table(wire.AgentFlowsTable) + " AS f WHERE " + condition + " GROUP BY f.agent_id, f.interface, f.flow_id"
}

var agentFlowColumns = columnsOfText(AgentFlow{})

// columnsOfText is columnsOf where enums are text already.
func columnsOfText(row any) string {
	return strings.NewReplacer("CAST(t.protocol, 'Int8')", "t.protocol", "CAST(t.service, 'Int8')", "t.service").Replace(columnsOf(row))
}

// AgentFlowQuery asks for the flows of an agent.
type AgentFlowQuery struct {
	Intervals int    // how many of the newest are summed up
	Sort      string // a key of agentFlowSorts; empty: bytes
	Ascending bool
	Filter    string // as of the flows of a capture
	Interface string // empty: all
	Offset    int
	Limit     int
}

var agentFlowSorts = map[string]string{
	"": "bytes", "bytes": "bytes", "packets": "packets", "messages": "messages", "retransmitted": "retransmitted", "out_of_order": "out_of_order",
	"missing_psns": "missing_psns", "naks": "naks", "rnr_naks": "rnr_naks", "cnps": "cnps", "ce_marked": "ce_marked", "source": "source",
	"destination": "destination", "destination_qp": "destination_qp", "interface": "interface", "service": "service",
}

// AgentFlowPage is a part of the list of flows of an agent.
type AgentFlowPage struct {
	Flows    []AgentFlow
	Total    uint64    // flows that match
	From, To time.Time // the span of the intervals; zero when the agent has reported none
}

// complete is a statement that finds the newest interval of each interface of agents all of whose rows of flows have
// arrived; these come by another insert than the account that counts them. Further conditions are on a, which is either table.
func (s *Store) complete(since time.Time, further string) string {
	where := within("a.interval_end", &since, nil)[0] + further
	counted := "SELECT a.agent_id AS agent_id, a.interface AS interface, a.interval_end AS interval_end, count() AS found FROM " + s.table(wire.AgentFlowsTable) +
		" AS a WHERE " + where + " GROUP BY a.agent_id, a.interface, a.interval_end"
	return "SELECT a.agent_id AS agent_id, a.interface AS interface, max(a.interval_end) AS newest FROM " + s.table(wire.AgentIntervalsTable) + " AS a LEFT JOIN (" + counted +
		") AS c ON c.agent_id = a.agent_id AND c.interface = a.interface AND c.interval_end = a.interval_end WHERE " + where +
		" AND (c.found >= a.flow_rows OR a.spooled_rows < a.flow_rows + a.path_rows) GROUP BY a.agent_id, a.interface"
}

// AgentFlows lists flows of the newest intervals of an agent whose rows have all arrived. A sort order or filter that makes
// no sense is ErrBadRequest.
func (s *Store) AgentFlows(ctx context.Context, id uuid.UUID, query AgentFlowQuery) (AgentFlowPage, error) {
	accounts, err := s.AgentAccounts(ctx, id, query.Intervals+incompleteIntervals)
	if err != nil {
		return AgentFlowPage{}, err
	}
	var page AgentFlowPage
	if len(accounts) > 0 {
		oldest := accounts[len(accounts)-1].Start
		var newest time.Time
		if err := s.conn.QueryRow(ctx, "SELECT max(newest) FROM ("+s.complete(oldest, " AND a.agent_id = {agent:UUID}")+")", ofAgent(id)).Scan(&newest); err != nil {
			return page, fmt.Errorf("find the newest interval of an agent: %w", err)
		}
		for i := range accounts {
			if a := &accounts[i]; !a.End.After(newest) {
				page.To = newest
				page.From = newest.Add(-a.End.Sub(a.Start) * time.Duration(query.Intervals))
				break
			}
		}
	}
	if page.To.IsZero() {
		return page, nil
	}
	condition := strings.Join(append(within("f.interval_start", &page.From, &page.To), within("f.interval_end", &page.From, nil)...), " AND ") +
		" AND f.agent_id = {agent:UUID} AND ({interface:String} = '' OR f.interface = {interface:String})"
	found, err := s.agentFlows(ctx, condition, []any{ofAgent(id), clickhouse.Named("interface", query.Interface)}, query)
	found.From, found.To = page.From, page.To
	return found, err
}

// AgentFlowsIn lists flows of a scope; of the query its intervals and interface do not count.
func (s *Store) AgentFlowsIn(ctx context.Context, scope AgentScope, query AgentFlowQuery) (AgentFlowPage, error) {
	where, arguments := scope.where("f")
	return s.agentFlows(ctx, where, arguments, query)
}

// agentFlows sums flows over the intervals that a condition on f chooses, and lists those that are asked for.
func (s *Store) agentFlows(ctx context.Context, condition string, arguments []any, query AgentFlowQuery) (page AgentFlowPage, err error) {
	sort, known := agentFlowSorts[query.Sort]
	if !known {
		return page, fmt.Errorf("%w: flows of agents cannot be sorted by %q", ErrBadRequest, query.Sort)
	}
	filter, words, err := flowFilter(query.Filter)
	if err != nil {
		return page, err
	}
	arguments = append(arguments, words...)
	from := " FROM (" + s.agentFlowsOver(condition) + ") AS t WHERE " + filter
	if err := s.conn.QueryRow(ctx, "SELECT count()"+from, arguments...).Scan(&page.Total); err != nil {
		return page, fmt.Errorf("count flows of agents: %w", err)
	}
	direction := " DESC"
	if query.Ascending {
		direction = " ASC"
	}
	page.Flows, err = rowsAs[AgentFlow](ctx, s, "flows of agents", "SELECT "+agentFlowColumns+from+" ORDER BY t."+sort+direction+
		" NULLS LAST, t.agent_id, t.interface, t.flow_id LIMIT "+strconv.Itoa(query.Limit)+" OFFSET "+strconv.Itoa(query.Offset), arguments...)
	return page, err
}

// incompleteIntervals is how many intervals may have come of which rows of flows are still under way.
const incompleteIntervals = 5

// rowsAs reads all rows of a statement.
func rowsAs[T any](ctx context.Context, s *Store, what, statement string, arguments ...any) (all []T, err error) {
	rows, err := s.conn.Query(ctx, statement, arguments...)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	defer closing(&err, rows)
	for rows.Next() {
		var row T
		if err := rows.ScanStruct(&row); err != nil {
			return nil, fmt.Errorf("read %s: %w", what, err)
		}
		all = append(all, row)
	}
	return all, rows.Err()
}
