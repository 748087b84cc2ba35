package store_test

import (
	"testing"

	"github.com/rocelens/rocelens/replay/finding"
)

// What replay finds comes back by SQL, with what the catalogue says of the rule, and what is not known as NULL.
func TestReplayComesBack(t *testing.T) {
	s := open(t, "replayed")
	c := newCapture("a.pcap")
	a, err := s.BeginAnalysis(t.Context(), c.ID)
	if err != nil {
		t.Fatal(err)
	}
	found := finding.Finding{
		Rule: finding.RoCENAKRepeated, Verdict: finding.Diverges, Connection: 1 << 63, Path: -1, HasTime: true, Time: 1_000_000_001,
		Endpoint: finding.Endpoint{QP: 0x11, HasQP: true}, Proof: [finding.MaxProof]uint64{5, 9}, ProofCount: 2,
		Expected: "one NAK", Seen: "it's two", Sentence: `two, "2"`,
	}
	found.Endpoint.Address[10], found.Endpoint.Address[11], found.Endpoint.Address[12], found.Endpoint.Address[15] = 0xff, 0xff, 10, 1
	unnamed := finding.Finding{Rule: finding.RoCEICRC, Verdict: finding.Undetermined, Path: 3}
	connection := finding.Connection{ID: 1 << 63, Vantage: finding.VantageNearResponder}
	connection.Properties = []finding.Property{
		{Name: "retransmission", Value: "a: go-back-N"}, {Name: "cnp_interval", Value: "a: 4 µs"}, {Name: "retransmission", Value: "b: selective repeat"},
	}
	connection.Tallies[finding.RoCENAKRepeated] = finding.Tally{Conforms: 1, Diverges: 2, Undetermined: 3}
	connection.Directions[0] = finding.Direction{
		Sender: found.Endpoint, Packets: 7, Missed: 0.25, MissedKnown: true, Losses: finding.Losses{Before: 1, After: 2, Unknown: 3, Capture: 4},
		ToReceiver: finding.RoundTrip{Known: true, Samples: 1, Minimum: 10, Mean: 20, Max: 30},
		Waits:      finding.Waits{Known: true, Lasting: 1_160, Timer: finding.Wait{Times: 16, NS: 1_050}, RNR: finding.Wait{Times: 2, NS: 3}},
	}
	for _, f := range []*finding.Finding{&found, &unnamed} {
		if err := a.Divergence(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Replay(t.Context(), &connection); err != nil {
		t.Fatal(err)
	}
	if err := a.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, q := range []struct{ query, want string }{
		{
			"SELECT connection_id, rule, severity, verdict, toString(address), qp, path_id, toUnixTimestamp64Nano(time), packets," +
				" expected, seen, sentence, source != '', next != '' FROM replayed.divergences WHERE qp IS NOT NULL FORMAT CSV",
			`9223372036854775808,"roce.nak-repeated","warning","diverges","::ffff:10.0.0.1",17,\N,1000000001,"[5,9]","one NAK","it's two","two, ""2""",1,1`,
		},
		{
			"SELECT rule, verdict, qp, path_id, time, packets FROM replayed.divergences WHERE qp IS NULL FORMAT CSV",
			`"roce.icrc","undetermined",\N,3,\N,"[]"`,
		},
		{
			"SELECT rule, severity, diverges, undetermined, conforms FROM replayed.verdicts FORMAT CSV",
			`"roce.nak-repeated","warning",2,3,1`,
		},
		{
			"SELECT toString(sender), sender_qp, transport, verdict, vantage, one_way, packets, missed_share, lost_before, lost_after," +
				" resent_unknown, missed FROM replayed.replays FORMAT CSV",
			`"::ffff:10.0.0.1",17,"RoCE","diverges","near the responder",0,7,0.25,1,2,3,4`,
		},
		{
			"SELECT to_receiver_min_ns, to_receiver_mean_ns, to_receiver_max_ns, to_sender_min_ns FROM replayed.replays FORMAT CSV",
			`10,20,30,\N`,
		},
		{
			"SELECT properties['retransmission'], properties['cnp_interval'], length(properties) FROM replayed.replays FORMAT CSV",
			`"a: go-back-N; b: selective repeat","a: 4 µs",2`,
		},
		{
			"SELECT lasting_ns, timer_waits, timer_wait_ns, rnr_waits, rnr_wait_ns FROM replayed.replays FORMAT CSV",
			`1160,16,1050,2,3`,
		},
	} {
		if got := ask(t, q.query); got != q.want {
			t.Errorf("%s:\n got %s\nwant %s", q.query, got, q.want)
		}
	}
	if err := s.DeleteCapture(t.Context(), c.ID); err != nil {
		t.Fatal(err)
	}
	const left = "SELECT (SELECT count() FROM replayed.divergences) + (SELECT count() FROM replayed.verdicts) + (SELECT count() FROM replayed.replays) FORMAT CSV"
	if got := ask(t, left); got != "0" {
		t.Errorf("%s rows are left of a capture that was deleted", got)
	}
}
