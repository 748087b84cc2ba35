package store_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/store"
	"github.com/rocelens/rocelens/store/blocks"
)

const requester, responder = flow.ID(11), flow.ID(12)

// long stores a connection whose PSNs start again from 0 several times: WRITEs and large READs with their answers, ACKs,
// NAKs, packets that were resent, came late or twice by a mirror, and CNPs.
func long(tb testing.TB, s *store.Store, packets int) uuid.UUID {
	tb.Helper()
	id := uuid.New()
	longAgain(tb, s, id, packets)
	return id
}

// longAgain is another analysis of the capture.
func longAgain(tb testing.TB, s *store.Store, id uuid.UUID, packets int) {
	tb.Helper()
	a, err := s.BeginAnalysis(tb.Context(), id)
	if err != nil {
		tb.Fatal(err)
	}
	random := rand.New(rand.NewPCG(3, 4))
	p, seen := newStream(1).at(0)
	psn, now := uint32(0xffff00), start
	for i := range packets {
		now += 200 + random.Int64N(2000)
		p.Meta.Number, p.Meta.Time, p.Meta.HasTime = uint64(i)+1, now, random.IntN(500) != 0
		p.Has, p.BTH.Opcode, p.BTH.PSN, p.AETH = infiniband.HasBTH, infiniband.RCWriteMiddle, psn&0xffffff, infiniband.AETH{}
		p.Network.ECN = dissector.ECNECT0
		seen.Flow, seen.Flags = requester, 0
		answer := func(opcode infiniband.Opcode, syndrome infiniband.Syndrome, back uint32) {
			seen.Flow, p.Has, p.AETH.Syndrome = responder, infiniband.HasBTH|infiniband.HasAETH, syndrome
			p.BTH.Opcode, p.BTH.PSN = opcode, (psn-back)&0xffffff
		}
		switch n := random.IntN(100); {
		case n < 60:
			psn++
		case n < 64: // a READ of up to 64 MiB
			p.BTH.Opcode = infiniband.RCReadRequest
			psn += 1 + random.Uint32N(1<<14)
		case n < 70:
			answer(infiniband.RCReadResponseFirst, 0x1f, 1+random.Uint32N(1<<14))
		case n < 85:
			answer(infiniband.RCAcknowledge, 0x1f, 1+random.Uint32N(40))
		case n < 87:
			answer(infiniband.RCAcknowledge, 0x60, 1+random.Uint32N(40))
			p.Has |= infiniband.HasAETH
		case n < 90:
			p.BTH.PSN, seen.Flags = (psn-1-random.Uint32N(300))&0xffffff, flow.FlagRetransmitted|flow.FlagAfterNAK
		case n < 93:
			p.BTH.PSN, seen.Flags = (psn-1-random.Uint32N(20))&0xffffff, flow.FlagOutOfOrder
		case n < 95:
			p.Network.ECN = dissector.ECNCE
			psn++
		case n < 96:
			seen.Flow, p.BTH.Opcode, p.BTH.PSN = responder, infiniband.CNP, 0
		case n < 98:
			seen.Flags = flow.FlagMirrorCopy
		default:
			psn += 3
			p.BTH.PSN, seen.Flags = psn&0xffffff, flow.FlagGapBefore
			psn++
		}
		if err := a.Packet(tb.Context(), p, nil, dissector.ICRCGood, seen, int64(i)); err != nil {
			tb.Fatal(err)
		}
	}
	for _, r := range []flow.Record{
		{ID: requester, ReverseID: responder, Key: flow.Key{Source: v4a, Destination: v4b, DestinationQP: 5}},
		{ID: responder, ReverseID: requester, Key: flow.Key{Source: v4b, Destination: v4a, DestinationQP: 6}},
	} {
		if err := a.Flow(tb.Context(), &r); err != nil {
			tb.Fatal(err)
		}
	}
	if err := a.Commit(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// reference computes the rows of a sequence from its packets, each held against the one before on its path.
func reference(t *testing.T, s *store.Store, capture uuid.UUID, id flow.ID) []store.SequenceRow {
	t.Helper()
	of, err := s.Flow(t.Context(), capture, id)
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.Packets(t.Context(), capture, store.PacketQuery{Flow: id, BothDirections: true, Limit: 1_000_000})
	if err != nil {
		t.Fatal(err)
	}
	bits := 24
	if of.MetaRoCE != nil {
		bits = 32
	}
	nearest := func(difference int64) int64 {
		half := int64(1) << (bits - 1)
		return (difference+half)&(1<<bits-1) - half
	}
	var rows []store.SequenceRow
	last := map[uint8]int64{}
	for i := range all.Packets {
		p := &all.Packets[i]
		row := store.SequenceRow{Number: p.Number, Kind: kindOfRow(p), Count: 1, Marks: marksOf(p, of.ReverseID)}
		if p.Flags&uint16(flow.FlagMirrorCopy) != 0 || !isOf(&of, row.Kind, row.Marks&store.SequenceAnswer != 0) {
			continue
		}
		psn := p.PSN
		if p.CumulativePSN != nil {
			psn = p.CumulativePSN
		} else if p.RefusedPSN != nil {
			psn = p.RefusedPSN
		}
		var path uint8
		if of.MetaRoCE != nil && p.Path != nil {
			path = *p.Path
		}
		row.Track = int(path)
		if row.Kind != store.SequenceCNP {
			if psn == nil {
				continue
			}
			before, known := last[path]
			if !known {
				before = int64(*psn)
			}
			n := before + nearest(int64(*psn)-before)
			last[path] = n
			row.Min, row.Max = &n, &n
			for run := range p.SACKFirst {
				row.SACKFirst = append(row.SACKFirst, n+nearest(int64(p.SACKFirst[run])-n))
				row.SACKLast = append(row.SACKLast, n+nearest(int64(p.SACKLast[run])-n))
			}
		}
		if p.Time == nil {
			continue
		}
		row.At = p.Time.UnixNano()
		rows = append(rows, row)
	}
	slices.SortStableFunc(rows, func(a, b store.SequenceRow) int { return cmp.Compare(a.At, b.At) })
	return rows
}

func kindOfRow(p *store.Packet) store.SequenceKind {
	switch {
	case p.NAK == blocks.NakRNR:
		return store.SequenceRNR
	case p.NAK != "":
		return store.SequenceNak
	case p.PacketType == "ACK" && len(p.SACKFirst) > 0:
		return store.SequenceSack
	case p.PacketType == "ACK":
		return store.SequenceAck
	case p.PacketType == "READ_RESP", p.PacketType == "ATOMIC_RESP":
		return store.SequenceResponse
	case p.PacketType == "WRITE", p.PacketType == "SEND", p.PacketType == "READ_REQ", p.PacketType == "ATOMIC_REQ":
		return store.SequenceData
	case p.PacketType != "":
		return store.SequenceControl
	}
	switch o := infiniband.Opcode(*p.Opcode); {
	case o.IsCNP():
		return store.SequenceCNP
	case o.IsAck():
		return store.SequenceAck
	case o.IsResponse():
		return store.SequenceResponse
	}
	return store.SequenceData
}

func marksOf(p *store.Packet, reverse flow.ID) (marks store.SequenceMarks) {
	for bit, holds := range map[store.SequenceMarks]bool{
		store.SequenceRetransmitted: p.Flags&uint16(flow.FlagRetransmitted) != 0, store.SequenceGap: p.Flags&uint16(flow.FlagGapBefore) != 0,
		store.SequenceOutOfOrder: p.Flags&uint16(flow.FlagOutOfOrder) != 0, store.SequenceCE: p.ECN != nil && *p.ECN == "CE",
		store.SequenceAnswer: *p.Flow == uint64(reverse),
	} {
		if holds {
			marks |= bit
		}
	}
	return marks
}

func isOf(of *store.Flow, kind store.SequenceKind, answer bool) bool {
	switch kind { //nolint:exhaustive // all others come from the flow itself
	case store.SequenceAck, store.SequenceSack, store.SequenceNak, store.SequenceRNR:
		return answer
	case store.SequenceResponse:
		return answer == (of.MetaRoCE == nil)
	case store.SequenceCNP:
		return true
	}
	return !answer
}

// binned sums rows up as the database should.
func binned(rows []store.SequenceRow, width int64) []store.SequenceRow {
	type key struct {
		at    int64
		kind  store.SequenceKind
		track int
		marks store.SequenceMarks
	}
	bins := map[key]*store.SequenceRow{}
	for i := range rows {
		row := rows[i]
		row.At -= row.At % width
		k := key{row.At, row.Kind, row.Track, row.Marks}
		bin, known := bins[k]
		if !known {
			bins[k] = &row
			continue
		}
		bin.Count, bin.Number = bin.Count+1, min(bin.Number, row.Number)
		if row.Min != nil {
			lowest, highest := min(*bin.Min, *row.Min), max(*bin.Max, *row.Max)
			bin.Min, bin.Max = &lowest, &highest
		}
	}
	out := make([]store.SequenceRow, 0, len(bins))
	for _, bin := range bins {
		out = append(out, *bin)
	}
	slices.SortFunc(out, func(a, b store.SequenceRow) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Number, b.Number))
	})
	return out
}

