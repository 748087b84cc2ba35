package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/store/shipping"
	"github.com/rocelens/rocelens/store/wire"
)

// AgentSeriesQuery asks for what an agent counted on one interface over time.
type AgentSeriesQuery struct {
	Scope    AgentScope    // with agent and interface
	Flow     flow.ID       // 0: all
	Counters []CounterKey  // of port_counters, beside the packets
	Buckets  int           // number of buckets that is aimed at
	Interval time.Duration // of the agent; a bucket has no less
}

// CounterKey names a counter or setting of an interface.
type CounterKey struct {
	Source string // as the column source has it
	Device string
	Port   uint32
	Name   string
}

// AgentSeries is columns of equal length: element i is the bucket that begins at Start + i*Width. What the intervals of a bucket
// do not tell, or some of them, is nil.
type AgentSeries struct {
	Start    int64 // ns since the Unix epoch, a multiple of Width
	Width    int64 // ns
	Points   []AgentPoint
	Counters [][]*uint64 // of each counter that was asked for
}

// AgentPoint is what was counted in a bucket. Counts may be negative: see flow.Tracker.Cut.
type AgentPoint struct {
	Bucket        int64  `ch:"bucket"`
	Rows          uint64 `ch:"found"` // of all flows
	Seen          uint64 `ch:"seen"`  // rows of the flow that is asked for
	Packets       *int64 `ch:"packets"`
	Bytes         *int64 `ch:"bytes"`
	Retransmitted *int64 `ch:"retransmitted"`
	OutOfOrder    *int64 `ch:"out_of_order"`
	MissingPSNs   *int64 `ch:"missing_psns"`
	Naks          *int64 `ch:"naks"`
	RNRNaks       *int64 `ch:"rnr_naks"`
	CNPs          *int64 `ch:"cnps"`
	CEMarked      *int64 `ch:"ce_marked"`

	Missed *uint64 // packets that the capture lost
}

// bucketAccount is what the accounts of a bucket say of its rows.
type bucketAccount struct {
	Bucket   int64  `ch:"bucket"`
	FlowRows uint64 `ch:"flow_rows"`
	Missed   uint64 `ch:"missed"`
}

// counterPoint is what a counter counted in a bucket.
type counterPoint struct {
	Bucket  int64  `ch:"bucket"`
	Counter uint8  `ch:"counter"`
	Delta   uint64 `ch:"delta"`
	Unknown uint64 `ch:"unknown"` // intervals in which nobody knows
}

// maxAgentInterval is how long the intervals of agents are at most.
const maxAgentInterval = time.Minute

// AgentSeries adds up what an agent counted by buckets of whole intervals.
func (s *Store) AgentSeries(ctx context.Context, query AgentSeriesQuery) (AgentSeries, error) {
	where, arguments := query.Scope.where("t")
	// The agent may have reported less often than it does now.
	var longest int64
	err := s.conn.QueryRow(ctx, "SELECT max(toUnixTimestamp64Nano(t.interval_end) - toUnixTimestamp64Nano(t.interval_start)) FROM "+
		s.table(wire.AgentIntervalsTable)+" AS t WHERE "+where, arguments...).Scan(&longest)
	if err != nil {
		return AgentSeries{}, fmt.Errorf("find the intervals of an agent: %w", err)
	}
	interval := max(int64(query.Interval), min(longest, int64(maxAgentInterval)), int64(time.Second))
	span := query.Scope.To.Sub(query.Scope.From)
	series := AgentSeries{Width: interval * (int64(span)/(interval*int64(min(max(query.Buckets, 2), maxBuckets))) + 1)}
	series.Start = floor(query.Scope.From.UnixNano(), series.Width)
	series.Points = make([]AgentPoint, (query.Scope.To.UnixNano()-series.Start-1)/series.Width+1)
	series.Counters = make([][]*uint64, len(query.Counters))
	for i := range series.Counters {
		series.Counters[i] = make([]*uint64, len(series.Points))
	}
	// An interval belongs to the bucket that its last moment lies in.
	bucket := fmt.Sprintf("intDiv(toUnixTimestamp64Nano(t.interval_end) - 1 - toInt64(%d), toInt64(%d)) AS bucket", series.Start, series.Width)
	if err := s.fillPoints(ctx, &series, query.Flow, bucket, where, arguments); err != nil {
		return AgentSeries{}, err
	}
	return series, s.fillCounters(ctx, &series, query.Counters, bucket, where, arguments)
}

