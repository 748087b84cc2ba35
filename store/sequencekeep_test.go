package store_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/internal/capgen"
	"github.com/rocelens/rocelens/store"
)

// generated is a capture that a generator writes, opened.
func generated(t *testing.T, write func(*bytes.Buffer) error) *pcapfile.Source {
	t.Helper()
	var file bytes.Buffer
	if err := write(&file); err != nil {
		t.Fatal(err)
	}
	source, err := pcapfile.New(&file, "generated", pcapfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// Windows of seeded captures of both transports are what one packet after another in Go gives, whether the rows of the flow
// are kept in memory or read anew each time.
func TestSequenceWindowsOfSeededCaptures(t *testing.T) {
	s := open(t, "sequence_windows")
	for seed := range uint64(2) {
		roce := storedFile(t, s, generated(t, func(w *bytes.Buffer) error {
			c := capgen.Default()
			c.Seed, c.Packets, c.Connections, c.MinMessage, c.PathMTU = seed, 1500, 2, 1, 256
			c.Mix = capgen.Mix{Write: 4, Send: 2, Read: 3, Atomic: 1}
			c.Faults = capgen.Faults{LossBefore: 0.05, LossAfter: 0.05, Timeout: 0.02, RNR: 0.05, Reorder: 0.05, Mark: 0.1, ReadLoss: 0.05, CaptureMiss: 0.02}
			_, err := capgen.Generate(w, pcapfile.FormatPcap, c)
			return err
		}), nil)
		meta := storedFile(t, s, generated(t, func(w *bytes.Buffer) error {
			c := capgen.DefaultMeta()
			c.Seed, c.Connections, c.Paths, c.Messages, c.MTU = seed, 1, 5, 20, 256
			c.LossBefore, c.LossAfter, c.Mark, c.Duplicate, c.CaptureMiss, c.Reads = 0.03, 0.03, 0.1, 0.01, 0.01, true
			_, err := capgen.GenerateMeta(w, pcapfile.FormatPcap, c)
			return err
		}), nil)
		for _, capture := range []uuid.UUID{roce, meta} {
			page, err := s.Flows(t.Context(), capture, store.FlowQuery{Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			for i := range page.Flows {
				compareWindows(t, s, capture, page.Flows[i].ID, rand.New(rand.NewPCG(seed, uint64(i))))
			}
		}
	}
}

func compareWindows(t *testing.T, s *store.Store, capture uuid.UUID, id flow.ID, random *rand.Rand) {
	t.Helper()
	want := reference(t, s, capture, id)
	if len(want) == 0 {
		return
	}
	for range 2 {
		from, to := random.IntN(len(want)), 1+random.IntN(len(want))
		if from >= to {
			from, to = to-1, from+1
		}
		begin, end := time.Unix(0, want[from].At), time.Unix(0, want[to-1].At+1)
		var inside []store.SequenceRow
		for i := range want {
			if want[i].At >= want[from].At && want[i].At <= want[to-1].At {
				inside = append(inside, want[i])
			}
		}
		for _, longer := range []int{1 << 20, 0} {
			store.ForgetSequences(s)
			store.ReadSequencesAnew(s, longer)
			got := sequence(t, s, capture, id, store.SequenceQuery{From: &begin, To: &end, Bins: 500})
			for j := range got.Rows {
				if path := got.Tracks[got.Rows[j].Track].Path; path != nil {
					got.Rows[j].Track = int(*path)
				}
			}
			if diff := gocmp.Diff(inside, got.Rows); diff != "" || got.Packets != uint64(len(inside)) {
				t.Fatalf("capture %s, flow %d, keeping up to %d rows, %d packets from %d to %d differ (-want +got):\n%.3000s", capture, id, longer, len(want), from, to, diff)
			}
		}
	}
}

// A sequence of more packets than are kept in memory is binned alike.
func TestSequenceThatIsTooLongToBeKept(t *testing.T) {
	s := open(t, "sequence_long")
	id := long(t, s, 40_000)
	all := sequence(t, s, id, requester, store.SequenceQuery{Bins: 500})
	begin, end := time.Unix(0, all.Start+all.Span/5), time.Unix(0, all.Start+all.Span*4/5)
	kept := sequence(t, s, id, requester, store.SequenceQuery{Bins: 500, From: &begin, To: &end})
	store.ForgetSequences(s)
	store.ReadSequencesAnew(s, 30_000)
	if diff := gocmp.Diff(all, sequence(t, s, id, requester, store.SequenceQuery{Bins: 500})); diff != "" {
		t.Errorf("all of it differs (-kept +anew):\n%.3000s", diff)
	}
	anew := sequence(t, s, id, requester, store.SequenceQuery{Bins: 500, From: &begin, To: &end})
	if diff := gocmp.Diff(kept, anew); diff != "" || kept.Bin == 0 {
		t.Errorf("a window, in bins of %d ns, differs (-kept +anew):\n%.3000s", kept.Bin, diff)
	}
}

// What is kept of a capture is not shown any more once it was analysed again, or deleted; who leaves takes nobody's answer along.
func TestSequenceIsOfTheLastAnalysis(t *testing.T) {
	s := open(t, "sequence_again")
	id := long(t, s, 2_000)
	before := sequence(t, s, id, requester, store.SequenceQuery{})
	longAgain(t, s, id, 3_000)
	if after := sequence(t, s, id, requester, store.SequenceQuery{}); after.Packets <= before.Packets {
		t.Errorf("%d packets before and %d after another analysis", before.Packets, after.Packets)
	}
	store.ForgetSequences(s)
	left, leave := context.WithCancel(t.Context())
	leave()
	var waits sync.WaitGroup
	for range 4 {
		waits.Go(func() {
			_, _ = s.Sequence(left, id, requester, store.SequenceQuery{}) // has an answer or none
		})
		waits.Go(func() {
			if got, err := s.Sequence(t.Context(), id, requester, store.SequenceQuery{}); err != nil || got.Packets == 0 {
				t.Errorf("%d packets, %v", got.Packets, err)
			}
		})
	}
	waits.Wait()
	if err := s.DeleteResults(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Sequence(t.Context(), id, requester, store.SequenceQuery{}); err == nil {
		t.Error("a deleted capture has a sequence")
	}
}

// BenchmarkSequence asks for windows of a connection of a million packets.
func BenchmarkSequence(b *testing.B) {
	s := open(b, "rocelens_bench_sequence")
	id := long(b, s, benchmarkRows)
	all := sequence(b, s, id, requester, store.SequenceQuery{Bins: 4000})
	run := func(name string, query store.SequenceQuery, before func()) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				before()
				sequence(b, s, id, requester, query)
			}
		})
	}
	part := func(share int64) store.SequenceQuery {
		from, to := time.Unix(0, all.Start+all.Span*2/5), time.Unix(0, all.Start+all.Span*2/5+all.Span/share)
		return store.SequenceQuery{From: &from, To: &to, Bins: 4000}
	}
	nothing := func() {}
	forget := func() { store.ForgetSequences(s) }
	run("first", store.SequenceQuery{Bins: 4000}, forget)
	run("all", store.SequenceQuery{Bins: 4000}, nothing)
	run("a tenth", part(10), nothing)
	run("a hundredth", part(100), nothing)
	store.ReadSequencesAnew(s, 0)
	forget()
	run("not kept, all", store.SequenceQuery{Bins: 4000}, nothing)
	run("not kept, a tenth", part(10), nothing)
	run("not kept, a hundredth", part(100), nothing)
}
