package server

import (
	"context"
	"errors"
	"strconv"

	"github.com/rocelens/rocelens/server/api"
)

// ListRules answers GET /captures/{capture_id}/rules.
func (e *endpoint) ListRules(ctx context.Context, r api.ListRulesRequestObject) (api.ListRulesResponseObject, error) {
	if err := e.needCapture(ctx, r.CaptureId); err != nil {
		return nil, err
	}
	rules, err := e.s.opt.Replays.ListRules(ctx, r.CaptureId)
	return api.ListRules200JSONResponse(rules), err
}

// ListDivergences answers GET /captures/{capture_id}/divergences.
func (e *endpoint) ListDivergences(ctx context.Context, r api.ListDivergencesRequestObject) (api.ListDivergencesResponseObject, error) {
	if err := e.needCapture(ctx, r.CaptureId); err != nil {
		return nil, err
	}
	found, err := e.s.opt.Replays.ListDivergences(ctx, r.CaptureId, r.Params)
	return api.ListDivergences200JSONResponse(found), err
}

// GetReplay answers GET /captures/{capture_id}/flows/{flow_id}/replay.
func (e *endpoint) GetReplay(ctx context.Context, r api.GetReplayRequestObject) (api.GetReplayResponseObject, error) {
	if err := e.needCapture(ctx, r.CaptureId); err != nil {
		return nil, err
	}
	id, err := strconv.ParseUint(r.FlowId, 10, 64)
	if err != nil {
		return nil, problemf(kindInvalid, "Parameter \"flow_id\": %s is too large for a flow.", r.FlowId)
	}
	found, err := e.s.opt.Replays.Replay(ctx, r.CaptureId, id)
	if errors.Is(err, ErrNotFound) {
		return nil, problemf(kindNotFound, "The connection of flow %s was not held against a reference transport: there is no such flow, or it is no reliable connection.", r.FlowId)
	}
	return api.GetReplay200JSONResponse(found), err
}

// GetSequence answers GET /captures/{capture_id}/flows/{flow_id}/sequence.
func (e *endpoint) GetSequence(ctx context.Context, r api.GetSequenceRequestObject) (api.GetSequenceResponseObject, error) {
	if err := e.needCapture(ctx, r.CaptureId); err != nil {
		return nil, err
	}
	id, err := strconv.ParseUint(r.FlowId, 10, 64)
	if err != nil {
		return nil, problemf(kindInvalid, "Parameter \"flow_id\": %s is too large for a flow.", r.FlowId)
	}
	found, err := e.s.opt.Replays.Sequence(ctx, r.CaptureId, id, r.Params)
	return api.GetSequence200JSONResponse(found), withoutFlow(err, &r.FlowId)
}
