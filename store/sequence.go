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

// SequenceQuery asks for the PSNs of a flow over time.
type SequenceQuery struct {
	From *time.Time
	To   *time.Time // exclusive
	Bins int        // number of bins that is aimed at where packets are summed up
	Path *uint8     // of MetaRoCE: this path alone; nil: all
}

// Sequence is the numbers that the sender of a flow chose, unwrapped, and what answers them, in the order of their times.
type Sequence struct {
	Start    int64  // ns since the Unix epoch: time of the first packet of the flow, 0 when none has one
	Span     int64  // ns from there to the last one
	Packets  uint64 // of the span that was asked for
	Timeless uint64 // packets without a time, which have no row
	Bin      int64  // ns, width of a bin, 1, 2 or 5 times a power of ten; 0: each row is a packet
	Tracks   []SequenceTrack
	Rows     []SequenceRow
}

// SequenceTrack is one sequence of numbers: all of a flow of RoCE, or a path of MetaRoCE.
type SequenceTrack struct {
	Path    *uint8 // nil of RoCE
	Bits    int    // width of a PSN
	First   *int64 // PSN that unwrapped numbers start from, nil when no packet has one
	Packets uint64 // of the whole flow
}

// SequenceRow is a packet, or those of a bin that have kind, track and marks in common.
type SequenceRow struct {
	At        int64 // ns since the Unix epoch: time of the packet, or where the bin starts
	Number    uint64
	Kind      SequenceKind
	Track     int
	Marks     SequenceMarks
	Count     uint64
	Min, Max  *int64  // PSNs; of an ACK or NAK those that it names; nil: none
	SACKFirst []int64 // runs that a packet acknowledges selectively; of a bin one, from the least to the greatest
	SACKLast  []int64
}

const (
	// maxSequencePackets is how many packets are shown one by one.
	maxSequencePackets = 20_000
	// maxSequenceBins bounds the bins of all tracks together.
	maxSequenceBins = 24_000
)

// Sequence reads the PSNs of a flow over time. A flow that the capture does not have is ErrNotFound.
func (s *Store) Sequence(ctx context.Context, capture uuid.UUID, id flow.ID, query SequenceQuery) (out Sequence, err error) {
	q := sequenceOf{packets: s.table(packetsTable), path: query.Path}
	if q.flow, err = s.Flow(ctx, capture, id); err != nil {
		return out, err
	}
	capturing := clickhouse.Named("capture", capture.String())
	window := within("t.time", query.From, query.To)
	if err = s.surveySequence(ctx, &q, &out, window, capturing); err != nil || out.Packets == 0 {
		return out, err
	}
	if out.Packets <= maxSequencePackets {
		return out, s.sequencePackets(ctx, &q, &out, window, capturing)
	}
	first, last := out.Start, out.Start+out.Span
	if query.From != nil {
		first = max(first, query.From.UnixNano())
	}
	if query.To != nil {
		last = min(last, query.To.UnixNano())
	}
	out.Bin = bucketWidth(last-first, min(max(query.Bins, 2), maxSequenceBins/len(out.Tracks)))
	return out, s.sequenceBins(ctx, &q, &out, window, capturing)
}

// surveySequence finds the tracks, the span of the flow, and how many packets were asked for.
func (s *Store) surveySequence(ctx context.Context, q *sequenceOf, out *Sequence, window []string, capturing any) (err error) {
	inside := strings.Join(append([]string{"isNotNull(t.time)"}, window...), " AND ")
	const at = "toUnixTimestamp64Nano(assumeNotNull(time))"
	rows, err := s.conn.Query(ctx, "SELECT path, count(), countIf(isNull(time)), countIf(inside), minIf("+at+", isNotNull(time)), maxIf("+at+", isNotNull(time)), "+
		fmt.Sprintf("argMinOrNullIf(toInt64(assumeNotNull(psn)), (kind NOT IN (%s), number), isNotNull(psn))", kindList(SequenceData, SequenceResponse))+
		" FROM ("+q.from(", t.time AS time, ifNull("+inside+", 0) AS inside")+") GROUP BY path ORDER BY path", capturing)
	if err != nil {
		return fmt.Errorf("survey a sequence: %w", err)
	}
	defer closing(&err, rows)
	for rows.Next() {
		var path uint8
		var timeless, inside uint64
		var first, last int64
		track := SequenceTrack{Bits: q.bits()}
		if err := rows.Scan(&path, &track.Packets, &timeless, &inside, &first, &last, &track.First); err != nil {
			return fmt.Errorf("survey a sequence: %w", err)
		}
		if q.flow.MetaRoCE != nil {
			track.Path = &path
		}
		out.Tracks = append(out.Tracks, track)
		out.Packets, out.Timeless = out.Packets+inside, out.Timeless+timeless
		if timeless == track.Packets {
			continue
		}
		if out.Start == 0 {
			out.Start, out.Span = first, last-first
			continue
		}
		end := max(out.Start+out.Span, last)
		out.Start = min(out.Start, first)
		out.Span = end - out.Start
	}
	return rows.Err()
}

func (s *Store) sequencePackets(ctx context.Context, q *sequenceOf, out *Sequence, window []string, capturing any) error {
	return s.sequenceRows(ctx, out, "SELECT at, number, kind, path, marks, toUInt64(1), seq, seq, sack_first, sack_last FROM ("+
		q.unwrapped(window...)+") ORDER BY at, number", capturing)
}

func (s *Store) sequenceBins(ctx context.Context, q *sequenceOf, out *Sequence, window []string, capturing any) error {
	width := "toInt64(" + strconv.FormatInt(out.Bin, 10) + ")"
	const ends = "if(countIf(notEmpty(%s)) = 0, [], [%s])"
	return s.sequenceRows(ctx, out, "SELECT at - positiveModulo(at, "+width+") AS bin, min(number) AS first, kind, path, marks, count(), min(seq), max(seq), "+
		fmt.Sprintf(ends, "sack_first", "minArray(sack_first)")+", "+fmt.Sprintf(ends, "sack_last", "maxArray(sack_last)")+
		" FROM ("+q.unwrapped(window...)+") GROUP BY bin, kind, path, marks ORDER BY bin, first", capturing)
}

func (s *Store) sequenceRows(ctx context.Context, out *Sequence, statement string, capturing any) (err error) {
	tracks := map[uint8]int{}
	for i := range out.Tracks {
		if path := out.Tracks[i].Path; path != nil {
			tracks[*path] = i
		}
	}
	rows, err := s.conn.Query(ctx, statement, capturing)
	if err != nil {
		return fmt.Errorf("read a sequence: %w", err)
	}
	defer closing(&err, rows)
	for rows.Next() {
		var row SequenceRow
		var kind, path, marks uint8
		if err := rows.Scan(&row.At, &row.Number, &kind, &path, &marks, &row.Count, &row.Min, &row.Max, &row.SACKFirst, &row.SACKLast); err != nil {
			return fmt.Errorf("read a sequence: %w", err)
		}
		row.Kind, row.Track, row.Marks = SequenceKind(kind), tracks[path], SequenceMarks(marks)
		out.Rows = append(out.Rows, row)
	}
	return rows.Err()
}
