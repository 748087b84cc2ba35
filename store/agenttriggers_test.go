package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/store/shipping"
)

func TestTriggersAndDivergencesComeBackAsTheyWere(t *testing.T) {
	open(t, "triggered")
	agent, event, capture := uuid.New(), uuid.New(), uuid.New()
	span := agentSpan(agent, 0)
	recording := shipping.AgentTrigger{
		Event: event, Time: span.Start, Kind: "divergence", Rule: "roce.icrc", Connection: 1<<64 - 1, Sentence: "It's wrong.", Fate: 0,
	}
	uploaded := recording
	uploaded.Fate, uploaded.Record, uploaded.Packets, uploaded.Capture = 3, "20261203T1200-eth0", 12, capture
	found := shipping.NewAgentDivergences()
	found.Append(&finding.Finding{
		Rule: finding.RoCEICRC, Verdict: finding.Diverges, Connection: 7, Path: -1, Proof: [finding.MaxProof]uint64{3, 1 << 40}, ProofCount: 2, Sentence: "So it is.",
	})
	heartbeat := shipping.AgentHeartbeat{
		Agent: agent, Time: span.End, Triggers: 2, LastTrigger: span.Start, LastTriggerEvent: "It's wrong.", RecordsWaiting: 1, RecordsLost: 4,
	}
	never := shipping.AgentHeartbeat{Agent: uuid.New(), Time: span.End}
	from := openSpool(t, t.TempDir())
	later := span
	later.End = later.End.Add(time.Second)
	addBatches(t, from, recording.Batch(span), uploaded.Batch(later), heartbeat.Batch(), never.Batch())
	addBatches(t, from, found.Batches(span)...)
	if found.Rows() != 0 || len(found.Batches(span)) != 0 {
		t.Error("what was handed over is still there")
	}
	ship(t, newShipper(t, server.Address(), "triggered", from), from)

	for _, q := range []struct{ query, want string }{
		{
			"SELECT fate, rule, connection_id, sentence, record, packets, capture_id, time = interval_start, host FROM triggered.agent_triggers WHERE event_id = '" + event.String() + "' ORDER BY fate FORMAT CSV",
			fmt.Sprintf("\"recording\",\"roce.icrc\",18446744073709551615,\"It's wrong.\",\"\",0,\\N,1,\"node7\"\n\"uploaded\",\"roce.icrc\",18446744073709551615,\"It's wrong.\",\"20261203T1200-eth0\",12,%q,1,\"node7\"", capture),
		},
		{
			"SELECT connection_id, rule, severity, verdict, path_id, packets, sentence, missed FROM triggered.agent_divergences FORMAT CSV",
			`7,"roce.icrc","error","diverges",\N,"[3,1099511627776]","So it is.",3`,
		},
		{
			"SELECT triggers, toUnixTimestamp(last_trigger), last_trigger_event, records_waiting, records_lost FROM triggered.agents ORDER BY triggers FORMAT CSV",
			fmt.Sprintf("0,\\N,\"\",0,0\n2,%d,\"It's wrong.\",1,4", span.Start.Unix()),
		},
		{
			"SELECT name, type FROM system.columns WHERE database = 'triggered' AND table = 'divergences' AND name != 'capture_id'" +
				" AND (name, type) NOT IN (SELECT name, type FROM system.columns WHERE database = 'triggered' AND table = 'agent_divergences') FORMAT CSV",
			"",
		},
	} {
		if got := ask(t, q.query); got != q.want {
			t.Errorf("%s:\n got %s\nwant %s", q.query, got, q.want)
		}
	}
}
