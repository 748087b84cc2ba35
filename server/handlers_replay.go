package server

import (
	"context"

	"github.com/rocelens/rocelens/server/api"
)

// ListRules answers GET /captures/{capture_id}/rules.
func (e *endpoint) ListRules(ctx context.Context, r api.ListRulesRequestObject) (api.ListRulesResponseObject, error) {
	ctx = plain(ctx)
	if err := e.needCapture(ctx, r.CaptureId); err != nil {
		return nil, err
	}
	rules, err := e.s.opt.Replays.ListRules(ctx, r.CaptureId)
	return api.ListRules200JSONResponse(rules), err
}

// ListDivergences answers GET /captures/{capture_id}/divergences.
func (e *endpoint) ListDivergences(ctx context.Context, r api.ListDivergencesRequestObject) (api.ListDivergencesResponseObject, error) {
	ctx = plain(ctx)
	if err := e.needCapture(ctx, r.CaptureId); err != nil {
		return nil, err
	}
	found, err := e.s.opt.Replays.ListDivergences(ctx, r.CaptureId, r.Params)
	return api.ListDivergences200JSONResponse(found), err
}
