package store_test

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/store"
)

// stream makes the packets of a plausible capture: a few connections that WRITE, one packet a microsecond.
type stream struct {
	packet      dissector.Packet
	connections int
}

func newStream(connections int) *stream {
	s := &stream{connections: connections}
	s.packet = dissector.Packet{
		Data:     make([]byte, 128),
		Protocol: dissector.ProtocolRoCEv2,
		Ethernet: dissector.Ethernet{Source: [6]byte{2, 0, 0, 0, 0, 1}, Destination: [6]byte{2, 0, 0, 0, 0, 2}},
		Network:  dissector.IP{Version: 4, DSCP: 26, ECN: dissector.ECNECT0, TTL: 64, Source: v4a, Destination: v4b},
		UDP:      dissector.UDP{DestinationPort: dissector.PortRoCEv2},
	}
	layers(&s.packet, dissector.LayerEthernet, dissector.LayerIPv4, dissector.LayerUDP, dissector.LayerBTH)
	return s
}

// at is packet i of the stream, from 0, and what a tracker would say of it. The packet is valid until the next call.
func (s *stream) at(i int) (*dissector.Packet, flow.Observation) {
	connection, turn := i%s.connections, i/s.connections
	p := &s.packet
	p.Meta = dissector.Meta{Number: uint64(i) + 1, Time: start + int64(i)*1000 + int64(i*7919%500), HasTime: true, OriginalLength: 4174}
	p.Network.ID = uint16(turn)
	p.Network.Source[15] = byte(connection)
	p.UDP.SourcePort = uint16(0xc000 + connection*37%0x3fff)
	p.BTH = infiniband.BTH{
		Opcode: infiniband.RCWriteMiddle, PartitionKey: 0xffff, DestinationQP: uint32(0x100 + connection),
		PSN: uint32(turn+connection*5000) & 0xffffff,
	}
	p.Has, p.PayloadLength = infiniband.HasBTH, 4096
	switch turn % 16 {
	case 0:
		p.BTH.Opcode = infiniband.RCWriteFirst
		p.Has |= infiniband.HasRETH
		p.RETH = infiniband.RETH{VirtualAddress: 0x7f0000000000 + uint64(turn)<<16, RemoteKey: uint32(0x1000 + connection), DMALength: 65536}
	case 15:
		p.BTH.Opcode, p.BTH.AckRequest = infiniband.RCWriteLast, true
	}
	return p, flow.Observation{Flow: flow.ID(connection)*0x9e3779b97f4a7c15 + 1, Message: uint32(turn/16 + 1)}
}

// feed adds n packets and one flow a connection.
func feed(ctx context.Context, a *store.Analysis, n, connections int) error {
	s := newStream(connections)
	for i := range n {
		p, seen := s.at(i)
		if err := a.Packet(ctx, p, nil, dissector.ICRCGood, seen, int64(i)*144+24); err != nil {
			return err
		}
	}
	for i := range connections {
		r := flow.Record{ID: flow.ID(i)*0x9e3779b97f4a7c15 + 1, Key: flow.Key{Source: v4a, Destination: v4b, DestinationQP: uint32(0x100 + i)}}
		if err := a.Flow(ctx, &r); err != nil {
			return err
		}
	}
	return nil
}

func analyze(ctx context.Context, s *store.Store, capture uuid.UUID, n, connections int) error {
	a, err := s.BeginAnalysis(ctx, capture)
	if err != nil {
		return err
	}
	if err := feed(ctx, a, n, connections); err != nil {
		return errors.Join(err, a.Abort(ctx))
	}
	if err := a.Commit(ctx); err != nil {
		return errors.Join(err, a.Abort(ctx))
	}
	return nil
}

