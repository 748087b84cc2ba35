package store

import (
	"context"
	"fmt"
	"strconv"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"github.com/rocelens/rocelens/flow"
)

// PathSeries is a path over time, from its packets and the ACKs that answer them: element i of each slice is the bucket
// that starts at Starts[i]. Buckets without either are left out. Nil elements are unknown: no ACK came, or it set no limit.
type PathSeries struct {
	Width         int64   // ns, 1, 2 or 5 times a power of ten; 0 when no packet has a time stamp
	Starts        []int64 // ns since the Unix epoch, ascending
	Packets       []uint64
	Bytes         []uint64
	Retransmitted []uint64
	CE            []uint64
	Acks          []uint64
	RateHint      []*uint64 // Mbit/s, of the latest ACK of the bucket that sets a limit
	InFlight      []*uint64 // most packets in flight before an ACK
	RTTMin        []*uint64 // ns
	RTTMean       []*uint64
	RTTMax        []*uint64
}

// PathSeries reads a path of a flow in about as many buckets as asked for. A flow that the capture does not have is
// ErrNotFound.
func (s *Store) PathSeries(ctx context.Context, capture uuid.UUID, id flow.ID, path uint8, buckets int) (series PathSeries, err error) {
	one, err := s.Flow(ctx, capture, id)
	if err != nil {
		return series, err
	}
	// Copies that a mirror made are no packets of the path's.
	condition := fmt.Sprintf(`capture_id = {capture:UUID} AND path_id = %d AND time IS NOT NULL AND NOT bitTest(flags, 6)
		AND (flow_id = %d AND psn IS NOT NULL OR flow_id = %d AND cumulative_psn IS NOT NULL)`, path, uint64(id), uint64(one.ReverseID))
	capturing := clickhouse.Named("capture", capture.String())
	const at = "toUnixTimestamp64Nano(assumeNotNull(time))"
	var n uint64
	var first, last int64
	if err := s.conn.QueryRow(ctx, "SELECT count(), min("+at+"), max("+at+") FROM "+s.table(packetsTable)+" WHERE "+condition, capturing).Scan(&n, &first, &last); err != nil {
		return series, fmt.Errorf("find the span of a path: %w", err)
	}
	if n == 0 {
		return series, nil
	}
	series.Width = bucketWidth(last-first, min(max(buckets, 2), maxBuckets))
	width := strconv.FormatInt(series.Width, 10)
	rows, err := s.conn.Query(ctx, "SELECT "+at+" - positiveModulo("+at+", toInt64("+width+`)) AS start,
		countIf(psn IS NOT NULL), sumIf(original_length, psn IS NOT NULL), countIf(bitTest(flags, 0)), countIf(psn IS NOT NULL AND ecn = 'CE'),
		countIf(cumulative_psn IS NOT NULL), argMaxIf(toNullable(toUInt64(assumeNotNull(rate_hint_mbps))), number, rate_hint_mbps IS NOT NULL),
		max(toUInt64(in_flight)), min(rtt_ns), toUInt64(round(avg(rtt_ns))), max(rtt_ns)
		FROM `+s.table(packetsTable)+" WHERE "+condition+" GROUP BY start ORDER BY start", capturing)
	if err != nil {
		return series, fmt.Errorf("read a path: %w", err)
	}
	defer closing(&err, rows)
	for rows.Next() {
		var start int64
		var sums [5]uint64
		var hint, flight, least, mean, most *uint64
		if err := rows.Scan(&start, &sums[0], &sums[1], &sums[2], &sums[3], &sums[4], &hint, &flight, &least, &mean, &most); err != nil {
			return series, fmt.Errorf("read a path: %w", err)
		}
		series.Starts = append(series.Starts, start)
		series.Packets, series.Bytes = append(series.Packets, sums[0]), append(series.Bytes, sums[1])
		series.Retransmitted, series.CE = append(series.Retransmitted, sums[2]), append(series.CE, sums[3])
		series.Acks, series.RateHint = append(series.Acks, sums[4]), append(series.RateHint, hint)
		series.InFlight, series.RTTMin = append(series.InFlight, flight), append(series.RTTMin, least)
		series.RTTMean, series.RTTMax = append(series.RTTMean, mean), append(series.RTTMax, most)
	}
	return series, rows.Err()
}
