package server

import (
	"context"

	"github.com/rocelens/rocelens/server/api"
)

// ListFlowsOfAgents answers GET /agents/flows.
func (e *endpoint) ListFlowsOfAgents(ctx context.Context, r api.ListFlowsOfAgentsRequestObject) (api.ListFlowsOfAgentsResponseObject, error) {
	flows, err := e.s.opt.AgentHistory.FlowsOfAgents(ctx, r.Params)
	return api.ListFlowsOfAgents200JSONResponse(flows), err
}

// ListPortCounters answers GET /agents/{agent_id}/counters.
func (e *endpoint) ListPortCounters(ctx context.Context, r api.ListPortCountersRequestObject) (api.ListPortCountersResponseObject, error) {
	counters, err := e.s.opt.AgentHistory.PortCounters(ctx, r.AgentId, r.Params)
	return api.ListPortCounters200JSONResponse(counters), withoutAgent(err, r.AgentId)
}

// GetAgentSeries answers GET /agents/{agent_id}/series.
func (e *endpoint) GetAgentSeries(ctx context.Context, r api.GetAgentSeriesRequestObject) (api.GetAgentSeriesResponseObject, error) {
	series, err := e.s.opt.AgentHistory.AgentSeries(ctx, r.AgentId, r.Params)
	return api.GetAgentSeries200JSONResponse(series), withoutAgent(err, r.AgentId)
}

// ListRulesOfAgents answers GET /agents/rules.
func (e *endpoint) ListRulesOfAgents(ctx context.Context, r api.ListRulesOfAgentsRequestObject) (api.ListRulesOfAgentsResponseObject, error) {
	rules, err := e.s.opt.AgentFindings.RulesOfAgents(ctx, r.Params)
	return api.ListRulesOfAgents200JSONResponse(rules), err
}

// ListDivergencesOfAgents answers GET /agents/divergences.
func (e *endpoint) ListDivergencesOfAgents(ctx context.Context, r api.ListDivergencesOfAgentsRequestObject) (api.ListDivergencesOfAgentsResponseObject, error) {
	found, err := e.s.opt.AgentFindings.DivergencesOfAgents(ctx, r.Params)
	return api.ListDivergencesOfAgents200JSONResponse(found), err
}

// ListEventsOfAgents answers GET /agents/events.
func (e *endpoint) ListEventsOfAgents(ctx context.Context, r api.ListEventsOfAgentsRequestObject) (api.ListEventsOfAgentsResponseObject, error) {
	events, err := e.s.opt.AgentFindings.EventsOfAgents(ctx, r.Params)
	return api.ListEventsOfAgents200JSONResponse(events), err
}

// ListEventsOfCapture answers GET /captures/{capture_id}/events.
func (e *endpoint) ListEventsOfCapture(ctx context.Context, r api.ListEventsOfCaptureRequestObject) (api.ListEventsOfCaptureResponseObject, error) {
	if err := e.needCapture(ctx, r.CaptureId); err != nil {
		return nil, err
	}
	events, err := e.s.opt.AgentFindings.EventsOfCapture(ctx, r.CaptureId)
	return api.ListEventsOfCapture200JSONResponse(events), err
}