// stored is how many packets and flows of a capture the tables hold.
func stored(t *testing.T, s *store.Store, capture uuid.UUID) (packets, flows uint64) {
	t.Helper()
	page, err := s.Packets(t.Context(), capture, store.PacketQuery{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.Flows(t.Context(), capture, store.FlowQuery{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	return page.Total, list.Total
}

func wantStored(t *testing.T, s *store.Store, capture uuid.UUID, packets, flows uint64) {
	t.Helper()
	if p, f := stored(t, s, capture); p != packets || f != flows {
		t.Errorf("stored = %d packets and %d flows, want %d and %d", p, f, packets, flows)
	}
}

func TestManyCapturesAtOnce(t *testing.T) {
	const packets, connections = 3000, 8
	captures := 300
	if os.Getenv("ROCELENS_RACE") != "" { // where it takes ten times as long
		captures = 80
	}
	s := open(t, "rocelens_many")
	ids := make([]uuid.UUID, captures)
	group, ctx := errgroup.WithContext(t.Context())
	for i := range ids {
		ids[i] = uuid.New()
		group.Go(func() error { return analyze(ctx, s, ids[i], packets, connections) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		wantStored(t, s, id, packets, connections)
	}
}

func TestAbortLeavesNothingAndWhatWasBefore(t *testing.T) {
	s := open(t, "rocelens_abort")
	fresh, old := uuid.New(), uuid.New()
	if err := analyze(t.Context(), s, old, 1000, 2); err != nil {
		t.Fatal(err)
	}
	for _, capture := range []uuid.UUID{fresh, old} {
		a, err := s.BeginAnalysis(t.Context(), capture)
		if err != nil {
			t.Fatal(err)
		}
		if err := feed(t.Context(), a, 20_000, 4); err != nil {
			t.Fatal(err)
		}
		if err := a.Abort(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := a.Commit(t.Context()); !errors.Is(err, store.ErrAborted) {
			t.Errorf("Commit after Abort = %v, want ErrAborted", err)
		}
	}
	wantStored(t, s, fresh, 0, 0)
	wantStored(t, s, old, 1000, 2)
	wantStaged(t, "rocelens_abort", 0)
}

// wantStaged looks behind the store: the staging tables are no part of its interface.
func wantStaged(t *testing.T, database string, want int) {
	t.Helper()
	got := ask(t, "SELECT (SELECT count() FROM "+database+"_staging.packets) + (SELECT count() FROM "+database+"_staging.flows)")
	if got != strconv.Itoa(want) {
		t.Errorf("staged rows = %s, want %d", got, want)
	}
}

func TestAnAnalysisIsNotSeenUntilItIsComplete(t *testing.T) {
	s := open(t, "rocelens_unseen")
	capture := uuid.New()
	a, err := s.BeginAnalysis(t.Context(), capture)
	if err != nil {
		t.Fatal(err)
	}
	if err := feed(t.Context(), a, 50_000, 4); err != nil {
		t.Fatal(err)
	}
	wantStored(t, s, capture, 0, 0)
	if err := a.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantStored(t, s, capture, 50_000, 4)
	wantStaged(t, "rocelens_unseen", 0)
}

func TestAnotherAnalysisReplacesTheFirst(t *testing.T) {
	s := open(t, "rocelens_again")
	capture := uuid.New()
	for _, n := range []int{5000, 300, 0} {
		if err := analyze(t.Context(), s, capture, n, min(n, 3)+1); err != nil {
			t.Fatal(err)
		}
		wantStored(t, s, capture, uint64(n), uint64(min(n, 3)+1))
	}
}

func TestDeleteLeavesOthers(t *testing.T) {
	s := open(t, "rocelens_delete")
	gone, kept := newCapture("gone.pcap"), newCapture("kept.pcap")
	for _, c := range []*store.Capture{gone, kept} {
		if err := s.SaveCapture(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if err := analyze(t.Context(), s, c.ID, 2000, 2); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.DeleteCapture(t.Context(), gone.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Capture(t.Context(), gone.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Capture of a deleted one = %v, want ErrNotFound", err)
	}
	wantStored(t, s, gone.ID, 0, 0)
	if _, err := s.Capture(t.Context(), kept.ID); err != nil {
		t.Error(err)
	}
	wantStored(t, s, kept.ID, 2000, 2)
}

func TestRevisions(t *testing.T) {
	s := open(t, "rocelens_revise")
	capture := uuid.New()
	a, err := s.BeginAnalysis(t.Context(), capture)
	if err != nil {
		t.Fatal(err)
	}
	const n = 30_000
	packets := newStream(2)
	for i := range n {
		p, seen := packets.at(i)
		switch i {
		case 10: // the packet before, in memory
			seen.Revised = flow.Revision{Number: 10, Flags: flow.FlagOutOfOrder}
		case 25_000: // long gone
			seen.Revised = flow.Revision{Number: 3, Flags: flow.FlagRetransmitted | flow.FlagAfterTimeout}
		}
		if err := a.Packet(t.Context(), p, nil, dissector.ICRCGood, seen, -1); err != nil {
			t.Fatal(err)
		}
	}
	for number := uint64(101); number <= 20_200; number++ { // more than one statement holds
		a.Revise(flow.Revision{Number: number, Flags: flow.FlagDuplicate})
	}
	a.Revise(flow.Revision{Number: n, Flags: flow.FlagGapBefore})
	if err := a.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	for number, want := range map[uint64]flow.Flags{
		2: 0, 3: flow.FlagRetransmitted | flow.FlagAfterTimeout, 10: flow.FlagOutOfOrder, 11: 0, 100: 0, 101: flow.FlagDuplicate,
		20_200: flow.FlagDuplicate, 20_201: 0, n: flow.FlagGapBefore,
	} {
		p, err := s.Packet(t.Context(), capture, number)
		if err != nil {
			t.Fatal(err)
		}
		if flow.Flags(p.Flags) != want {
			t.Errorf("flags of packet %d = %#x, want %#x", number, p.Flags, want)
		}
	}
	page, err := s.Packets(t.Context(), capture, store.PacketQuery{Only: "duplicate", Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	if page.Total != 20_100 {
		t.Errorf("duplicates = %d, want 20100", page.Total)
	}
}

func TestADatabaseThatDiesWhileInserting(t *testing.T) {
	s := open(t, "rocelens_death")
	capture := uuid.New()
	a, err := s.BeginAnalysis(t.Context(), capture)
	if err != nil {
		t.Fatal(err)
	}
	const n = 600_000
	packets := newStream(16)
	before := server.Restarts()
	var once sync.Once
	for i := range n {
		p, seen := packets.at(i)
		if err := a.Packet(t.Context(), p, nil, dissector.ICRCGood, seen, -1); err != nil {
			t.Fatal(err)
		}
		if i == n/2 {
			once.Do(func() {
				if err := syscall.Kill(server.ProcessID(), syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
	if err := a.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantStored(t, s, capture, n, 0)
	if server.Restarts() == before {
		t.Error("the database was not started again")
	}
	if got := ask(t, "SELECT uniqExact(number) FROM rocelens_death.packets"); got != strconv.Itoa(n) {
		t.Errorf("distinct packets = %s, want %d", got, n)
	}
}

func TestADatabaseThatStaysAway(t *testing.T) {
	c := config(t, "rocelens_away")
	forward := newForwarder(t, c.Address)
	c.Address, c.Patience = forward.address(), 300*time.Millisecond
	s, err := store.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	a, err := s.BeginAnalysis(t.Context(), uuid.New())
	if err != nil {
		t.Fatal(err)
	}
	forward.cut()
	if err := feed(t.Context(), a, 100, 1); err != nil {
		t.Fatal(err)
	}
	err = a.Commit(t.Context())
	if err == nil || !strings.Contains(err.Error(), "the database did not take it for 300ms") {
		t.Errorf("Commit = %v", err)
	}
	forward.mend(t)
	if err := a.Abort(t.Context()); err != nil {
		t.Errorf("Abort = %v", err)
	}
	wantStored(t, s, uuid.New(), 0, 0)
	wantStaged(t, "rocelens_away", 0)
}

func TestACancelledAnalysisStops(t *testing.T) {
	s := open(t, "rocelens_cancel")
	ctx, cancel := context.WithCancel(t.Context())
	a, err := s.BeginAnalysis(ctx, uuid.New())
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := a.Commit(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Commit = %v, want context.Canceled", err)
	}
	if err := a.Abort(t.Context()); err != nil {
		t.Error(err)
	}
	wantStaged(t, "rocelens_cancel", 0)
}