func (s *Store) fillPoints(ctx context.Context, series *AgentSeries, of flow.ID, bucket, where string, arguments []any) error {
	accounts, err := rowsAs[bucketAccount](ctx, s, "the accounts of an agent", "SELECT "+bucket+", sum(t.flow_rows) AS flow_rows, sum(t.missed) AS missed FROM "+
		s.table(wire.AgentIntervalsTable)+" AS t WHERE "+where+" GROUP BY bucket", arguments...)
	if err != nil {
		return err
	}
	chosen := "1"
	if of != 0 {
		chosen = "t.flow_id = " + strconv.FormatUint(uint64(of), 10)
	}
	columns := []string{bucket, "count() AS found", "countIf(" + chosen + ") AS seen"}
	for _, name := range []string{"packets", "bytes", "retransmitted", "out_of_order", "missing_psns", "naks", "rnr_naks", "cnps", "ce_marked"} {
		columns = append(columns, "sumIf(CAST(t."+name+", 'Nullable(Int64)'), "+chosen+") AS "+name)
	}
	points, err := rowsAs[AgentPoint](ctx, s, "a series of an agent", "SELECT "+strings.Join(columns, ", ")+" FROM "+s.table(wire.AgentFlowsTable)+
		" AS t WHERE "+where+" GROUP BY bucket", arguments...)
	if err != nil {
		return err
	}
	told := map[int64]*AgentPoint{}
	for i := range points {
		told[points[i].Bucket] = &points[i]
	}
	for i := range accounts {
		if a := &accounts[i]; a.Bucket >= 0 && a.Bucket < int64(len(series.Points)) {
			series.Points[a.Bucket] = a.point(told[a.Bucket])
		}
	}
	return nil
}

// point is what rows tell of a bucket: nothing while some are missing, and 0 when the flow is in none of them.
func (a *bucketAccount) point(told *AgentPoint) AgentPoint {
	point := AgentPoint{Missed: &a.Missed}
	switch {
	case told == nil && a.FlowRows > 0, told != nil && told.Rows < a.FlowRows:
	case told == nil || told.Seen == 0:
		zero := new(int64)
		point.Packets, point.Bytes, point.Retransmitted, point.OutOfOrder, point.MissingPSNs = zero, zero, zero, zero, zero
		point.Naks, point.RNRNaks, point.CNPs, point.CEMarked = zero, zero, zero, zero
	default:
		missed := point.Missed
		point = *told
		point.Missed = missed
	}
	return point
}

func (s *Store) fillCounters(ctx context.Context, series *AgentSeries, keys []CounterKey, bucket, where string, arguments []any) error {
	if len(keys) == 0 {
		return nil
	}
	var choice, among []string
	for i, k := range keys {
		n := strconv.Itoa(i)
		condition := "(t.source = {source" + n + ":String} AND t.device = {device" + n + ":String} AND t.port = " + strconv.FormatUint(uint64(k.Port), 10) + " AND t.name = {name" + n + ":String})"
		choice, among = append(choice, condition+", "+n), append(among, condition)
		arguments = append(arguments, clickhouse.Named("source"+n, k.Source), clickhouse.Named("device"+n, k.Device), clickhouse.Named("name"+n, k.Name))
	}
	points, err := rowsAs[counterPoint](ctx, s, "counters", "SELECT "+bucket+", toUInt8(multiIf("+strings.Join(choice, ", ")+", 255)) AS counter,"+
		" sum(ifNull(t.delta, 0)) AS delta, countIf(t.delta IS NULL) AS unknown FROM "+s.table(shipping.PortCountersTable)+" AS t WHERE "+where+
		" AND ("+strings.Join(among, " OR ")+") GROUP BY bucket, counter", arguments...)
	if err != nil {
		return err
	}
	for i := range points {
		if p := &points[i]; p.Bucket >= 0 && p.Bucket < int64(len(series.Points)) && int(p.Counter) < len(keys) && p.Unknown == 0 {
			series.Counters[p.Counter][p.Bucket] = &p.Delta
		}
	}
	return nil
}
