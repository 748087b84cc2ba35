package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
)

// sequenceChunk is the number of packets of a capture that share an anchor: within so many a sequence is taken to
// move by less than half of its numbers. A READ request moves it by as many as the answer has packets.
const sequenceChunk = 256

// mostPaths is how many paths there can be: path_id has 8 bits.
const mostPaths = 256

// sequencePacket is a packet of a sequence.
type sequencePacket struct {
	number      uint64
	at          int64 // ns since the Unix epoch, of one that is timed
	seq         int64 // unwrapped, of one that is numbered
	psn         uint32
	kind        SequenceKind
	marks       SequenceMarks
	path        uint8
	timed       bool
	numbered    bool
	first, last []int64 // of the runs that it acknowledges selectively, unwrapped
}

// sent tells whether a packet's number is its own. What an answer names may be anything.
func (p *sequencePacket) sent() bool { return p.kind == SequenceData || p.kind == SequenceResponse }

// sequenceReader takes packets in the order of the capture and unwraps their numbers: each chunk of a path is held
// against the one before by its anchor, the first packet that was sent, or else the first that names a number.
type sequenceReader struct {
	bits     int
	take     func(*sequencePacket) // is given each packet; does not keep it
	anchored func(path uint8, chunk uint64, high int64)

	high    [mostPaths]int64 // the last anchor of a path, unwrapped
	known   [mostPaths]bool
	chunk   uint64
	waiting []sequencePacket // of chunk
	runs    []int64
}

// sequenceBits is the width of a PSN.
func sequenceBits(f *Flow) int {
	if f.MetaRoCE != nil {
		return 32
	}
	return 24
}

// fold makes of a difference of two numbers the one that is nearest to 0.
func (r *sequenceReader) fold(difference int64) int64 {
	half := int64(1) << (r.bits - 1)
	return (difference+half)&(1<<r.bits-1) - half
}

// next begins a packet, which the caller fills.
func (r *sequenceReader) next(number uint64) *sequencePacket {
	if chunk := number / sequenceChunk; chunk != r.chunk {
		r.finish()
		r.chunk = chunk
	}
	r.waiting = append(r.waiting, sequencePacket{number: number})
	return &r.waiting[len(r.waiting)-1]
}

// wide copies PSNs, so that they can be unwrapped in place.
func (r *sequenceReader) wide(psns []uint32) []int64 {
	before := len(r.runs)
	for _, psn := range psns {
		r.runs = append(r.runs, int64(psn))
	}
	return r.runs[before:]
}

// finish hands the packets of a chunk on.
func (r *sequenceReader) finish() {
	var anchors [mostPaths]*sequencePacket
	for i := range r.waiting {
		p := &r.waiting[i]
		if a := anchors[p.path]; p.numbered && (a == nil || p.sent() && !a.sent()) {
			anchors[p.path] = p
		}
	}
	for path, a := range anchors {
		if a == nil {
			continue
		}
		if r.known[path] {
			r.high[path] += r.fold(int64(a.psn) - r.high[path])
		} else {
			r.known[path], r.high[path] = true, int64(a.psn)
		}
		r.anchored(uint8(path), r.chunk, r.high[path])
	}
	for i := range r.waiting {
		p := &r.waiting[i]
		if p.numbered {
			high := r.high[p.path]
			p.seq = high + r.fold(int64(p.psn)-high)
			for run := range p.first {
				p.first[run], p.last[run] = high+r.fold(p.first[run]-high), high+r.fold(p.last[run]-high)
			}
		}
		r.take(p)
	}
	r.waiting, r.runs = r.waiting[:0], r.runs[:0]
}

// sequenceBlock is packets as the database sends them, columns of [sequenceStatement].
type sequenceBlock struct {
	number                   proto.ColUInt64
	at                       proto.ColInt64
	timed, kind, path, marks proto.ColUInt8
	psn                      proto.ColUInt32
	psns                     proto.ColNullable[uint32]
	first, last              proto.ColUInt32
	firsts, lasts            proto.ColArr[uint32]
}

func (b *sequenceBlock) results(sacks bool) proto.Results {
	b.psns.Values = &b.psn
	results := proto.Results{
		{Name: "number", Data: &b.number},
		{Name: "at", Data: &b.at},
		{Name: "timed", Data: &b.timed},
		{Name: "kind", Data: &b.kind},
		{Name: "path", Data: &b.path},
		{Name: "marks", Data: &b.marks},
		{Name: "psn", Data: &b.psns},
	}
	if sacks {
		b.firsts.Data, b.lasts.Data = &b.first, &b.last
		results = append(results, proto.ResultColumn{Name: "firsts", Data: &b.firsts}, proto.ResultColumn{Name: "lasts", Data: &b.lasts})
	}
	return results
}

func (b *sequenceBlock) readInto(r *sequenceReader, sacks bool) {
	for i, number := range b.number {
		p := r.next(number)
		p.at, p.timed, p.kind, p.path, p.marks = b.at[i], b.timed[i] != 0, SequenceKind(b.kind[i]), b.path[i], SequenceMarks(b.marks[i])
		p.psn, p.numbered = b.psn[i], b.psns.Nulls[i] == 0
		if sacks {
			p.first, p.last = r.wide(b.first[start(b.firsts.Offsets, i):b.firsts.Offsets[i]]), r.wide(b.last[start(b.lasts.Offsets, i):b.lasts.Offsets[i]])
		}
	}
}

// start is where the elements of an array begin.
func start(ends proto.ColUInt64, i int) uint64 {
	if i == 0 {
		return 0
	}
	return ends[i-1]
}

// readSequence hands the packets of a sequence to a reader. It takes the columns as they are, since to convert a million
// packets value by value takes longer than to find them.
func (s *Store) readSequence(ctx context.Context, statement string, sacks bool, r *sequenceReader) (err error) {
	client, err := s.dial(ctx)
	if err != nil {
		return fmt.Errorf("read a sequence: %w", err)
	}
	defer func() {
		// A query that was cancelled has closed it.
		if closed := client.Close(); err == nil && !errors.Is(closed, ch.ErrClosed) {
			err = closed
		}
	}()
	var b sequenceBlock
	err = client.Do(ctx, ch.Query{
		Body:   statement,
		Result: b.results(sacks),
		OnResult: func(context.Context, proto.Block) error {
			b.readInto(r, sacks)
			return nil
		},
	})
	if err != nil {
		return fmt.Errorf("read a sequence: %w", err)
	}
	r.finish()
	return nil
}
