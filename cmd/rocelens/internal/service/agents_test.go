package service_test

import (
	"bufio"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/cmd/rocelens/internal/service"
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/server/api"
	"github.com/rocelens/rocelens/store/access"
	"github.com/rocelens/rocelens/store/embedded"
	"github.com/rocelens/rocelens/store/shipping"
	"github.com/rocelens/rocelens/store/spool"
)

// simulated is an agent whose rows are made by what a real one makes them with.
type simulated struct {
	id, run uuid.UUID
	host    string
	at      time.Time // end of its next interval
}

func simulate(host string) *simulated {
	return &simulated{id: uuid.New(), run: uuid.New(), host: host, at: time.Now().UTC().Truncate(time.Second).Add(-10 * time.Second)}
}

// address is 10.0.0.n as flows have it.
func address(n byte) (a dissector.Address) {
	copy(a[:], []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, n})
	return a
}

// report is what it ships of an interval with so many flows, the first of which is the busiest, and a heartbeat.
func (a *simulated) report(flows int, problem string) []shipping.AgentBatch {
	span := shipping.AgentSpan{Agent: a.id, Host: a.host, Interface: "eth0", Start: a.at.Add(-time.Second), End: a.at}
	rows := shipping.NewAgentFlows()
	var packets, bytes uint64
	for i := range flows {
		r := flow.Record{
			ID: flow.ID(i + 1), ConnectionID: flow.ID(i + 1), Packets: uint64(100 * (flows - i)), Bytes: uint64(100_000 * (flows - i)), HasTime: true,
			FirstTime: span.Start.UnixNano(), LastTime: span.End.UnixNano() - 1, Retransmitted: flow.Count{N: uint64(i), Known: true},
			Key: flow.Key{Source: address(1), Destination: address(byte(2 + i)), DestinationQP: uint32(17 + i), Service: infiniband.ServiceRC, Protocol: dissector.ProtocolRoCEv2},
		}
		packets, bytes = packets+r.Packets, bytes+r.Bytes
		rows.Append(&r)
	}
	batches := rows.Batches(span)
	account := shipping.AgentInterval{
		AgentSpan: span, Run: a.run, Tier: "af_packet", Up: true, SourceIn: packets + 7, SourceOut: packets + 5, SourceHeld: 0, DecodeOut: packets,
		TrackOut: packets, SpoolOut: packets, Drops: map[string]uint64{"source: ring full": 2, "decode: not RDMA": 5}, Bytes: bytes + 500, RDMABytes: bytes,
		FlowRows: uint64(flows), SpooledRows: uint64(flows),
	}
	beat := shipping.AgentHeartbeat{
		Agent: a.id, Time: a.at, Run: a.run, Started: a.at.Add(-time.Hour), Host: a.host, Version: "v1", Kernel: "6.1", Architecture: "amd64",
		Interval: time.Second, Interfaces: []shipping.AgentInterface{{Name: "eth0", Tier: "af_packet", Up: true, RDMA: "mlx5_0/1", Bypassed: true}}, Problem: problem,
		PacketsPerSecond: float64(packets), BitsPerSecond: float64(8 * bytes), Drops: map[string]uint64{"source: ring full": 2}, SpoolRows: 3, SpoolLimit: 1 << 30,
	}
	batches = append(batches, shipping.PortCountersBatch(span, []shipping.PortCounter{
		{Source: 1, Device: "mlx5_0", Port: 1, Name: "packet_seq_err", Value: flow.Count{N: 1000, Known: true}, Delta: flow.Count{N: 9, Known: true}},
		{Source: 4, Device: "mlx5_0", Port: 1, Name: "qos/trust", Setting: "dscp"},
	})...)
	a.at = a.at.Add(time.Second)
	return append(batches, account.Batch(), beat.Batch())
}

// fleet is a service and the database that agents ship to.
type fleet struct {
	*running
	database *embedded.Server
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	needDatabase(t)
	server, err := embedded.Start(t.Context(), embedded.Options{Data: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.Background())) })
	database := service.Database{Address: server.Address(), HTTPAddress: server.HTTPAddress()}
	database.User, database.Password = server.Credentials()
	database.Reader, database.ReaderPassword = server.ReaderCredentials()
	config := service.Config{DataDir: t.TempDir(), Database: database}
	r, err := launch(config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.stop()) }) // a second time for those who stop it themselves
	return &fleet{r, server}
}

