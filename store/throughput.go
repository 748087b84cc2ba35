package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"github.com/rocelens/rocelens/flow"
)

// ThroughputQuery asks for a series of a capture's RoCE packets over time.
type ThroughputQuery struct {
	Flow    flow.ID // 0: all
	Buckets int     // number of buckets that is aimed at
	From    *time.Time
	To      *time.Time // exclusive
}

// Throughput is a series: element i of each slice is the bucket that starts at Start + i*Width. It has no
// element when no packet has a time stamp.
type Throughput struct {
	Start         int64 // ns since the Unix epoch, a multiple of Width
	Width         int64 // ns, 1, 2 or 5 times a power of ten
	Bytes         []uint64
	Packets       []uint64
	Retransmitted []uint64
	CE            []uint64
	CNPs          []uint64
}

// maxBuckets bounds the length of a series, whatever is asked for.
const maxBuckets = 10_000

// Throughput sums bytes on the wire, packets and troubles of a capture or a flow by time.
func (s *Store) Throughput(ctx context.Context, capture uuid.UUID, query ThroughputQuery) (Throughput, error) {
	arguments := []any{clickhouse.Named("capture", capture.String())}
	condition := "capture_id = {capture:UUID} AND time IS NOT NULL AND protocol IN ('RoCEv1', 'RoCEv2', 'InfiniBand', 'MetaRoCE')"
	if query.Flow != 0 {
		condition += " AND flow_id = " + strconv.FormatUint(uint64(query.Flow), 10)
	}
	condition = strings.Join(append([]string{condition}, within("time", query.From, query.To)...), " AND ")
	var n uint64
	var first, last int64
	err := s.conn.QueryRow(ctx, "SELECT count(), min(toUnixTimestamp64Nano(assumeNotNull(time))), max(toUnixTimestamp64Nano(assumeNotNull(time))) FROM "+
		s.table(packetsTable)+" WHERE "+condition, arguments...).Scan(&n, &first, &last)
	if err != nil {
		return Throughput{}, fmt.Errorf("find the span of a series: %w", err)
	}
	if n == 0 {
		return Throughput{}, nil
	}
	if last-first < 0 { // more than an int64 can count
		first = 0
	}
	width := bucketWidth(last-first, min(max(query.Buckets, 2), maxBuckets))
	series := Throughput{Start: floor(first, width), Width: width}
	series.grow(int((last-series.Start)/width) + 1)
	return series, s.fill(ctx, &series, condition, arguments)
}

// within are the conditions that a time is not before from, and before to; a nil bound is none.
func within(column string, from, to *time.Time) (conditions []string) {
	literal := func(t *time.Time) string {
		return "fromUnixTimestamp64Nano(toInt64(" + strconv.FormatInt(t.UnixNano(), 10) + "), 'UTC')"
	}
	if from != nil {
		conditions = append(conditions, column+" >= "+literal(from))
	}
	if to != nil {
		conditions = append(conditions, column+" < "+literal(to))
	}
	return conditions
}

func (t *Throughput) grow(n int) {
	for _, column := range []*[]uint64{&t.Bytes, &t.Packets, &t.Retransmitted, &t.CE, &t.CNPs} {
		*column = make([]uint64, n)
	}
}

func (s *Store) fill(ctx context.Context, series *Throughput, condition string, arguments []any) (err error) {
	rows, err := s.conn.Query(ctx, fmt.Sprintf(`SELECT intDiv(toUnixTimestamp64Nano(assumeNotNull(time)) - toInt64(%d), toInt64(%d)) AS bucket,
		sum(original_length), count(), countIf(bitTest(flags, 0)), countIf(ecn = 'CE'), countIf(opcode = 129)
		FROM %s WHERE %s GROUP BY bucket`, series.Start, series.Width, s.table(packetsTable), condition), arguments...)
	if err != nil {
		return fmt.Errorf("read a series: %w", err)
	}
	defer closing(&err, rows)
	for rows.Next() {
		var bucket int64
		var sums [5]uint64
		if err := rows.Scan(&bucket, &sums[0], &sums[1], &sums[2], &sums[3], &sums[4]); err != nil {
			return fmt.Errorf("read a series: %w", err)
		}
		if bucket < 0 || bucket >= int64(len(series.Bytes)) {
			continue // a packet that was not there when the span was asked for
		}
		series.Bytes[bucket], series.Packets[bucket], series.Retransmitted[bucket] = sums[0], sums[1], sums[2]
		series.CE[bucket], series.CNPs[bucket] = sums[3], sums[4]
	}
	return rows.Err()
}

// bucketWidth is the smallest width of 1, 2 or 5 times a power of ten that needs no more buckets than asked for.
func bucketWidth(span int64, buckets int) int64 {
	for power := int64(1); ; power *= 10 {
		for _, factor := range []int64{1, 2, 5} {
			if width := power * factor; span/width < int64(buckets) {
				return width
			}
		}
	}
}

// floor is the largest multiple of width that is not above n.
func floor(n, width int64) int64 {
	remainder := n % width
	if remainder < 0 {
		remainder += width
	}
	return n - remainder
}
