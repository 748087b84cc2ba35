package service_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/server/api"
	"github.com/rocelens/rocelens/store/shipping"
)

func spanOf(from, to time.Time) string {
	return "from=" + url.QueryEscape(from.Format(time.RFC3339Nano)) + "&to=" + url.QueryEscape(to.Format(time.RFC3339Nano))
}

// sumOf adds up what is known.
func sumOf(counts api.Counts) (sum int64) {
	for _, n := range counts {
		if n != nil {
			sum += *n
		}
	}
	return sum
}

func testAgentHistory(t *testing.T, s *fleet) {
	t.Helper()
	agent := simulate("history-a")
	begin := agent.at.Add(-time.Second)
	for range 3 {
		s.ship(t, agent.report(2, "")...)
	}
	of := "agent_id=" + agent.id.String()
	path := "/agents/" + agent.id.String()

	// One interval of three, whether its span is touched at its begin or its end.
	var flows api.AgentFlowPage
	s.get(t, "/agents/flows?"+of+"&sort=retransmitted&filter=rc&"+spanOf(begin.Add(1200*time.Millisecond), begin.Add(1900*time.Millisecond))).into(t, &flows)
	require.EqualValues(t, 2, flows.Total)
	require.EqualValues(t, 100, flows.Flows[0].Packets)
	require.EqualValues(t, 1, *flows.Flows[0].Retransmitted)
	require.EqualValues(t, 1, flows.Ledger.Intervals)
	require.Equal(t, begin.Add(time.Second), flows.Ledger.From.UTC())
	require.Equal(t, map[string]int64{"source: ring full": 2, "decode: not RDMA": 5}, flows.Ledger.Drops)
	require.Nil(t, flows.Ledger.Judged, "replay was off")
	s.get(t, "/agents/flows?"+of+"&filter=10.0.0.3").into(t, &flows)
	require.EqualValues(t, 1, flows.Total)
	require.EqualValues(t, 300, flows.Flows[0].Packets)
	s.get(t, "/agents/flows?"+of+"&interface=eth9").into(t, &flows)
	require.Empty(t, flows.Flows)
	require.Zero(t, flows.Ledger.Intervals)
	require.Nil(t, flows.Ledger.From)
	s.get(t, "/agents/flows?"+spanOf(begin, begin)).problem(t, http.StatusBadRequest)
	s.get(t, "/agents/flows?"+spanOf(begin, begin.AddDate(0, 2, 0))).problem(t, http.StatusBadRequest)

	var counters api.PortCounterList
	s.get(t, path+"/counters").into(t, &counters)
	require.Len(t, counters.Counters, 2)
	errors := counters.Counters[0]
	require.Equal(t, "hardware/mlx5_0/1/packet_seq_err", errors.Key)
	require.EqualValues(t, 27, *errors.Delta)
	require.EqualValues(t, 1000, *errors.Value)
	require.Contains(t, *errors.Meaning, "NAK")
	setting := counters.Counters[1]
	require.Equal(t, "dscp", *setting.Setting)
	require.Nil(t, setting.ChangedFrom)
	require.Nil(t, setting.Delta)
	s.get(t, "/agents/"+uuid.NewString()+"/counters").problem(t, http.StatusNotFound)

	// Five seconds, of which the agent knows three.
	var series api.AgentSeries
	s.get(t, path+"/series?interface=eth0&counters="+url.QueryEscape(errors.Key+",driver//0/rx_pause_ctrl_phy")+"&"+spanOf(begin.Add(-time.Second), begin.Add(4*time.Second))).into(t, &series)
	require.Equal(t, "1000000000", series.BucketNs)
	require.Len(t, series.StartNs, 5)
	n := func(v int64) *int64 { return &v }
	require.Equal(t, api.Counts{nil, n(300), n(300), n(300), nil}, series.Packets)
	require.Equal(t, api.Counts{nil, n(1), n(1), n(1), nil}, series.Retransmitted)
	require.Equal(t, api.Counts{nil, nil, nil, nil, nil}, series.MissingPsns, "what is unknown is not 0")
	require.Equal(t, api.Counts{nil, n(9), n(9), n(9), nil}, series.Counters[0].Delta)
	require.Equal(t, api.Counts{nil, nil, nil, nil, nil}, series.Counters[1].Delta)
	s.get(t, path+"/series?interface=eth0&flow_id=2&buckets=10&"+spanOf(begin, begin.Add(20*time.Second))).into(t, &series)
	require.Equal(t, "3000000000", series.BucketNs)
	require.EqualValues(t, 300, sumOf(series.Packets), "wherever buckets of three seconds begin")
	s.get(t, path+"/series?interface=eth0&flow_id=99&"+spanOf(begin, begin.Add(3*time.Second))).into(t, &series)
	require.Equal(t, api.Counts{n(0), n(0), n(0)}, series.Packets, "a flow that no row tells of sent nothing")
	s.get(t, path+"/series?interface=eth0&counters=nonsense").problem(t, http.StatusBadRequest)
}