func sequence(tb testing.TB, s *store.Store, capture uuid.UUID, id flow.ID, query store.SequenceQuery) store.Sequence {
	tb.Helper()
	got, err := s.Sequence(tb.Context(), capture, id, query)
	if err != nil {
		tb.Fatal(err)
	}
	for i := range got.Rows { // an empty array is none
		if len(got.Rows[i].SACKFirst) == 0 {
			got.Rows[i].SACKFirst, got.Rows[i].SACKLast = nil, nil
		}
	}
	return got
}

// Packets of a long connection are unwrapped alike by the database, in one window or another, and one by one in Go.
func TestSequenceGoesOnWherePSNsStartAgain(t *testing.T) {
	s := open(t, "sequence")
	const packets = 60_000
	id := long(t, s, packets)
	want := reference(t, s, id, requester)
	if highest := *slices.MaxFunc(want, func(a, b store.SequenceRow) int { return cmp.Compare(highestOf(a), highestOf(b)) }).Max; highest < 1<<24 {
		t.Fatalf("the PSNs end at %d and never start again", highest)
	}
	whole := sequence(t, s, id, requester, store.SequenceQuery{Bins: 500})
	if whole.Bin == 0 || whole.Packets != uint64(len(want)) || whole.Timeless == 0 || whole.Start != want[0].At || whole.Span != want[len(want)-1].At-want[0].At {
		t.Fatalf("bin %d, %d packets of %d, %d without a time", whole.Bin, whole.Packets, len(want), whole.Timeless)
	}
	if diff := gocmp.Diff(binned(want, whole.Bin), whole.Rows); diff != "" {
		t.Errorf("bins differ (-want +got):\n%.3000s", diff)
	}
	for _, from := range []int{0, 10_000, len(want) - 15_000} {
		window := want[from : from+15_000]
		begin, end := time.Unix(0, window[0].At), time.Unix(0, window[len(window)-1].At+1)
		got := sequence(t, s, id, requester, store.SequenceQuery{From: &begin, To: &end, Bins: 500})
		if got.Bin != 0 || got.Start != whole.Start || got.Span != whole.Span {
			t.Errorf("from %d: bin %d, start %d", from, got.Bin, got.Start)
		}
		if diff := gocmp.Diff(window, got.Rows); diff != "" {
			t.Errorf("from %d, packets differ (-want +got):\n%.3000s", from, diff)
		}
	}
	// The responder chose no numbers, but CNPs came from it.
	other := sequence(t, s, id, responder, store.SequenceQuery{Bins: 500})
	if slices.ContainsFunc(other.Rows, func(r store.SequenceRow) bool { return r.Kind != store.SequenceCNP || r.Min != nil }) || other.Tracks[0].First != nil {
		t.Errorf("the responder has numbers: %d rows", len(other.Rows))
	}
}

