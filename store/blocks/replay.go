package blocks

import (
	"github.com/ClickHouse/ch-go/proto"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/replay/finding"
)

const (
	severityType      = "Enum8('notice' = 0, 'warning' = 1, 'error' = 2)"
	replayVerdictType = "Enum8('conforms' = 0, 'diverges' = 1, 'undetermined' = 2)"
	foundType         = "Enum8('diverges' = 1, 'undetermined' = 2)"
	transportType     = "Enum8('RoCE' = 0, 'MetaRoCE' = 1)"
	vantageType       = "Enum8('unknown' = 0, 'near the requester' = 1, 'between the two' = 2, 'near the responder' = 3)"
)

// described adds a column with what the catalogue says of a rule.
func described[R any](b *RecordBlock[R], name string, rule func(*R) finding.Rule, text func(*finding.Description) string) {
	c := &names{name: func(code uint8) string { return text(finding.Rule(code).Describe()) }}
	b.add(name, c, func(r *R) { c.Append(uint8(rule(r))) })
}

func ofEndpoint(e *finding.Endpoint) flow.Count { return flow.Count{N: uint64(e.QP), Known: e.HasQP} }

// NewDivergenceBlock makes an empty block of the table divergences.
func NewDivergenceBlock() *RecordBlock[finding.Finding] {
	type row = finding.Finding
	b := &RecordBlock[row]{}
	rule := func(r *row) finding.Rule { return r.Rule }
	b.uint64("connection_id", func(r *row) uint64 { return uint64(r.Connection) })
	described(b, "rule", rule, func(d *finding.Description) string { return d.ID })
	b.Enum("severity", severityType, func(r *row) int8 { return int8(r.Rule.Describe().Severity) })
	b.Enum("verdict", foundType, func(r *row) int8 { return int8(r.Verdict) })
	b.address("address", func(r *row) dissector.Address { return r.Endpoint.Address })
	b.count32("qp", func(r *row) flow.Count { return ofEndpoint(&r.Endpoint) })
	b.count8("path_id", func(r *row) flow.Count { return flow.Count{N: uint64(r.Path), Known: r.Path >= 0} })
	b.time("time", func(r *row) (int64, bool) { return r.Time, r.HasTime })
	packets := &arrays[proto.ColUInt64, uint64, *proto.ColUInt64]{}
	b.add("packets", packets, func(r *row) { packets.Append(r.Packets()) })
	b.Text("expected", func(r *row) string { return r.Expected })
	b.Text("seen", func(r *row) string { return r.Seen })
	b.Text("sentence", func(r *row) string { return r.Sentence })
	described(b, "source", rule, func(d *finding.Description) string { return d.Source })
	described(b, "next", rule, func(d *finding.Description) string { return d.Next })
	return b
}

// VerdictRow is a row of the table verdicts before it is stored.
type VerdictRow struct {
	Connection finding.ConnectionID
	Rule       finding.Rule
	finding.Tally
}

// NewVerdictBlock makes an empty block of the table verdicts.
func NewVerdictBlock() *RecordBlock[VerdictRow] {
	type row = VerdictRow
	b := &RecordBlock[row]{}
	b.uint64("connection_id", func(r *row) uint64 { return uint64(r.Connection) })
	described(b, "rule", func(r *row) finding.Rule { return r.Rule }, func(d *finding.Description) string { return d.ID })
	b.Enum("severity", severityType, func(r *row) int8 { return int8(r.Rule.Describe().Severity) })
	b.Uint32("diverges", func(r *row) uint32 { return r.Diverges })
	b.Uint32("undetermined", func(r *row) uint32 { return r.Undetermined })
	b.Uint32("conforms", func(r *row) uint32 { return r.Conforms })
	return b
}

// ReplayRow is a row of the table replays before it is stored.
type ReplayRow struct {
	Connection *finding.Connection
	*finding.Direction
}

// NewReplayBlock makes an empty block of the table replays.
func NewReplayBlock() *RecordBlock[ReplayRow] {
	type row = ReplayRow
	b := &RecordBlock[row]{}
	b.uint64("connection_id", func(r *row) uint64 { return uint64(r.Connection.ID) })
	b.address("sender", func(r *row) dissector.Address { return r.Sender.Address })
	b.count32("sender_qp", func(r *row) flow.Count { return ofEndpoint(&r.Sender) })
	b.Enum("transport", transportType, func(r *row) int8 { return int8(oneIf(r.Connection.MetaRoCE)) })
	b.Enum("verdict", replayVerdictType, func(r *row) int8 { return int8(r.Connection.Verdict()) })
	b.Enum("vantage", vantageType, func(r *row) int8 { return int8(r.Connection.Vantage) })
	b.uint8("one_way", func(r *row) uint8 { return oneIf(r.Connection.OneWay) })
	b.uint64("packets", func(r *row) uint64 { return r.Packets })
	share := &nullable[proto.ColFloat64, float64, *proto.ColFloat64]{}
	b.add("missed_share", share, func(r *row) { share.Append(r.MissedKnown, r.Missed) })
	b.uint64("lost_before", func(r *row) uint64 { return r.Losses.Before })
	b.uint64("lost_after", func(r *row) uint64 { return r.Losses.After })
	b.uint64("resent_unknown", func(r *row) uint64 { return r.Losses.Unknown })
	b.uint64("missed", func(r *row) uint64 { return r.Losses.Capture })
	for _, t := range []struct {
		name string
		of   func(*row) *finding.RoundTrip
	}{
		{"to_receiver", func(r *row) *finding.RoundTrip { return &r.ToReceiver }},
		{"to_sender", func(r *row) *finding.RoundTrip { return &r.ToSender }},
	} {
		b.Count(t.name+"_min_ns", func(r *row) flow.Count { return ofTrip(t.of(r), t.of(r).Minimum) })
		b.Count(t.name+"_mean_ns", func(r *row) flow.Count { return ofTrip(t.of(r), t.of(r).Mean) })
		b.Count(t.name+"_max_ns", func(r *row) flow.Count { return ofTrip(t.of(r), t.of(r).Max) })
	}
	properties := &propertyMaps{}
	b.add("properties", properties, func(r *row) { properties.Append(r.Connection.Properties) })
	waits := func(name string, of func(w *finding.Waits) int64) {
		b.Count(name, func(r *row) flow.Count { return flow.Count{N: uint64(max(0, of(&r.Waits))), Known: r.Waits.Known} })
	}
	waits("lasting_ns", func(w *finding.Waits) int64 { return w.Lasting })
	waits("timer_waits", func(w *finding.Waits) int64 { return int64(w.Timer.Times) })
	waits("timer_wait_ns", func(w *finding.Waits) int64 { return w.Timer.NS })
	waits("rnr_waits", func(w *finding.Waits) int64 { return int64(w.RNR.Times) })
	waits("rnr_wait_ns", func(w *finding.Waits) int64 { return w.RNR.NS })
	return b
}

func ofTrip(t *finding.RoundTrip, ns int64) flow.Count {
	return flow.Count{N: uint64(max(0, ns)), Known: t.Known}
}

func oneIf(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}
