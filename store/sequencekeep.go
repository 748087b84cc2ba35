package store

import (
	"context"
	"math"
	"slices"
	"sort"

	"github.com/google/uuid"

	"github.com/rocelens/rocelens/flow"
)

const (
	// mostSequenceRows bounds the packets of one flow that are kept in memory, in 27 bytes each. Of a longer one only the
	// chunks are, and its windows are read from the database each time.
	mostSequenceRows = 4_000_000
	// sequenceBlockRows is how many of them are kept together, so that to add one never moves all others.
	sequenceBlockRows = 1 << 15
)

// keptSequence is what the windows of a flow's sequence have in common, read once.
type keptSequence struct {
	flow   Flow
	tracks []keptTrack // by path
	chunks []keptChunk
	blocks []*sequenceRows // nil when there are too many rows
	rows   int
	most   int // rows that are kept
}

// keptTrack is a path, or all of a flow of RoCE.
type keptTrack struct {
	path        uint8
	packets     uint64
	timeless    uint64
	first, last int64 // ns since the Unix epoch, unless all are timeless
	sent        bool  // firstPSN is of a packet that was sent
	firstPSN    *int64
	anchors     []keptAnchor
}

// keptAnchor is the unwrapped number of a chunk's anchor.
type keptAnchor struct {
	chunk uint64
	high  int64
}

// keptChunk is up to [sequenceChunk] packets of the capture of which some belong to the sequence.
type keptChunk struct {
	chunk       uint64
	block, row  int   // its first one of those that are kept
	first, last int64 // ns since the Unix epoch; first is after last when none has a time
}

// sequenceRows are packets of whole chunks that have times, column by column.
type sequenceRows struct {
	number            []uint64
	at, seq           []int64
	kind, path, marks []uint8
	runRow            []int // of runs that are acknowledged selectively: the row that does
	runFirst, runLast []int64
}

// unnumbered, in the column kind, says that the packet names no number.
const unnumbered = 0x80

func (s *Store) loadSequence(ctx context.Context, capture uuid.UUID, id flow.ID) (*keptSequence, error) {
	f, err := s.Flow(ctx, capture, id)
	if err != nil {
		return nil, err
	}
	k := &keptSequence{flow: f, most: s.sequences.mostRows}
	var places [mostPaths]int // in tracks, plus one
	track := func(path uint8) *keptTrack {
		if places[path] == 0 {
			k.tracks = append(k.tracks, keptTrack{path: path})
			places[path] = len(k.tracks)
		}
		return &k.tracks[places[path]-1]
	}
	r := sequenceReader{
		bits: sequenceBits(&f),
		take: func(p *sequencePacket) {
			track(p.path).add(p)
			k.add(p)
		},
		anchored: func(path uint8, chunk uint64, high int64) {
			t := track(path)
			t.anchors = append(t.anchors, keptAnchor{chunk, high})
		},
	}
	if err := s.readSequence(ctx, s.sequenceStatement(capture, &f), f.MetaRoCE != nil, &r); err != nil {
		return nil, err
	}
	slices.SortFunc(k.tracks, func(a, b keptTrack) int { return int(a.path) - int(b.path) })
	return k, nil
}

func (t *keptTrack) add(p *sequencePacket) {
	if !p.timed {
		t.timeless++
	} else if at := p.at; t.packets == t.timeless {
		t.first, t.last = at, at
	} else {
		t.first, t.last = min(t.first, at), max(t.last, at)
	}
	t.packets++
	if p.numbered && (t.firstPSN == nil || p.sent() && !t.sent) {
		psn := int64(p.psn)
		t.firstPSN, t.sent = &psn, p.sent()
	}
}

func (k *keptSequence) add(p *sequencePacket) {
	chunk := p.number / sequenceChunk
	if n := len(k.chunks); n == 0 || k.chunks[n-1].chunk != chunk {
		if n == 0 || k.blocks != nil && len(k.last().at) > sequenceBlockRows-sequenceChunk {
			k.blocks = append(k.blocks, newSequenceRows(n > 0))
		}
		c := keptChunk{chunk: chunk, block: len(k.blocks) - 1, first: math.MaxInt64, last: math.MinInt64}
		if k.blocks != nil {
			c.row = len(k.last().at)
		}
		k.chunks = append(k.chunks, c)
	}
	if !p.timed {
		return
	}
	c := &k.chunks[len(k.chunks)-1]
	c.first, c.last = min(c.first, p.at), max(c.last, p.at)
	if k.rows++; k.rows > k.most {
		k.blocks = nil
	}
	if k.blocks != nil {
		k.last().add(p)
	}
}

