package store_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rocelens/rocelens/store"
	"github.com/rocelens/rocelens/store/shipping"
	"github.com/rocelens/rocelens/store/wire"
)

func newIngest(t *testing.T, s *store.Store) *store.Ingest {
	t.Helper()
	g, err := s.NewIngest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// everyKind is a batch for each table that agents write, from an agent.
func everyKind(agent uuid.UUID, interval int) []shipping.AgentBatch {
	span := agentSpan(agent, interval)
	account := shipping.AgentInterval{AgentSpan: span, Run: agent, Tier: "af_packet", Up: true, SourceIn: 9, Drops: map[string]uint64{"source: ring full": 2, "spool: full": 1}}
	beat := shipping.AgentHeartbeat{
		Agent: agent, Time: span.End, Host: "host " + agent.String(), Interval: time.Second, Problem: "none",
		Interfaces: []shipping.AgentInterface{{Name: "eth0", Tier: "af_packet", Up: true}, {Name: "eth1"}},
	}
	return append(agentFlows(span, 3), account.Batch(), beat.Batch())
}

// Rows that came through a service, those of several agents in one insert, are what they are when agents ship them themselves.
func TestIngestStoresWhatAgentsShip(t *testing.T) {
	open(t, "direct")
	s := open(t, "ingested")
	g := newIngest(t, s)
	defer g.Close()
	from := openSpool(t, t.TempDir())
	var bodies [][]byte
	rows := 0
	for agent := range 3 {
		var body []byte
		for interval := range 2 {
			for _, b := range everyKind(uuid.UUID{byte(agent + 1)}, interval) {
				addBatches(t, from, b)
				body = store.Frame(body, uuid.New(), interval == 1, b.Data)
				rows += int(b.Rows)
			}
		}
		bodies = append(bodies, body)
	}
	ship(t, newShipper(t, server.Address(), "direct", from), from)
	var agents sync.WaitGroup
	for _, body := range bodies {
		agents.Go(func() {
			if err := g.Take(t.Context(), body); err != nil {
				t.Error(err)
			}
		})
	}
	agents.Wait()
	for _, table := range []string{"agent_flows", "agent_intervals", "agents FINAL"} {
		columns := "* EXCEPT batch"
		if strings.HasPrefix(table, "agents") {
			columns = "* EXCEPT (batch, arrived)"
		}
		const question = "SELECT count(), groupBitXor(cityHash64(toString(tuple(%s)))) FROM %s.%s FORMAT CSV"
		if got, want := ask(t, fmt.Sprintf(question, columns, "ingested", table)), ask(t, fmt.Sprintf(question, columns, "direct", table)); got != want || strings.HasPrefix(got, "0") {
			t.Errorf("%s: rows and their sum are %s, want %s", table, got, want)
		}
	}
	if state := g.State(); state.Rows != uint64(rows) || state.Waiting != 0 || state.Inserts >= state.Batches {
		t.Errorf("the account is %+v, want %d rows and fewer inserts than batches", state, rows)
	}
}

// What comes again, while it is under way or later, is stored once.
func TestIngestStoresEachBatchOnce(t *testing.T) {
	s := open(t, "once")
	g := newIngest(t, s)
	agent := uuid.New()
	var body []byte
	for interval := range 4 {
		for _, b := range agentFlows(agentSpan(agent, interval), 5) {
			body = store.Frame(body, uuid.UUID{byte(interval + 1)}, true, b.Data)
		}
	}
	var tries sync.WaitGroup
	for range 4 {
		tries.Go(func() {
			if err := g.Take(t.Context(), body); err != nil {
				t.Error(err)
			}
		})
	}
	tries.Wait()
	g.Close()
	later := newIngest(t, s)
	defer later.Close()
	if err := later.Take(t.Context(), body); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, "SELECT count(), uniqExact(interval_end, flow_id) FROM once.agent_flows FORMAT CSV"); got != "20,20" {
		t.Errorf("rows, different ones: %s, want 20,20", got)
	}
}

