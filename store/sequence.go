package store

import (
	"context"
	"math"
	"time"

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
	kept, err := s.sequences.get(ctx, sequenceKey{capture, id}, func() (*keptSequence, error) { return s.loadSequence(ctx, capture, id) })
	if err != nil {
		return out, err
	}
	w := sequenceWindow{from: math.MinInt64, to: math.MaxInt64, places: map[sequencePlace]int32{}}
	if query.From != nil {
		w.from = query.From.UnixNano()
	}
	if query.To != nil {
		w.to = query.To.UnixNano()
	}
	out.survey(kept, query.Path, &w)
	if len(out.Tracks) == 0 {
		return out, nil
	}
	first, last := max(out.Start, w.from), min(out.Start+out.Span, w.to)
	w.width = bucketWidth(last-first, min(max(query.Bins, 2), maxSequenceBins/len(out.Tracks)))
	w.last = make([]int32, len(out.Tracks)*int(sequenceKinds)*int(sequenceMarks))
	from, to := kept.between(w.from, w.to)
	if err := s.showSequence(ctx, capture, kept, from, to, &w); err != nil {
		return out, err
	}
	out.Packets = w.packets
	out.Rows, out.Bin = w.rows()
	return out, nil
}

// survey takes from what is kept the tracks that are asked for and their span.
func (out *Sequence) survey(kept *keptSequence, path *uint8, w *sequenceWindow) {
	for i := range w.tracks {
		w.tracks[i] = -1
	}
	for i := range kept.tracks {
		t := &kept.tracks[i]
		if path != nil && *path != t.path {
			continue
		}
		w.tracks[t.path] = int16(len(out.Tracks))
		track := SequenceTrack{Bits: sequenceBits(&kept.flow), First: t.firstPSN, Packets: t.packets}
		if kept.flow.MetaRoCE != nil {
			track.Path = &t.path
		}
		out.Tracks, out.Timeless = append(out.Tracks, track), out.Timeless+t.timeless
		if t.timeless == t.packets {
			continue
		}
		if out.Start == 0 {
			out.Start, out.Span = t.first, t.last-t.first
			continue
		}
		end := max(out.Start+out.Span, t.last)
		out.Start = min(out.Start, t.first)
		out.Span = end - out.Start
	}
}