func (k *keptSequence) last() *sequenceRows { return k.blocks[len(k.blocks)-1] }

// newSequenceRows makes a block, with its memory when it is known to be needed.
func newSequenceRows(full bool) *sequenceRows {
	c := &sequenceRows{}
	if full {
		c.number, c.at, c.seq = make([]uint64, 0, sequenceBlockRows), make([]int64, 0, sequenceBlockRows), make([]int64, 0, sequenceBlockRows)
		c.kind, c.path, c.marks = make([]uint8, 0, sequenceBlockRows), make([]uint8, 0, sequenceBlockRows), make([]uint8, 0, sequenceBlockRows)
	}
	return c
}

func (c *sequenceRows) add(p *sequencePacket) {
	kind := uint8(p.kind)
	if !p.numbered {
		kind |= unnumbered
	}
	for run := range p.first {
		c.runRow, c.runFirst, c.runLast = append(c.runRow, len(c.at)), append(c.runFirst, p.first[run]), append(c.runLast, p.last[run])
	}
	c.number, c.at, c.seq = append(c.number, p.number), append(c.at, p.at), append(c.seq, p.seq)
	c.kind, c.path, c.marks = append(c.kind, kind), append(c.path, p.path), append(c.marks, uint8(p.marks))
}

// show hands rows from one to before another to a window.
func (c *sequenceRows) show(from, to int, w *sequenceWindow) {
	run := sort.SearchInts(c.runRow, from)
	for i := from; i < to; i++ {
		p := sequencePacket{
			number: c.number[i], at: c.at[i], seq: c.seq[i], kind: SequenceKind(c.kind[i] &^ unnumbered), marks: SequenceMarks(c.marks[i]),
			path: c.path[i], timed: true, numbered: c.kind[i]&unnumbered == 0,
		}
		first := run
		for run < len(c.runRow) && c.runRow[run] == i {
			run++
		}
		p.first, p.last = c.runFirst[first:run], c.runLast[first:run]
		w.take(&p)
	}
}

// show hands the packets of chunks from one to before another to a window.
func (k *keptSequence) show(first, end int, w *sequenceWindow) {
	from := k.chunks[first]
	to := keptChunk{block: len(k.blocks) - 1, row: len(k.last().at)}
	if end < len(k.chunks) {
		to = k.chunks[end]
	}
	for i := from.block; i <= to.block; i++ {
		row, behind := 0, len(k.blocks[i].at)
		if i == from.block {
			row = from.row
		}
		if i == to.block {
			behind = to.row
		}
		k.blocks[i].show(row, behind, w)
	}
}

// between finds the chunks that may have packets of a window: from one to before another.
func (k *keptSequence) between(from, to int64) (first, end int) {
	first, end = len(k.chunks), 0
	for i := range k.chunks {
		if c := &k.chunks[i]; c.last >= from && c.first < to {
			first, end = min(first, i), i+1
		}
	}
	return first, max(first, end)
}

// weight is about what it takes in memory, bytes.
func (k *keptSequence) weight() int {
	n := 40 * len(k.chunks)
	for i := range k.tracks {
		n += 16 * len(k.tracks[i].anchors)
	}
	for _, c := range k.blocks {
		n += 27*cap(c.at) + 24*cap(c.runRow)
	}
	return n
}

// showSequence hands the packets of some chunks to a window.
func (s *Store) showSequence(ctx context.Context, capture uuid.UUID, k *keptSequence, first, end int, w *sequenceWindow) error {
	if first >= end {
		return nil
	}
	if k.blocks != nil {
		k.show(first, end, w)
		return nil
	}
	r := sequenceReader{bits: sequenceBits(&k.flow), take: w.take, anchored: func(uint8, uint64, int64) {}}
	from, to := k.chunks[first].chunk, k.chunks[end-1].chunk
	for i := range k.tracks {
		t := &k.tracks[i]
		before, _ := slices.BinarySearchFunc(t.anchors, from, func(a keptAnchor, chunk uint64) int {
			if a.chunk < chunk {
				return -1
			}
			return 1
		})
		if before > 0 {
			r.known[t.path], r.high[t.path] = true, t.anchors[before-1].high
		}
	}
	return s.readSequence(ctx, s.sequenceStatement(capture, &k.flow, from*sequenceChunk, to*sequenceChunk+sequenceChunk-1), k.flow.MetaRoCE != nil, &r)
}