func highestOf(r store.SequenceRow) int64 {
	if r.Max == nil {
		return -1
	}
	return *r.Max
}

// Sequences of capture files, of both directions, are those that Go makes of their packets.
func TestSequencesOfFiles(t *testing.T) {
	s := open(t, "sequence_files")
	for _, name := range []string{"allreduce-loss.pcapng", "read-write-mix.pcap", "derived/sit-ecn-cnp.pcap", "metaroce/loss.pcap", "metaroce/re-path.pcap"} {
		id := storedFile(t, s, opened(t, "../testdata/"+name), nil)
		page, err := s.Flows(t.Context(), id, store.FlowQuery{Limit: 8})
		if err != nil {
			t.Fatal(err)
		}
		for i := range page.Flows {
			one := &page.Flows[i]
			if one.ReverseID == 0 {
				continue
			}
			want := reference(t, s, id, one.ID)
			got := sequence(t, s, id, one.ID, store.SequenceQuery{Bins: 100})
			for j := range got.Rows { // tracks are told by their paths
				if path := got.Tracks[got.Rows[j].Track].Path; path != nil {
					got.Rows[j].Track = int(*path)
				}
			}
			if diff := gocmp.Diff(want, got.Rows); diff != "" {
				t.Errorf("%s, %d packets differ (-want +got):\n%.3000s", name, len(want), diff)
			}
			if len(got.Tracks) < 2 || got.Tracks[1].Path == nil {
				continue
			}
			got = sequence(t, s, id, one.ID, store.SequenceQuery{Bins: 100, Path: got.Tracks[1].Path})
			if len(got.Tracks) != 1 || got.Packets != got.Tracks[0].Packets || len(got.Rows) == 0 {
				t.Errorf("%s: one path has %d tracks, %d packets", name, len(got.Tracks), got.Packets)
			}
		}
	}
	if _, err := s.Sequence(t.Context(), uuid.New(), 1, store.SequenceQuery{}); err == nil {
		t.Error("a capture that is not there has a sequence")
	}
}