// The connection to the database is cut again and again: agents hear of it at once, send again, and each row is there once.
func TestIngestSurvivesBrokenConnections(t *testing.T) {
	open(t, "cut")
	way := newForwarder(t, server.Address())
	c := config(t, "cut")
	c.Address = way.address()
	s, err := store.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	g := newIngest(t, s)
	t.Cleanup(func() {
		g.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	const agents, batches, rows = 4, 6, 3
	var failures, running sync.WaitGroup
	var refused atomic.Int64
	again := time.NewTicker(10 * time.Millisecond) // agents do not try as fast as they can
	defer again.Stop()
	failures.Go(func() {
		for range 6 {
			way.cut()
			way.mend(t)
			ask(t, "SELECT sleep(0.3)")
		}
	})
	for agent := range agents {
		running.Go(func() {
			for interval := range batches {
				id := uuid.UUID{byte(agent + 1), byte(interval + 1)}
				b := agentFlows(agentSpan(uuid.UUID{byte(agent + 1)}, interval), rows)[0]
				for uncertain := false; ; uncertain = true {
					err := g.Take(t.Context(), store.Frame(nil, id, uncertain, b.Data))
					if err == nil {
						break
					}
					if !errors.Is(err, store.ErrIngestAway) {
						t.Error(err)
						return
					}
					refused.Add(1)
					<-again.C
				}
			}
		})
	}
	running.Wait()
	failures.Wait()
	if refused.Load() == 0 {
		t.Error("no connection broke")
	}
	want := fmt.Sprintf("%d,%d", agents*batches*rows, agents*batches*rows)
	if got := ask(t, "SELECT count(), uniqExact(agent_id, interval_end, flow_id) FROM cut.agent_flows FORMAT CSV"); got != want {
		t.Errorf("rows, different ones: %s, want %s", got, want)
	}
}

// What is not what agents send is refused as a whole.
func TestIngestRefusesWhatIsNoBatch(t *testing.T) {
	s := open(t, "refused")
	g := newIngest(t, s)
	defer g.Close()
	agent := uuid.New()
	good := agentFlows(agentSpan(agent, 0), 2)[0].Data
	plain := store.Plain(good)
	changed := func(old, with string) []byte {
		return store.Compress(bytes.Replace(plain, []byte(old), []byte(with), 1))
	}
	name := func(s string) string { return string(binary.AppendUvarint(nil, uint64(len(s)))) + s }
	damaged := store.Frame(nil, uuid.New(), false, good)
	damaged[len(damaged)-1] ^= 1
	for _, test := range []struct {
		name string
		body []byte
		err  error
	}{
		{"nothing", nil, wire.ErrBadFrames},
		{"cut off", store.Frame(nil, uuid.New(), false, good)[:30], wire.ErrBadFrames},
		{"damaged", damaged, wire.ErrBadFrames},
		{"no batch", store.Frame(nil, uuid.New(), false, []byte("INSERT INTO x")), wire.ErrBadFrames},
		{"no batch, compressed", store.Frame(nil, uuid.New(), false, store.Compress([]byte("INSERT INTO x"))), wire.ErrBadFrames},
		{"a table of others", store.Frame(nil, uuid.New(), false, changed(name("agent_flows"), name("flows"))), wire.ErrBadFrames},
		{"a table that is not there", store.Frame(nil, uuid.New(), false, changed(name("agent_flows"), name("agent_moods"))), store.ErrIngestRefused},
		{"a column that is not there", store.Frame(nil, uuid.New(), false, changed(name("retransmitted"), name("retransmigrat"))), store.ErrIngestRefused},
		{"a column that is the service's", store.Frame(nil, uuid.New(), false, changed(name("vlan"), name("batch"))), wire.ErrBadFrames},
		{"a type that is not taken", store.Frame(nil, uuid.New(), false, changed(name("IPv6"), name("JSON"))), wire.ErrBadFrames},
		{"a type of another width", store.Frame(nil, uuid.New(), false, changed(name("IPv6"), name("IPv4"))), wire.ErrBadFrames},
		{"more than it says", store.Frame(nil, uuid.New(), false, store.Compress(append(bytes.Clone(plain), 7))), wire.ErrBadFrames},
		{"of another agent", store.Frame(nil, uuid.New(), false, store.Compress(bytes.Replace(plain, agent[:], bytes.Repeat([]byte{7}, 16), 1))), wire.ErrBadFrames},
	} {
		t.Run(test.name, func(t *testing.T) {
			// A batch that is good comes with it, and is not stored either.
			body := store.Frame(nil, uuid.New(), false, good)
			if test.body == nil {
				body = nil
			}
			if err := g.Take(t.Context(), append(body, test.body...)); !errors.Is(err, test.err) {
				t.Errorf("the error is %v, want one that is %v", err, test.err)
			}
		})
	}
	if got := ask(t, "SELECT count() FROM refused.agent_flows"); got != "0" {
		t.Errorf("%s rows are stored", got)
	}
	// The values of an enumeration are its own: others could be stored, and never be read again.
	at := bytes.Index(plain, []byte(name("protocol")))
	kind, size := binary.Uvarint(plain[at+9:])
	value := at + 9 + size + int(kind) + 1 + 1 // no prefix, two rows
	if plain[value-1] != 2 {
		t.Fatal("the column is not where it was")
	}
	plain[value] = 99
	if err := g.Take(t.Context(), store.Frame(nil, uuid.New(), false, store.Compress(plain))); !errors.Is(err, wire.ErrBadFrames) {
		t.Errorf("a value that is none gives %v", err)
	}
}

// Agents need not wait for a database that is away.
func TestIngestAnswersWhileTheDatabaseIsAway(t *testing.T) {
	open(t, "gone")
	way := newForwarder(t, server.Address())
	c := config(t, "gone")
	c.Address = way.address()
	s, err := store.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	g := newIngest(t, s)
	body := store.Frame(nil, uuid.New(), false, agentFlows(agentSpan(uuid.New(), 0), 1)[0].Data)
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	way.cut()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for range 3 {
		<-again.C
		if err := g.Take(ctx, body); !errors.Is(err, store.ErrIngestAway) || ctx.Err() != nil {
			t.Errorf("the error is %v", err)
		}
	}
	way.mend(t)
	for err := g.Take(ctx, body); err != nil; err = g.Take(ctx, body) {
		<-again.C
		if !errors.Is(err, store.ErrIngestAway) || ctx.Err() != nil {
			t.Fatal(err)
		}
	}
	g.Close()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if got := ask(t, "SELECT count() FROM gone.agent_flows"); got != strconv.Itoa(1) {
		t.Errorf("%s rows, want 1", got)
	}
}

func FuzzWireBatch(f *testing.F) {
	for _, b := range everyKind(uuid.UUID{1}, 0) {
		f.Add(store.Plain(b.Data))
	}
	f.Fuzz(func(t *testing.T, plain []byte) {
		if err := store.ReadWire(store.Compress(plain)); err != nil && err.Error() == "" {
			t.Error("an error without words")
		}
	})
}