// ship brings batches to the database, as an agent does.
func (r *fleet) ship(t *testing.T, batches ...shipping.AgentBatch) {
	t.Helper()
	from, err := spool.Open(t.TempDir(), spool.Options{})
	require.NoError(t, err)
	for _, b := range batches {
		require.NoError(t, from.Add(spool.Entry{Data: b.Data, Units: b.Rows, Time: 1}))
	}
	require.NoError(t, from.Sync())
	user, password := r.database.Credentials()
	s, err := shipping.NewShipper(shipping.ShipperConfig{Address: r.database.Address(), Account: access.Account{User: user, Password: password}, FirstDelay: time.Millisecond}, from)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	for from.State().Records > 0 {
		select {
		case <-s.Progress():
		case <-t.Context().Done():
			t.Fatal(s.State().Problem)
		}
	}
	cancel()
	require.NoError(t, <-ended)
	require.NoError(t, from.Close())
}

func TestAgents(t *testing.T) {
	s := newFleet(t)
	t.Run("as they say they are", func(t *testing.T) { testAgents(t, s) })
	t.Run("over a span of time", func(t *testing.T) { testAgentHistory(t, s) })
	t.Run("with what they found", func(t *testing.T) { testAgentFindings(t, s) })
	t.Run("live", func(t *testing.T) { testLiveView(t, s) })
	t.Run("live to so many", func(t *testing.T) { testLiveClientsAreBounded(t, s) })
	t.Run("live until the stop", func(t *testing.T) { testStoppingEndsLiveViews(t, s) })
}

func testAgents(t *testing.T, s *fleet) {
	t.Helper()
	well, troubled := simulate("agents-b"), simulate("agents-a")
	s.ship(t, well.report(3, "")...)
	s.ship(t, well.report(4, "")...)
	s.ship(t, troubled.report(0, "eth0 is down")...)

	var list api.AgentList
	s.get(t, "/agents").into(t, &list)
	byID := map[uuid.UUID]api.Agent{}
	var order []string
	for _, a := range list.Agents {
		byID[a.Id] = a
		order = append(order, a.Host)
	}
	require.IsIncreasing(t, order)
	require.EqualValues(t, len(list.Agents), list.Total)
	require.Equal(t, api.AgentStateOk, byID[well.id].State)
	require.Nil(t, byID[well.id].Problem)
	require.Equal(t, []api.AgentInterface{{Name: "eth0", Tier: "af_packet", Up: true, Rdma: "mlx5_0/1", Bypassed: true}}, byID[well.id].Interfaces)
	require.Equal(t, map[string]int64{"source: ring full": 2}, byID[well.id].Drops)
	require.EqualValues(t, 3, byID[well.id].Spool.Rows)
	require.Equal(t, api.AgentStateProblem, byID[troubled.id].State)
	require.Equal(t, "eth0 is down", *byID[troubled.id].Problem)

	var detail api.AgentDetail
	s.get(t, "/agents/"+well.id.String()).into(t, &detail)
	require.Equal(t, "agents-b", detail.Agent.Host)
	require.Len(t, detail.Accounts, 2)
	newest := detail.Accounts[0]
	require.True(t, newest.End.After(detail.Accounts[1].End))
	require.EqualValues(t, 1000, newest.SpoolOut)
	require.Equal(t, newest.SourceIn, newest.SourceOut+newest.Drops["source: ring full"])
	require.Nil(t, newest.InterfacePackets)

	var flows api.AgentFlowList
	s.get(t, "/agents/"+well.id.String()+"/flows").into(t, &flows)
	require.EqualValues(t, 4, flows.Total)
	require.Equal(t, well.at.Add(-time.Second), flows.To.UTC())
	require.EqualValues(t, 400, flows.Flows[0].Packets)
	require.InDelta(t, 3_200_000, flows.Flows[0].BitsPerSecond, 1)
	require.Equal(t, "10.0.0.1", flows.Flows[0].Source)
	require.Equal(t, "RC", flows.Flows[0].Service)
	require.Equal(t, "RoCEv2", flows.Flows[0].Protocol)
	require.Nil(t, flows.Flows[0].MissingPsns, "what is unknown is not 0")

	var both api.AgentFlowList
	s.get(t, "/agents/"+well.id.String()+"/flows?intervals=2&sort=retransmitted&filter=retransmitted+10.0.0&limit=1&interface=eth0").into(t, &both)
	require.EqualValues(t, 3, both.Total)
	require.Len(t, both.Flows, 1)
	require.EqualValues(t, 300, both.Flows[0].Packets)
	s.get(t, "/agents/"+well.id.String()+"/flows?intervals=2&filter=17").into(t, &both)
	require.EqualValues(t, 700, both.Flows[0].Packets)

	var none api.AgentFlowList
	s.get(t, "/agents/"+troubled.id.String()+"/flows").into(t, &none)
	require.Empty(t, none.Flows)
	nobody := "/agents/" + uuid.NewString()
	require.Contains(t, *s.get(t, nobody).problem(t, http.StatusNotFound).Detail, "has ever reported")
	s.get(t, nobody+"/flows").problem(t, http.StatusNotFound)
	s.get(t, nobody+"/live").problem(t, http.StatusNotFound)
	s.get(t, "/agents/"+well.id.String()+"/flows?filter=nonsense").problem(t, http.StatusBadRequest)
}

