package store_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/store"
	"github.com/rocelens/rocelens/store/shipping"
	"github.com/rocelens/rocelens/store/spool"
)

// firstInterval is recent: what is older than the tables keep is not stored.
var firstInterval = time.Now().UTC().Truncate(time.Second).Add(-time.Hour)

// agentSpan is an interval of an interface of an agent.
func agentSpan(agent uuid.UUID, interval int) shipping.AgentSpan {
	begin := firstInterval.Add(time.Duration(interval) * time.Second)
	return shipping.AgentSpan{Agent: agent, Host: "node7", Interface: "eth0", Start: begin, End: begin.Add(time.Second), Missed: 3}
}

// agentFlows are batches of so many flows.
func agentFlows(span shipping.AgentSpan, flows int) []shipping.AgentBatch {
	all := shipping.NewAgentFlows()
	for i := range flows {
		r := fullFlow()
		r.ID = flow.ID(i + 1)
		all.Append(&r)
	}
	return all.Batches(span)
}

func openSpool(t *testing.T, directory string) *spool.Spool {
	t.Helper()
	s, err := spool.Open(directory, spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func addBatches(t *testing.T, s *spool.Spool, batches ...shipping.AgentBatch) {
	t.Helper()
	for _, b := range batches {
		if err := s.Add(spool.Entry{Data: b.Data, Units: b.Rows, Time: start}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Sync(); err != nil {
		t.Fatal(err)
	}
}

func newShipper(t *testing.T, address, database string, from shipping.AgentSpool) *shipping.Shipper {
	t.Helper()
	c := config(t, database)
	s, err := shipping.NewShipper(shipping.ShipperConfig{
		Address: address, Account: c.Account, Database: database, FirstDelay: time.Millisecond, LastDelay: 20 * time.Millisecond,
	}, from)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ship runs a shipper until nothing waits in the spool.
func ship(t *testing.T, s *shipping.Shipper, from *spool.Spool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	for from.State().Records > 0 {
		select {
		case <-s.Progress():
		case <-ctx.Done():
			t.Fatalf("%d batches still wait: %s", from.State().Records, s.State().Problem)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

func TestAgentRowsComeBackAsTheyWere(t *testing.T) {
	open(t, "shipped")
	agent, run := uuid.New(), uuid.New()
	span := agentSpan(agent, 0)
	interval := shipping.AgentInterval{
		AgentSpan: span, Run: run, Tier: "af_packet", Up: true, InterfacePackets: flow.Count{N: 110, Known: true},
		SourceIn: 103, SourceOut: 100, SourceHeld: 1, DecodeOut: 90, TrackOut: 80, SpoolOut: 70, Drops: map[string]uint64{"source: ring full": 2},
		Bytes: 5000, RDMABytes: 4000, FlowRows: 7, PathRows: 5, SpooledRows: 12,
	}
	heartbeat := shipping.AgentHeartbeat{
		Agent: agent, Time: span.End, Run: run, Started: span.Start, Host: "node7", Version: "v1", Kernel: "6.1", Architecture: "amd64",
		Interval: time.Second, Interfaces: []shipping.AgentInterface{{Name: "eth0", Tier: "af_packet", Up: true}, {Name: "eth1", Tier: "af_packet"}},
		Problem: "eth1 is down", PacketsPerSecond: 100.5, RDMAPacketsPerSecond: 90, BitsPerSecond: 40000, Drops: map[string]uint64{"source: ring full": 2},
		SpoolRows: 1, SpoolBatches: 2, SpoolBytes: 3, SpoolLimit: 4, SpoolTornBytes: 5, SpoolDamaged: 6, Lag: 7, ShippedRows: 8, RefusedRows: 9, Failures: 10,
	}
	later := heartbeat
	later.Time, later.Problem = later.Time.Add(time.Second), ""
	from := openSpool(t, t.TempDir())
	addBatches(t, from, agentFlows(span, 5)...)
	addBatches(t, from, interval.Batch(), heartbeat.Batch(), later.Batch())
	s := newShipper(t, server.Address(), "shipped", from)
	ship(t, s, from)

	for _, q := range []struct{ query, want string }{
		{
			"SELECT count(), uniqExact(flow_id), any(host), any(interface), any(missed), any(toUnixTimestamp(interval_end)) - any(toUnixTimestamp(interval_start)) FROM shipped.agent_flows WHERE agent_id = '" + agent.String() + "' FORMAT CSV",
			`5,5,"node7","eth0",3,1`,
		},
		{
			"SELECT tier, up, interface_packets, interface_dropped, source_in, source_out, source_held, decode_out, track_out, spool_out, drops['source: ring full'], bytes, rdma_bytes, flow_rows, path_rows, spooled_rows FROM shipped.agent_intervals WHERE run = '" + run.String() + "' FORMAT CSV",
			`"af_packet",1,110,\N,103,100,1,90,80,70,2,5000,4000,7,5,12`,
		},
		{
			"SELECT host, version, kernel, architecture, interval_ns, interfaces, tiers, up, problem, packets_per_second, drops['source: ring full'], spool_rows, spool_batches, spool_bytes, spool_limit, spool_torn_bytes, spool_damaged, lag_ns, shipped_rows, refused_rows, failures FROM shipped.agents FINAL WHERE agent_id = '" + agent.String() + "' FORMAT CSV",
			`"node7","v1","6.1","amd64",1000000000,"['eth0','eth1']","['af_packet','af_packet']","[1,0]","",100.5,2,1,2,3,4,5,6,7,8,9,10`,
		},
	} {
		if got := ask(t, q.query); got != q.want {
			t.Errorf("%s:\n got %s\nwant %s", q.query, got, q.want)
		}
	}
	if got := s.State(); got.ConfirmedRows["agent_flows"] != 5 || got.ConfirmedBatches != 4 || got.Problem != "" {
		t.Errorf("the shipper's account is %+v", got)
	}
}

// What an interval takes back of an earlier one is negative, and together they are right.
func TestAgentRowsTakeBack(t *testing.T) {
	open(t, "taken")
	from := openSpool(t, t.TempDir())
	agent := uuid.New()
	minus := func(n uint64) flow.Count { return flow.Count{N: -n, Known: true} }
	for i, n := range []flow.Count{{N: 5, Known: true}, minus(3), {}} {
		rows := shipping.NewAgentFlows()
		rows.Append(&flow.Record{
			ID: 1, MissingPSNs: n, MissingAcknowledged: n, Retransmitted: n, RetransmittedNAK: n, RetransmittedRNR: n, RetransmittedTimeout: n, OutOfOrder: n,
			MetaRoCE: &flow.MetaRoCERecord{Paths: []flow.PathRecord{{MissingPSNs: n.N, MissingAcknowledged: n}}},
		})
		addBatches(t, from, rows.Batches(agentSpan(agent, i))...)
	}
	ship(t, newShipper(t, server.Address(), "taken", from), from)
	for table, columns := range map[string][]string{
		"agent_paths": {"missing_psns", "missing_acknowledged"},
		"agent_flows": {
			"missing_psns", "missing_acknowledged", "retransmitted", "retransmitted_after_nak", "retransmitted_after_rnr",
			"retransmitted_after_timeout", "out_of_order",
		},
	} {
		for _, c := range columns {
			if got := ask(t, fmt.Sprintf("SELECT min(%s), sum(%[1]s) FROM taken.%s FORMAT CSV", c, table)); got != "-3,2" {
				t.Errorf("%s of %s: %s", c, table, got)
			}
		}
	}
}

// What nobody found out of a flow that the kernel counted is NULL, and what was found out of the one beside it is not.
func TestAgentRowsLeaveOpenWhatNobodySaw(t *testing.T) {
	open(t, "counted")
	from := openSpool(t, t.TempDir())
	all := flow.UnseenPackets | flow.UnseenSequence | flow.UnseenDuplicates | flow.UnseenChanges | flow.UnseenState
	rows := shipping.NewAgentFlows()
	for id, unseen := range []flow.Unseen{0, all} {
		rows.Append(&flow.Record{
			ID: flow.ID(id), Packets: 7, FirstNumber: 3, LastNumber: 9, MirrorCopies: 1, Unseen: unseen,
			MetaRoCE: &flow.MetaRoCERecord{Paths: []flow.PathRecord{{
				Packets: 7, FirstNumber: 3, LastNumber: 9, PSNGaps: 2, MissingPSNs: math.MaxUint64, OutOfOrder: 4, Duplicates: 5, Naks: 6, Unseen: unseen,
				Ports: []flow.PortUse{{Port: 49152, Packets: 7, FirstNumber: 3}},
			}}},
		})
	}
	addBatches(t, from, rows.Batches(agentSpan(uuid.New(), 0))...)
	ship(t, newShipper(t, server.Address(), "counted", from), from)
	for question, want := range map[string]string{
		"packets, first_number, last_number, mirror_copies, connection_requests, streams_seen, probes FROM counted.agent_flows ORDER BY flow_id":                                                       "7,3,9,1,0,0,0\n7,\\N,\\N,\\N,\\N,\\N,0",
		"packets, first_number, psn_gaps, missing_psns, lost, out_of_order, duplicates, naks, re_paths, state, source_ports.port, source_ports.first_number FROM counted.agent_paths ORDER BY flow_id": "7,3,2,-1,-1,4,5,6,0,\"in use\",\"[49152]\",\"[3]\"\n7,\\N,\\N,\\N,\\N,\\N,\\N,\\N,\\N,\\N,\"[49152]\",\"[NULL]\"",
	} {
		if got := ask(t, "SELECT "+question+" FORMAT CSV"); got != want {
			t.Errorf("%s:\n%s", question, got)
		}
	}
}

// A flow's columns in agent_flows are those of flows, so that a question to one can be put to the other. Counts may be signed, and
// unknown, there.
func TestAgentFlowsHaveTheColumnsOfFlows(t *testing.T) {
	open(t, "alike")
	const column = "name, replaceRegexpOne(replace(type, 'UInt64', 'Int64'), 'Nullable\\\\((.*)\\\\)', '\\\\1')"
	for _, table := range []string{"flows", "paths"} {
		missing := ask(t, fmt.Sprintf("SELECT name, type FROM system.columns WHERE database = 'alike' AND table = '%s' AND name != 'capture_id'"+
			" AND ("+column+") NOT IN (SELECT "+column+" FROM system.columns WHERE database = 'alike' AND table = 'agent_%[1]s') FORMAT CSV", table))
		if missing != "" {
			t.Errorf("agent_%s lacks columns of %s:\n%s", table, table, missing)
		}
	}
}

// The connection is cut again and again while batches are under way: each arrives once.
func TestEachBatchArrivesOnceThoughConnectionsBreak(t *testing.T) {
	open(t, "broken")
	const batches, rows = 60, 20
	from := openSpool(t, t.TempDir())
	agent := uuid.New()
	for i := range batches {
		addBatches(t, from, agentFlows(agentSpan(agent, i), rows)...)
	}
	way := newForwarder(t, server.Address())
	s := newShipper(t, way.address(), "broken", from)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	for i := 0; from.State().Records > 0; i++ {
		select {
		case <-s.Progress():
		case <-ctx.Done():
			t.Fatalf("%d batches still wait: %s", from.State().Records, s.State().Problem)
		}
		if i < batches/2 {
			way.cut()
			way.mend(t)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if got, want := ask(t, "SELECT count(), uniqExact(interval_end, flow_id), uniqExact(batch) FROM broken.agent_flows FORMAT CSV"), fmt.Sprintf("%d,%d,%d", batches*rows, batches*rows, batches); got != want {
		t.Errorf("rows, different ones, batches: %s, want %s", got, want)
	}
	if s.State().Failures == 0 {
		t.Error("no connection broke")
	}
}

// An agent that is killed before it has noted what arrived sends it again, and finds it there.
func TestWhatHadArrivedBeforeAStartIsNotStoredTwice(t *testing.T) {
	open(t, "restarted")
	const batches, rows = 5, 7
	agent := uuid.New()
	directory := t.TempDir()
	first := openSpool(t, directory)
	for i := range batches {
		addBatches(t, first, agentFlows(agentSpan(agent, i), rows)...)
	}
	before := t.TempDir()
	if err := os.CopyFS(before, os.DirFS(directory)); err != nil {
		t.Fatal(err)
	}
	ship(t, newShipper(t, server.Address(), "restarted", first), first)
	second := openSpool(t, before)
	if got := second.State().Records; got != batches {
		t.Fatalf("%d batches wait after the start, want %d", got, batches)
	}
	addBatches(t, second, agentFlows(agentSpan(agent, batches), rows)...)
	s := newShipper(t, server.Address(), "restarted", second)
	ship(t, s, second)
	if got, want := ask(t, "SELECT count() FROM restarted.agent_flows"), strconv.Itoa((batches+1)*rows); got != want {
		t.Errorf("%s rows, want %s", got, want)
	}
}

// Rows wait while the database has no tables for them, and the reason names what to do.
func TestRowsWaitForTheirTables(t *testing.T) {
	from := openSpool(t, t.TempDir())
	addBatches(t, from, agentFlows(agentSpan(uuid.New(), 0), 3)...)
	config(t, "awaited") // skips without a database
	s := newShipper(t, server.Address(), "awaited", from)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	for s.State().Failures < 2 {
		if ctx.Err() != nil {
			t.Fatal("nothing was tried")
		}
	}
	if got := s.State().Problem; !strings.Contains(got, "rocelens migrate") {
		t.Errorf("the problem is %q", got)
	}
	open(t, "awaited")
	for from.State().Records > 0 {
		select {
		case <-s.Progress():
		case <-ctx.Done():
			t.Fatalf("the rows still wait: %s", s.State().Problem)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if got := s.State().Problem; got != "" {
		t.Errorf("the problem is still %q", got)
	}
}

// What is no batch is given up and counted, and holds up nothing.
func TestUnreadableBatchesAreCountedAndLetGo(t *testing.T) {
	open(t, "unreadable")
	from := openSpool(t, t.TempDir())
	good := agentFlows(agentSpan(uuid.New(), 0), 3)[0]
	addBatches(t, from, shipping.AgentBatch{Data: []byte("no batch"), Rows: 4}, good)
	s := newShipper(t, server.Address(), "unreadable", from)
	ship(t, s, from)
	if got := s.State(); got.Refused[shipping.RefusedUnreadable] != 4 || got.ConfirmedRows["agent_flows"] != 3 {
		t.Errorf("the shipper's account is %+v", got)
	}
}

func FuzzAgentBatch(f *testing.F) {
	f.Add([]byte{})
	f.Add(agentFlows(agentSpan(uuid.UUID{1}, 0), 2)[0].Data)
	heartbeat := shipping.AgentHeartbeat{}
	f.Add(heartbeat.Batch().Data)
	f.Add(store.Compress(binary.AppendUvarint([]byte{1, 6, 'a', 'g', 'e', 'n', 't', 's'}, 1<<62)))
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := store.ReadBatch(data); err != nil && err.Error() == "" {
			t.Error("an error without words")
		}
	})
}
