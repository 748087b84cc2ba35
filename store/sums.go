package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"github.com/rocelens/rocelens/replay/finding"
)

// FlowSums adds up the flows of a capture or of one of its connections. Of each column that a flow may not be able to
// tell it has the sum, nil when none can, and under the name that ends in Packets the packets of those flows that can.
type FlowSums struct {
	Flows       uint64  `ch:"flows"`
	Connections uint64  `ch:"connections"`
	MetaRoCE    uint64  `ch:"metaroce_flows"`
	Lasting     *int64  `ch:"lasting"` // ns from the first to the last packet; nil without times
	Packets     uint64  `ch:"all_packets"`
	Bytes       uint64  `ch:"all_bytes"`
	Payload     uint64  `ch:"all_payload"`
	NAKs        uint64  `ch:"all_naks"`
	RNRNAKs     uint64  `ch:"all_rnr_naks"`
	CNPs        uint64  `ch:"all_cnps"`
	ICRCBad     uint64  `ch:"all_icrc_bad"`
	Goodput     *uint64 `ch:"sum_goodput_bytes"`
	Messages    *uint64 `ch:"sum_messages"`
	Again       *uint64 `ch:"sum_retransmitted"`
	AfterNAK    *uint64 `ch:"sum_retransmitted_after_nak"`
	AfterRNR    *uint64 `ch:"sum_retransmitted_after_rnr"`
	AfterSilent *uint64 `ch:"sum_retransmitted_after_timeout"`
	Missing     *uint64 `ch:"sum_missing_psns"`
	OutOfOrder  *uint64 `ch:"sum_out_of_order"`
	Marked      *uint64 `ch:"sum_ce_marked"`

	AgainPackets      uint64 `ch:"packets_retransmitted"`
	OutOfOrderPackets uint64 `ch:"packets_out_of_order"`
	MarkedPackets     uint64 `ch:"packets_ce_marked"`
}

// ReplaySums adds up what replay found of a capture or of one of its connections.
type ReplaySums struct {
	Judged     uint64 `ch:"judged"`    // connections
	Diverging  uint64 `ch:"diverging"` // of these
	LostBefore uint64 `ch:"all_lost_before"`
	LostAfter  uint64 `ch:"all_lost_after"`
	Missed     uint64 `ch:"all_missed"`
	Waiting    uint64 `ch:"waiting"` // directions whose waits are known; the next five are of these
	Lasting    uint64 `ch:"all_lasting"`
	TimerWaits uint64 `ch:"all_timer_waits"`
	TimerWait  uint64 `ch:"all_timer_wait"`
	RNRWaits   uint64 `ch:"all_rnr_waits"`
	RNRWait    uint64 `ch:"all_rnr_wait"`
	Trips      uint64 `ch:"trips"` // directions whose round trip is known; the next five are of these, ns
	TripMin    uint64 `ch:"trip_min"`
	TripP50    uint64 `ch:"trip_p50"`
	TripP90    uint64 `ch:"trip_p90"`
	TripP99    uint64 `ch:"trip_p99"`
	TripMax    uint64 `ch:"trip_max"`
}

// FlowSums adds up flows: of a capture, or with connection not 0 of that one.
func (s *Store) FlowSums(ctx context.Context, capture uuid.UUID, connection uint64) (out FlowSums, err error) {
	columns := []string{
		"count() AS flows", "uniqExact(t.connection_id) AS connections", "countIf(t.protocol = 'MetaRoCE') AS metaroce_flows",
		"max(toUnixTimestamp64Nano(t.last_time)) - min(toUnixTimestamp64Nano(t.first_time)) AS lasting", "sum(t.packets) AS all_packets",
		"sum(t.bytes) AS all_bytes", "sum(t.payload_bytes) AS all_payload", "sum(t.naks) AS all_naks", "sum(t.rnr_naks) AS all_rnr_naks",
		"sum(t.cnps) AS all_cnps", "sum(t.icrc_bad) AS all_icrc_bad",
	}
	for _, name := range []string{
		"goodput_bytes", "messages", "retransmitted", "retransmitted_after_nak", "retransmitted_after_rnr", "retransmitted_after_timeout",
		"missing_psns", "out_of_order", "ce_marked",
	} {
		columns = append(columns, "sum(t."+name+") AS sum_"+name)
	}
	for _, name := range []string{"retransmitted", "out_of_order", "ce_marked"} {
		columns = append(columns, "sumIf(t.packets, t."+name+" IS NOT NULL) AS packets_"+name)
	}
	return out, s.sums(ctx, "flows", strings.Join(columns, ", "), flowsTable, capture, connection, &out)
}