// events reads a stream of events.
type events struct {
	body   *bufio.Scanner
	header http.Header
	leave  func()
}

func (r *running) watch(t *testing.T, path, last string) *events {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.base+"/api/v1"+path, http.NoBody)
	require.NoError(t, err)
	if last != "" {
		request.Header.Set("Last-Event-ID", last)
	}
	response, err := client.Do(request) //nolint:bodyclose // leave does
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode)
	hold(t, request, reply{status: response.StatusCode, header: response.Header, body: []byte(":")})
	scanner := bufio.NewScanner(response.Body)
	scanner.Buffer(nil, 16<<20)
	out := &events{body: scanner, header: response.Header, leave: func() {
		cancel()
		response.Body.Close()
	}}
	t.Cleanup(out.leave)
	return out
}

// next is the next event; ok is false when the stream ends.
func (e *events) next(t *testing.T) (id string, event api.AgentsEvent, ok bool) {
	t.Helper()
	for e.body.Scan() {
		line := e.body.Text()
		if text, found := strings.CutPrefix(line, "id: "); found {
			id = text
		}
		if text, found := strings.CutPrefix(line, "data: "); found {
			require.NoError(t, json.Unmarshal([]byte(text), &event))
			return id, event, true
		}
	}
	return "", event, false
}

func testLiveView(t *testing.T, s *fleet) {
	t.Helper()
	agent, other := simulate("live-a"), simulate("live-b")
	s.ship(t, append(agent.report(3, ""), other.report(2, "")...)...)
	path := "/agents/" + agent.id.String() + "/live"
	stream, all := s.watch(t, path, ""), s.watch(t, "/agents/live", "")
	require.Equal(t, "text/event-stream", stream.header.Get("Content-Type"))
	require.Equal(t, "no", stream.header.Get("X-Accel-Buffering"))
	first, event, ok := stream.next(t)
	require.True(t, ok)
	require.Len(t, event.Agents, 1)
	require.Equal(t, "live-a", event.Agents[0].Host)
	require.Len(t, event.Accounts, 1)
	require.EqualValues(t, 600, event.Accounts[0].SpoolOut)
	require.Len(t, event.Flows, 3)
	require.EqualValues(t, 300, event.Flows[0].Packets)

	_, together, ok := all.next(t)
	require.True(t, ok)
	hosts := map[string]bool{}
	for _, a := range together.Accounts {
		hosts[a.Host] = true
	}
	require.True(t, hosts["live-a"] && hosts["live-b"], "%v", hosts)

	s.ship(t, agent.report(5, "")...)
	for len(event.Accounts) == 0 || event.Accounts[0].FlowRows != 5 {
		_, event, ok = stream.next(t)
		require.True(t, ok)
	}
	require.Len(t, event.Accounts, 1, "what was shown is not shown again")
	stream.leave()

	// Who comes back gets what it has missed, and who was never there how things stand.
	again := s.watch(t, path, first)
	var missed []api.AgentAccount
	for len(missed) == 0 {
		_, event, ok = again.next(t)
		require.True(t, ok)
		missed = append(missed, event.Accounts...)
	}
	require.EqualValues(t, 5, missed[0].FlowRows)
	_, event, ok = s.watch(t, path, "").next(t)
	require.True(t, ok)
	require.Len(t, event.Accounts, 1)
	require.Len(t, event.Flows, 5)
}

func testLiveClientsAreBounded(t *testing.T, s *fleet) {
	t.Helper()
	for range 64 {
		s.watch(t, "/agents/live", "")
	}
	refused := s.get(t, "/agents/live")
	refused.problem(t, http.StatusServiceUnavailable)
	require.NotEmpty(t, refused.header.Get("Retry-After"))
}

// A service that stops does not wait for those who watch.
func testStoppingEndsLiveViews(t *testing.T, s *fleet) {
	t.Helper()
	var stream *events
	for stream == nil { // until the service has seen that the clients of the test before have left
		if got, err := http.Get(s.base + "/api/v1/agents/live"); err == nil {
			got.Body.Close()
			if got.StatusCode == http.StatusOK {
				stream = s.watch(t, "/agents/live", "")
			}
		}
	}
	_, event, ok := stream.next(t)
	require.True(t, ok)
	require.NotEmpty(t, event.Agents)
	stopped := make(chan error, 1)
	go func() { stopped <- s.stop() }()
	for ok {
		_, _, ok = stream.next(t)
	}
	require.NoError(t, <-stopped)
}