// repeatedNaks is what an agent ships that found two places where a rule was broken, and one where it may have been.
func repeatedNaks(t *testing.T, span shipping.AgentSpan) []shipping.AgentBatch {
	t.Helper()
	rule, known := finding.Find("roce.nak-repeated")
	require.True(t, known)
	rows := shipping.NewAgentDivergences()
	for i, verdict := range []finding.Verdict{finding.Diverges, finding.Undetermined, finding.Diverges} {
		rows.Append(&finding.Finding{
			Rule: rule, Verdict: verdict, Connection: finding.ConnectionID(7 + i/2), Endpoint: finding.Endpoint{Address: address(2)}, Path: -1,
			Proof: [finding.MaxProof]uint64{uint64(10 + i), 12}, ProofCount: 2,
			Expected: "one NAK", Seen: "two NAKs", Sentence: "the responder sent two NAKs for one gap",
		})
	}
	return rows.Batches(span)
}

func testAgentFindings(t *testing.T, s *fleet) {
	t.Helper()
	agent := simulate("findings-a")
	span := shipping.AgentSpan{Agent: agent.id, Host: agent.host, Interface: "eth0", Start: agent.at.Add(-time.Second), End: agent.at, Missed: 3}
	account := shipping.AgentInterval{AgentSpan: span, Up: true, Judged: flow.Count{N: 90, Known: true}, Divergences: 20, DivergenceRows: 3}
	event := shipping.AgentTrigger{Event: uuid.New(), Time: span.Start, Kind: "divergence", Rule: "roce.nak-repeated", Connection: 7, Sentence: "two NAKs for one gap"}
	first := event.Batch(span)
	event.Fate, event.Record, event.Packets, event.Capture = 3, "file", 40, uuid.UUID{}
	capture := s.analysed(t, s.fresh(t, "event.pcap", fixture(t, "sit-nak-all.pcap")).Id)
	event.Capture = capture.Id
	span.End = span.End.Add(time.Second)
	refused := shipping.AgentTrigger{Event: uuid.New(), Time: span.Start.Add(time.Millisecond), Kind: "signal", Sentence: "SIGUSR1", Fate: 1, Why: "a record is being made"}
	s.ship(t, append(repeatedNaks(t, account.AgentSpan), account.Batch(), first, event.Batch(span), refused.Batch(span))...)
	s.ship(t, agent.report(0, "")...)

	of := "agent_id=" + agent.id.String()
	var rules api.AgentRuleList
	s.get(t, "/agents/rules?"+of).into(t, &rules)
	require.Len(t, rules.Rules, 1)
	require.Nil(t, rules.Rules[0].Conforms)
	require.Equal(t, []int64{2, 1, 2, 2}, []int64{rules.Rules[0].Diverges, rules.Rules[0].Undetermined, rules.Rules[0].Connections, rules.Rules[0].DivergingConnections})
	require.EqualValues(t, 17, rules.Ledger.Untold)
	require.EqualValues(t, 90, *rules.Ledger.Judged)

	var found api.AgentDivergenceList
	s.get(t, "/agents/divergences?"+of+"&rule=roce.nak-repeated&verdict=diverges&connection_id=7").into(t, &found)
	require.EqualValues(t, 1, found.Total)
	require.Equal(t, "the responder sent two NAKs for one gap", found.Divergences[0].Divergence.Sentence)
	require.Equal(t, []int64{10, 12}, found.Divergences[0].Divergence.Packets)
	require.Equal(t, "findings-a", found.Divergences[0].Host)
	require.EqualValues(t, 3, found.Divergences[0].Missed)
	s.get(t, "/agents/divergences?"+of).into(t, &found)
	require.EqualValues(t, 3, found.Total)
	s.get(t, "/agents/divergences?"+of+"&interface=eth1").into(t, &found)
	require.Zero(t, found.Total)
	s.get(t, "/agents/divergences?rule=nonsense").problem(t, http.StatusBadRequest)

	var events api.AgentEventList
	s.get(t, "/agents/events?"+of+"&interface=eth0").into(t, &events)
	require.EqualValues(t, 2, events.Total, "an event is one, however many rows it has")
	require.Equal(t, api.AgentEventFateNotRecorded, events.Events[0].Fate)
	require.Equal(t, "a record is being made", *events.Events[0].Why)
	require.Nil(t, events.Events[0].ConnectionId)
	require.Equal(t, api.AgentEventFateUploaded, events.Events[1].Fate)
	require.Equal(t, capture.Id, *events.Events[1].CaptureId)
	require.Equal(t, "7", *events.Events[1].ConnectionId)
	var back api.AgentEventList
	s.get(t, "/captures/"+capture.Id.String()+"/events").into(t, &back)
	require.Equal(t, events.Events[1:], back.Events)
	s.get(t, "/captures/"+uuid.NewString()+"/events").problem(t, http.StatusNotFound)
}
