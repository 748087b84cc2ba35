package store_test

import (
	"net"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/rocelens/rocelens/analysis"
	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/store"
)

// everything stores packets and flows of a run.
type everything struct {
	t *testing.T
	a *store.Analysis
}

func (e *everything) Packet(p *analysis.PacketEvent) error {
	return e.a.Packet(e.t.Context(), p.Packet, p.Err, p.ICRC, p.Observation, p.Offset)
}

func (e *everything) Flow(r *flow.Record) error { return e.a.Flow(e.t.Context(), r) }

func (e *everything) Revision(r flow.Revision) error {
	e.a.Revise(r)
	return nil
}

// storedFile is a capture file with its packets and flows in a database, and what else is put into it.
func storedFile(t *testing.T, s *store.Store, source *pcapfile.Source, more func(a *store.Analysis)) uuid.UUID {
	t.Helper()
	c := newCapture("file")
	a, err := s.BeginAnalysis(t.Context(), c.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := analysis.Run(t.Context(), source, analysis.Config{}, &everything{t, a}); err != nil {
		t.Fatal(err)
	}
	if err := source.Close(); err != nil {
		t.Fatal(err)
	}
	if more != nil {
		more(a)
	}
	if err := a.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c.ID
}

func opened(t *testing.T, name string) *pcapfile.Source {
	t.Helper()
	source, err := pcapfile.Open(name, pcapfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// What is shown around packets is of their connection alone, and what is left out between them is counted.
func TestSurroundingsOfPackets(t *testing.T) {
	s := open(t, "surroundings")
	id := storedFile(t, s, opened(t, "../testdata/allreduce-loss.pcapng"), nil)
	page, err := s.Flows(t.Context(), id, store.FlowQuery{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	one := page.Flows[0]
	flows, err := s.ConnectionFlows(t.Context(), id, finding.ConnectionID(one.ConnectionID))
	if err != nil || len(flows) != 2 || flows[0].ReverseID != flows[1].ID {
		t.Fatalf("%d flows, %v", len(flows), err)
	}
	all, err := s.Packets(t.Context(), id, store.PacketQuery{Flow: one.ID, BothDirections: true, Limit: 1_000_000})
	if err != nil {
		t.Fatal(err)
	}
	var numbers []uint64
	for i := range all.Packets {
		numbers = append(numbers, all.Packets[i].Number)
	}
	const first, second, third = 10, 14, 100
	near, err := s.Surroundings(t.Context(), id, flows, []uint64{numbers[third], numbers[first], numbers[second]}, 5)
	if err != nil {
		t.Fatal(err)
	}
	var got []uint64
	for i := range near.Packets {
		got = append(got, near.Packets[i].Number)
	}
	if want := slices.Concat(numbers[first-5:second+6], numbers[third-5:third+6]); !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	if want := []store.Gap{{After: numbers[second+5], Packets: third - second - 11}}; !slices.Equal(near.Gaps, want) {
		t.Errorf("gaps %v, want %v", near.Gaps, want)
	}
	// The two runs touch: nothing is left out.
	near, err = s.Surroundings(t.Context(), id, flows, []uint64{numbers[10], numbers[21]}, 5)
	if err != nil || len(near.Packets) != 22 || len(near.Gaps) != 0 {
		t.Errorf("%d packets, gaps %v, %v", len(near.Packets), near.Gaps, err)
	}
	near, err = s.Surroundings(t.Context(), id, nil, []uint64{numbers[0]}, 5)
	if err != nil || len(near.Packets) != 1 {
		t.Errorf("without flows: %d packets, %v", len(near.Packets), err)
	}
}

// A divergence has the same ID whenever the same is found, and another in no capture.
func TestDivergencesHaveIDs(t *testing.T) {
	s := open(t, "divergence_ids")
	found := finding.Finding{
		Rule: finding.RoCENAKRepeated, Verdict: finding.Diverges, Connection: 5, Path: -1, Proof: [finding.MaxProof]uint64{1, 2}, ProofCount: 2, Sentence: "two",
	}
	found.Endpoint.Address = v4a
	var ids [2]uint64
	for i := range ids {
		id := storedFile(t, s, opened(t, "../testdata/derived/sit-loss-nak.pcap"), func(a *store.Analysis) {
			other := found
			other.Proof[0] = 3
			connection := finding.Connection{ID: 5, Vantage: finding.VantageNearRequester}
			connection.Directions[0] = finding.Direction{Sender: finding.Endpoint{Address: v4b}, Packets: 9}
			connection.Directions[1] = finding.Direction{Sender: finding.Endpoint{Address: v4a}, Packets: 8}
			for _, f := range []*finding.Finding{&other, &found} {
				if err := a.Divergence(t.Context(), f); err != nil {
					t.Fatal(err)
				}
			}
			if err := a.Replay(t.Context(), &connection); err != nil {
				t.Fatal(err)
			}
		})
		page, err := s.Divergences(t.Context(), id, store.DivergenceQuery{Limit: 10})
		if err != nil || len(page.Divergences) != 2 || page.Divergences[0].ID == page.Divergences[1].ID {
			t.Fatalf("%+v, %v", page, err)
		}
		ids[i] = page.Divergences[0].ID
		one, err := s.Divergence(t.Context(), id, ids[i])
		if err != nil || !slices.Equal(one.Packets, []uint64{1, 2}) {
			t.Errorf("%+v, %v", one, err)
		}
		if _, err := s.Divergence(t.Context(), uuid.New(), ids[i]); err == nil {
			t.Error("another capture has the divergence")
		}
		vantage, err := s.Vantage(t.Context(), id, 5)
		if err != nil || vantage.Place != "near the requester" || !vantage.Requester.Equal(net.ParseIP("192.0.2.2")) {
			t.Errorf("%+v, %v", vantage, err)
		}
		if vantage, err = s.Vantage(t.Context(), id, 6); err != nil || vantage.Place != "unknown" || vantage.Requester != nil {
			t.Errorf("%+v, %v", vantage, err)
		}
	}
	if ids[0] != ids[1] {
		t.Errorf("IDs %v of the same", ids)
	}
}
