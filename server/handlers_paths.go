package server

import (
	"context"
	"errors"
	"strconv"

	"github.com/rocelens/rocelens/server/api"
)

// ListPaths answers GET /captures/{capture_id}/paths.
func (e *endpoint) ListPaths(ctx context.Context, r api.ListPathsRequestObject) (api.ListPathsResponseObject, error) {
	if err := e.needCapture(ctx, r.CaptureId); err != nil {
		return nil, err
	}
	paths, err := e.s.opt.Paths.ListPaths(ctx, r.CaptureId, r.Params)
	return api.ListPaths200JSONResponse(paths), withoutFlow(err, r.Params.FlowId)
}

// ListStreams answers GET /captures/{capture_id}/streams.
func (e *endpoint) ListStreams(ctx context.Context, r api.ListStreamsRequestObject) (api.ListStreamsResponseObject, error) {
	if err := e.needCapture(ctx, r.CaptureId); err != nil {
		return nil, err
	}
	streams, err := e.s.opt.Paths.ListStreams(ctx, r.CaptureId, r.Params)
	return api.ListStreams200JSONResponse(streams), withoutFlow(err, r.Params.FlowId)
}

// GetPathSeries answers GET /captures/{capture_id}/flows/{flow_id}/paths/{path_id}/series.
func (e *endpoint) GetPathSeries(ctx context.Context, r api.GetPathSeriesRequestObject) (api.GetPathSeriesResponseObject, error) {
	if err := e.needCapture(ctx, r.CaptureId); err != nil {
		return nil, err
	}
	id, err := strconv.ParseUint(r.FlowId, 10, 64)
	if err != nil {
		return nil, problemf(kindInvalid, "Parameter \"flow_id\": %s is too large for a flow.", r.FlowId)
	}
	series, err := e.s.opt.Paths.PathSeries(ctx, r.CaptureId, id, uint8(r.PathId), r.Params)
	return api.GetPathSeries200JSONResponse(series), withoutFlow(err, &r.FlowId)
}

// withoutFlow names the flow that was asked for and is not there.
func withoutFlow(err error, flow *string) error {
	if errors.Is(err, ErrNotFound) && flow != nil {
		return problemf(kindNotFound, "The capture has no flow %s.", *flow)
	}
	return err
}