// ReplaySums adds up what replay found: of a capture, or with connection not 0 of that one.
func (s *Store) ReplaySums(ctx context.Context, capture uuid.UUID, connection uint64) (out ReplaySums, err error) {
	const columns = "uniqExact(t.connection_id) AS judged, uniqExactIf(t.connection_id, t.verdict = 'diverges') AS diverging," +
		" sum(t.lost_before) AS all_lost_before, sum(t.lost_after) AS all_lost_after, sum(t.missed) AS all_missed," +
		" countIf(t.lasting_ns IS NOT NULL) AS waiting, sum(ifNull(t.lasting_ns, 0)) AS all_lasting," +
		" sum(ifNull(t.timer_waits, 0)) AS all_timer_waits, sum(ifNull(t.timer_wait_ns, 0)) AS all_timer_wait," +
		" sum(ifNull(t.rnr_waits, 0)) AS all_rnr_waits, sum(ifNull(t.rnr_wait_ns, 0)) AS all_rnr_wait," +
		" countIf(t.to_receiver_mean_ns IS NOT NULL) AS trips, ifNull(min(t.to_receiver_min_ns), 0) AS trip_min," +
		" ifNull(quantileExact(0.5)(t.to_receiver_mean_ns), 0) AS trip_p50, ifNull(quantileExact(0.9)(t.to_receiver_mean_ns), 0) AS trip_p90," +
		" ifNull(quantileExact(0.99)(t.to_receiver_mean_ns), 0) AS trip_p99, ifNull(max(t.to_receiver_max_ns), 0) AS trip_max"
	return out, s.sums(ctx, "what replay found", columns, replaysTable, capture, connection, &out)
}

// CompletionSums is how the completion latencies of MetaRoCE's streams are spread, ns: the shortest, the medians over streams
// of their medians, 90th and 99th percentiles, and the longest.
type CompletionSums struct {
	Streams uint64 `ch:"streams"` // with a message that was completed; 0: the others mean nothing
	Min     uint64 `ch:"least"`
	P50     uint64 `ch:"p50"`
	P90     uint64 `ch:"p90"`
	P99     uint64 `ch:"p99"`
	Max     uint64 `ch:"most"`
}

// CompletionSums looks at the streams of a capture, or with connection not 0 of that one.
func (s *Store) CompletionSums(ctx context.Context, capture uuid.UUID, connection uint64) (out CompletionSums, err error) {
	const columns = "countIf(t.latency_samples > 0) AS streams, ifNull(min(t.latency_min_ns), 0) AS least," +
		" ifNull(quantileExact(0.5)(t.latency_p50_ns), 0) AS p50, ifNull(quantileExact(0.5)(t.latency_p90_ns), 0) AS p90," +
		" ifNull(quantileExact(0.5)(t.latency_p99_ns), 0) AS p99, ifNull(max(t.latency_max_ns), 0) AS most"
	return out, s.sums(ctx, "streams", columns, streamsTable, capture, connection, &out)
}

// RulesOf lists the rules that applied to a connection.
func (s *Store) RulesOf(ctx context.Context, capture uuid.UUID, connection finding.ConnectionID) (rules []Rule, err error) {
	return s.rules(ctx, capture, " AND t.connection_id = "+strconv.FormatUint(uint64(connection), 10))
}

// sums reads a row of aggregates over the rows of a table that are of a capture, or of a connection of it.
func (s *Store) sums(ctx context.Context, what, columns, table string, capture uuid.UUID, connection uint64, out any) error {
	query := "SELECT " + columns + " FROM " + s.table(table) + " AS t WHERE t.capture_id = {capture:UUID}"
	if connection != 0 {
		query += " AND t.connection_id = " + strconv.FormatUint(connection, 10)
	}
	if err := s.conn.QueryRow(ctx, query, clickhouse.Named("capture", capture.String())).ScanStruct(out); err != nil {
		return fmt.Errorf("add up %s: %w", what, err)
	}
	return nil
}
