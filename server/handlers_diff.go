package server

import (
	"context"
	"errors"
	"strconv"

	"github.com/google/uuid"

	"github.com/rocelens/rocelens/server/api"
)

// GetDiff answers GET /diff.
func (e *endpoint) GetDiff(ctx context.Context, r api.GetDiffRequestObject) (api.GetDiffResponseObject, error) {
	p := &r.Params
	a, err := e.diffInput(ctx, p.A, "flow_a", p.FlowA)
	if err != nil {
		return nil, err
	}
	b, err := e.diffInput(ctx, p.B, "flow_b", p.FlowB)
	if err != nil {
		return nil, err
	}
	if p.A == p.B {
		switch {
		case a.Flow == nil || b.Flow == nil:
			return nil, problemf(kindInvalid, "Both sides are the same capture: name another, or a flow of each of two connections with \"flow_a\" and \"flow_b\".")
		case a.Flow.ConnectionId == b.Flow.ConnectionId:
			return nil, problemf(kindInvalid, "Both sides are the same connection: name flows of two.")
		}
	}
	d, err := e.s.opt.Differ.Diff(ctx, a, b)
	return api.GetDiff200JSONResponse(d), err
}

// diffInput is a side that can be compared, or why it cannot.
func (e *endpoint) diffInput(ctx context.Context, capture uuid.UUID, name string, flow *string) (out DiffInput, err error) {
	if out.Capture, err = e.s.library.get(ctx, capture); err != nil {
		return out, err
	}
	if err := analysed(&out.Capture); err != nil {
		return out, err
	}
	if flow == nil {
		return out, nil
	}
	id, err := strconv.ParseUint(*flow, 10, 64)
	if err != nil {
		return out, problemf(kindInvalid, "Parameter %q: %s is too large for a flow.", name, *flow)
	}
	found, err := e.s.opt.Flows.Flow(ctx, capture, id)
	if errors.Is(err, ErrNotFound) {
		err = problemf(kindNotFound, "%s has no flow %s.", out.Capture.Name, *flow)
	}
	out.Flow = &found
	return out, err
}
