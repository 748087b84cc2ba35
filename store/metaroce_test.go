package store_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/analysis"
	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/store"
)

// metaFlows stores what it is given, and keeps it.
type metaFlows struct {
	ctx  context.Context //nolint:containedctx // of the test
	a    *store.Analysis
	kept map[flow.ID]flow.Record
}

func (m *metaFlows) Flow(r *flow.Record) error {
	out := r.Clone()
	out.Naks[5], out.Pairing = 3, flow.PairingAddresses // by names that RoCE does not have
	err := m.a.Flow(m.ctx, &out)
	out.MetaRoCE = nil
	m.kept[out.ID] = out
	return err
}

func TestFlowsOfMetaRoCEComeBack(t *testing.T) {
	s := open(t, "metaroce")
	c := newCapture("spray.pcap")
	a, err := s.BeginAnalysis(t.Context(), c.ID)
	if err != nil {
		t.Fatal(err)
	}
	const name = "../testdata/metaroce-spray.pcap"
	source, err := pcapfile.Open(name, pcapfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	sink := &metaFlows{ctx: t.Context(), a: a, kept: map[flow.ID]flow.Record{}}
	if _, err := analysis.Run(t.Context(), source, analysis.Config{}, sink); err != nil {
		t.Fatal(err)
	}
	if err := a.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	page, err := s.Flows(t.Context(), c.ID, store.FlowQuery{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Flows) != 2 {
		t.Fatalf("%d flows", len(page.Flows))
	}
	for i := range page.Flows {
		got := page.Flows[i].Record
		if diff := cmp.Diff(sink.kept[got.ID], got); diff != "" {
			t.Errorf("stored -, read +\n%s", diff)
		}
	}
	asked := ask(t, "SELECT DISTINCT service, pairing, naks_by_code['stream_unknown'] FROM metaroce.flows FORMAT CSV")
	if asked != `"MetaRoCE","addresses",3` {
		t.Error(asked)
	}
}
