package service

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/google/uuid"

	"github.com/rocelens/rocelens/analysis/diff"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/server"
	"github.com/rocelens/rocelens/server/api"
	"github.com/rocelens/rocelens/store"
)

// differ implements server.Differ.
type differ struct{ store *store.Store }

// Diff implements server.Differ.
func (d *differ) Diff(ctx context.Context, a, b server.DiffInput) (api.Diff, error) {
	var sides [2]*diff.Side
	var named [2]api.DiffSide
	for i, in := range []*server.DiffInput{&a, &b} {
		var err error
		if sides[i], named[i], err = d.side(ctx, in); err != nil {
			return api.Diff{}, err
		}
	}
	result := diff.Compare(sides[0], sides[1])
	doc := result.Document(sides[0], sides[1])
	out := api.Diff{
		A: named[0], B: named[1], Notes: doc.Notes,
		Figures: make([]api.DiffFigure, 0, len(doc.Figures)), Rules: make([]api.DiffRule, 0, len(doc.Rules)),
	}
	for i := range doc.Figures {
		f := &doc.Figures[i]
		out.Figures = append(out.Figures, api.DiffFigure{
			Figure: f.Figure, Title: f.Title, Group: api.DiffGroup(f.Group), Unit: api.DiffUnit(f.Unit), Better: api.DiffFigureBetter(f.Better),
			A: f.A, B: f.B, Change: f.Change, ChangeShare: f.ChangeShare, Unknown: f.Unknown,
		})
	}
	for i := range doc.Rules {
		r := &doc.Rules[i]
		out.Rules = append(out.Rules, api.DiffRule{Rule: r.Rule, Title: r.Title, Severity: api.Severity(r.Severity), A: diffTally(r.A), B: diffTally(r.B)})
	}
	return out, nil
}

func diffTally(t *diff.DocumentTally) *api.DiffTally {
	if t == nil {
		return nil
	}
	return &api.DiffTally{
		Diverges: int64(t.Diverges), Undetermined: int64(t.Undetermined), Conforms: int64(t.Conforms),
		Connections: int64(t.Connections), DivergingConnections: int64(t.DivergingConnections),
	}
}

// side is what the database has of a capture, or of the connection of a flow.
func (d *differ) side(ctx context.Context, in *server.DiffInput) (*diff.Side, api.DiffSide, error) {
	named := api.DiffSide{CaptureId: in.Capture.Id, Name: in.Capture.Name, Ends: []api.End{}}
	var connection uint64
	if in.Flow != nil {
		id, err := strconv.ParseUint(in.Flow.ConnectionId, 10, 64)
		if err != nil {
			return nil, named, fmt.Errorf("connection %q: %w", in.Flow.ConnectionId, err)
		}
		flows, err := d.store.ConnectionFlows(ctx, in.Capture.Id, finding.ConnectionID(id))
		if err != nil {
			return nil, named, err
		}
		connection, named.ConnectionId, named.Ends = id, &in.Flow.ConnectionId, endsOf(flows)
	}
	flows, errFlows := d.store.FlowSums(ctx, in.Capture.Id, connection)
	found, errFound := d.store.ReplaySums(ctx, in.Capture.Id, connection)
	completion, errCompletion := d.store.CompletionSums(ctx, in.Capture.Id, connection)
	rules, errRules := d.rules(ctx, in.Capture.Id, connection)
	if err := errors.Join(errFlows, errFound, errCompletion, errRules); err != nil {
		return nil, named, err
	}
	named.Flows, named.Connections = int64(flows.Flows), int64(flows.Connections)
	side := flowSide(&flows)
	side.Judged, side.Diverging = found.Judged, found.Diverging
	side.LostBefore, side.LostAfter, side.Missed = found.LostBefore, found.LostAfter, found.Missed
	side.Waiting, side.LastingNS = found.Waiting, found.Lasting
	side.TimerWaits, side.TimerWaitNS, side.RNRWaits, side.RNRWaitNS = found.TimerWaits, found.TimerWait, found.RNRWaits, found.RNRWait
	side.RoundTrip = diff.Spread{Known: found.Trips > 0, Min: found.TripMin, P50: found.TripP50, P90: found.TripP90, P99: found.TripP99, Max: found.TripMax}
	side.Completion = diff.Spread{
		Known: completion.Streams > 0, Min: completion.Min, P50: completion.P50, P90: completion.P90, P99: completion.P99, Max: completion.Max,
	}
	side.Rules = rules
	side.Partial = in.Capture.Status == api.CaptureStatusPartial
	for i := range in.Capture.Interfaces {
		if dropped := in.Capture.Interfaces[i].Dropped; dropped != nil {
			side.CaptureDropped = diff.Value{N: side.CaptureDropped.N + float64(*dropped), Known: true}
		}
	}
	return side, named, nil
}

// flowSide is what the sums of flows tell of a side.
func flowSide(s *store.FlowSums) *diff.Side {
	sum := func(n *uint64, packets uint64) diff.Sum {
		if n == nil {
			return diff.Sum{}
		}
		return diff.Sum{N: *n, Packets: packets, Flows: 1}
	}
	side := &diff.Side{
		Flows: s.Flows, Connections: s.Connections, Packets: s.Packets, Bytes: s.Bytes, Payload: s.Payload,
		Goodput: sum(s.Goodput, 0), Messages: sum(s.Messages, 0), Retransmitted: sum(s.Again, s.AgainPackets),
		AfterNAK: sum(s.AfterNAK, 0), AfterRNR: sum(s.AfterRNR, 0), AfterTimeout: sum(s.AfterSilent, 0), Missing: sum(s.Missing, 0),
		OutOfOrder: sum(s.OutOfOrder, s.OutOfOrderPackets), Marked: sum(s.Marked, s.MarkedPackets),
		NAKs: s.NAKs, RNRNAKs: s.RNRNAKs, CNPs: s.CNPs, ICRCBad: s.ICRCBad,
		MetaRoCE: s.MetaRoCE > 0, RoCE: s.Flows > s.MetaRoCE,
	}
	if s.Lasting != nil && *s.Lasting > 0 {
		side.Lasting = diff.Of(*s.Lasting)
	}
	return side
}

// rules is what came of the rules, of a capture or with connection not 0 of that one.
func (d *differ) rules(ctx context.Context, capture uuid.UUID, connection uint64) (map[finding.Rule]diff.RuleTally, error) {
	var rows []store.Rule
	var err error
	if connection == 0 {
		rows, err = d.store.Rules(ctx, capture)
	} else {
		rows, err = d.store.RulesOf(ctx, capture, finding.ConnectionID(connection))
	}
	if err != nil {
		return nil, err
	}
	byID := map[string]finding.Rule{}
	for rule := range finding.Rule(finding.RuleCount) {
		byID[rule.Describe().ID] = rule
	}
	out := map[finding.Rule]diff.RuleTally{}
	for i := range rows {
		r := &rows[i]
		rule, ok := byID[r.Rule]
		if !ok {
			continue // of an analysis by another version
		}
		out[rule] = diff.RuleTally{
			Tally:       finding.Tally{Conforms: capped(r.Conforms), Diverges: capped(r.Diverges), Undetermined: capped(r.Undetermined)},
			Connections: r.Connections, Diverging: r.Diverging,
		}
	}
	return out, nil
}

// capped is the number as a tally has it, which stops at the largest.
func capped(n uint64) uint32 { return uint32(min(n, uint64(^uint32(0)))) }
