package server

import (
	"cmp"
	"context"
	"slices"

	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/server/api"
)

// ListMerges answers GET /captures/{capture_id}/merges.
func (e *endpoint) ListMerges(ctx context.Context, r api.ListMergesRequestObject) (api.ListMergesResponseObject, error) {
	if err := e.needCapture(ctx, r.CaptureId); err != nil {
		return nil, err
	}
	all, err := e.s.merges.list(r.CaptureId)
	return api.ListMerges200JSONResponse{Merges: all}, err
}

// BeginMerge answers POST /captures/{capture_id}/merges/{with_id}.
func (e *endpoint) BeginMerge(ctx context.Context, r api.BeginMergeRequestObject) (api.BeginMergeResponseObject, error) {
	m, queued, err := e.s.merges.begin(ctx, pair{r.CaptureId, r.WithId})
	switch {
	case err != nil:
		return nil, err
	case queued:
		return api.BeginMerge202JSONResponse(m), nil
	}
	return api.BeginMerge200JSONResponse(m), nil
}

// GetMerge answers GET /captures/{capture_id}/merges/{with_id}.
func (e *endpoint) GetMerge(ctx context.Context, r api.GetMergeRequestObject) (api.GetMergeResponseObject, error) {
	if err := e.needCapture(ctx, r.CaptureId); err != nil {
		return nil, err
	}
	m, err := e.s.merges.get(pair{r.CaptureId, r.WithId})
	return api.GetMerge200JSONResponse(m), err
}

// DeleteMerge answers DELETE /captures/{capture_id}/merges/{with_id}.
func (e *endpoint) DeleteMerge(ctx context.Context, r api.DeleteMergeRequestObject) (api.DeleteMergeResponseObject, error) {
	if err := e.needCapture(ctx, r.CaptureId); err != nil {
		return nil, err
	}
	return api.DeleteMerge204Response{}, e.s.merges.remove(ctx, pair{r.CaptureId, r.WithId})
}

// page is a part of a list.
func page[T any](all []T, offset, limit int) []T {
	from := min(offset, len(all))
	return all[from:min(from+limit, len(all))]
}

// matching are the elements of a list that a condition holds for.
func matching[T any](all []T, holds func(*T) bool) []T {
	out := []T{}
	for i := range all {
		if holds(&all[i]) {
			out = append(out, all[i])
		}
	}
	return out
}

// is tells whether a value is the one that was asked for, if any was.
func is[T comparable](asked *T, value T) bool { return asked == nil || *asked == value }

// ListMergeDirections answers GET /captures/{capture_id}/merges/{with_id}/directions.
func (e *endpoint) ListMergeDirections(_ context.Context, r api.ListMergeDirectionsRequestObject) (api.ListMergeDirectionsResponseObject, error) {
	lists, err := e.s.merges.lists(pair{r.CaptureId, r.WithId})
	if err != nil {
		return nil, err
	}
	found := matching(lists.Directions, func(d *api.MergeDirection) bool {
		return is(r.Params.FlowId, d.FlowId) && (*r.Params.Seen != api.Both || d.PacketsAtBoth > 0)
	})
	return api.ListMergeDirections200JSONResponse{Directions: page(found, *r.Params.Offset, *r.Params.Limit), Total: int64(len(found))}, nil
}

// ListMergePackets answers GET /captures/{capture_id}/merges/{with_id}/packets.
func (e *endpoint) ListMergePackets(_ context.Context, r api.ListMergePacketsRequestObject) (api.ListMergePacketsResponseObject, error) {
	lists, err := e.s.merges.lists(pair{r.CaptureId, r.WithId})
	if err != nil {
		return nil, err
	}
	p := &r.Params
	found := matching(lists.Packets, func(x *api.MergePacket) bool {
		return is(p.FlowId, x.FlowId) && is(p.Fate, x.Fate) && is(p.Capture, x.Capture)
	})
	return api.ListMergePackets200JSONResponse{
		Packets: page(found, *p.Offset, *p.Limit), Total: int64(len(found)), Counted: lists.Counted,
	}, nil
}

// ListMergeRules answers GET /captures/{capture_id}/merges/{with_id}/rules.
func (e *endpoint) ListMergeRules(_ context.Context, r api.ListMergeRulesRequestObject) (api.ListMergeRulesResponseObject, error) {
	lists, err := e.s.merges.lists(pair{r.CaptureId, r.WithId})
	if err != nil {
		return nil, err
	}
	sums := map[string]*api.MergeRule{}
	for i := range lists.Verdicts {
		v := &lists.Verdicts[i]
		rule, known := finding.Find(v.Rule)
		if !known || !is(r.Params.ConnectionId, v.Connection) {
			continue
		}
		d := rule.Describe()
		sum := sums[d.ID]
		if sum == nil {
			sum = &api.MergeRule{Rule: d.ID, Title: d.Title, Severity: api.Severity(d.Severity.String()), Source: d.Source, Next: d.Next}
			sums[d.ID] = sum
		}
		addTally(&sum.First, v.First)
		addTally(&sum.Second, v.Second)
		addTally(&sum.Together, v.Together)
		if v.Decided() {
			sum.Decided++
		}
	}
	out := make([]api.MergeRule, 0, len(sums))
	for _, sum := range sums {
		out = append(out, *sum)
	}
	slices.SortFunc(out, func(a, b api.MergeRule) int {
		return cmp.Or(cmp.Compare(gravity(&b), gravity(&a)), cmp.Compare(a.Rule, b.Rule))
	})
	return api.ListMergeRules200JSONResponse{Rules: out}, nil
}

func addTally(sum **api.MergeTally, t *api.MergeTally) {
	if t == nil {
		return
	}
	if *sum == nil {
		*sum = &api.MergeTally{}
	}
	(*sum).Diverges += t.Diverges
	(*sum).Undetermined += t.Undetermined
	(*sum).Conforms += t.Conforms
}

// gravity is how much there is to see of a rule.
func gravity(r *api.MergeRule) (g int) {
	for _, t := range []*api.MergeTally{r.First, r.Second, r.Together} {
		switch {
		case t == nil:
		case t.Diverges > 0:
			return 3
		case t.Undetermined > 0:
			g = 2
		}
	}
	if r.Decided > 0 {
		g = max(g, 1)
	}
	return g
}

// ListMergeFindings answers GET /captures/{capture_id}/merges/{with_id}/findings.
func (e *endpoint) ListMergeFindings(_ context.Context, r api.ListMergeFindingsRequestObject) (api.ListMergeFindingsResponseObject, error) {
	lists, err := e.s.merges.lists(pair{r.CaptureId, r.WithId})
	if err != nil {
		return nil, err
	}
	p := &r.Params
	if p.Rule != nil {
		if _, known := finding.Find(*p.Rule); !known {
			return nil, problemf(kindInvalid, "There is no rule %q.", *p.Rule)
		}
	}
	found := matching(lists.Findings, func(f *api.MergeFinding) bool {
		return is(p.Rule, f.Rule) && is(p.Verdict, f.Verdict) && is(p.ConnectionId, f.ConnectionId)
	})
	return api.ListMergeFindings200JSONResponse{Findings: page(found, *p.Offset, *p.Limit), Total: int64(len(found))}, nil
}
