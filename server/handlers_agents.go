package server

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/rocelens/rocelens/server/api"
)

// ListAgents answers GET /agents.
func (e *endpoint) ListAgents(ctx context.Context, r api.ListAgentsRequestObject) (api.ListAgentsResponseObject, error) {
	agents, err := e.s.opt.Agents.ListAgents(ctx, r.Params)
	return api.ListAgents200JSONResponse(agents), err
}

// GetAgent answers GET /agents/{agent_id}.
func (e *endpoint) GetAgent(ctx context.Context, r api.GetAgentRequestObject) (api.GetAgentResponseObject, error) {
	agent, err := e.s.opt.Agents.Agent(ctx, r.AgentId, *r.Params.Intervals)
	return api.GetAgent200JSONResponse(agent), withoutAgent(err, r.AgentId)
}

// ListAgentFlows answers GET /agents/{agent_id}/flows.
func (e *endpoint) ListAgentFlows(ctx context.Context, r api.ListAgentFlowsRequestObject) (api.ListAgentFlowsResponseObject, error) {
	flows, err := e.s.opt.Agents.AgentFlows(ctx, r.AgentId, r.Params)
	return api.ListAgentFlows200JSONResponse(flows), withoutAgent(err, r.AgentId)
}

// withoutAgent names the agent that was asked for and is not there.
func withoutAgent(err error, id uuid.UUID) error {
	if errors.Is(err, ErrNotFound) {
		return problemf(kindNotFound, "No agent %s has ever reported.", id)
	}
	return err
}

// WatchAgents answers GET /agents/live.
func (e *endpoint) WatchAgents(ctx context.Context, r api.WatchAgentsRequestObject) (api.WatchAgentsResponseObject, error) {
	return e.watch(ctx, uuid.Nil, r.Params.LastEventID)
}

// WatchAgent answers GET /agents/{agent_id}/live.
func (e *endpoint) WatchAgent(ctx context.Context, r api.WatchAgentRequestObject) (api.WatchAgentResponseObject, error) {
	if _, err := e.s.opt.Agents.Agent(ctx, r.AgentId, 1); err != nil {
		return nil, withoutAgent(err, r.AgentId)
	}
	return e.watch(ctx, r.AgentId, r.Params.LastEventID)
}

func (e *endpoint) watch(ctx context.Context, id uuid.UUID, last *string) (*eventStream, error) {
	view, err := e.s.live.join(id)
	if err != nil {
		return nil, err
	}
	stream := &eventStream{ctx: ctx, view: view, leave: func() { e.s.live.leave(view) }}
	if last != nil {
		// What is no ID of ours is as good as none: the client gets how things stand.
		stream.last, _ = strconv.ParseInt(*last, 10, 64)
	}
	return stream, nil
}

// eventStream is an answer of server-sent events; see https://html.spec.whatwg.org/multipage/server-sent-events.html.
type eventStream struct {
	ctx   context.Context //nolint:containedctx // lives as long as one answer
	view  *liveView
	last  int64 // ID of the event that the client has
	leave func()
}

// VisitWatchAgentsResponse implements api.WatchAgentsResponseObject.
func (s *eventStream) VisitWatchAgentsResponse(w http.ResponseWriter) error { return s.send(w) }

// VisitWatchAgentResponse implements api.WatchAgentResponseObject.
func (s *eventStream) VisitWatchAgentResponse(w http.ResponseWriter) error { return s.send(w) }

// send writes events until the client leaves or the service stops, neither of which is an error.
func (s *eventStream) send(w http.ResponseWriter) error {
	defer s.leave()
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store, no-transform")
	h.Set("X-Accel-Buffering", "no") // to nginx and its kin
	w.WriteHeader(http.StatusOK)
	control := http.NewResponseController(w)
	beat := time.NewTicker(liveHeartbeat)
	defer beat.Stop()
	text := []byte("retry: 2000\n\n")
	for {
		if len(text) > 0 {
			if _, err := w.Write(text); err != nil {
				return nil // it has left
			}
			if err := control.Flush(); err != nil {
				return nil // it has left
			}
			text = text[:0]
		}
		events, changed := s.view.after(s.last)
		for _, event := range events {
			text, s.last = append(text, event.text...), event.id
		}
		if len(text) > 0 {
			continue
		}
		select {
		case <-changed:
		case <-beat.C:
			text = append(text, ": still here\n\n"...)
		case <-s.ctx.Done():
			return nil
		}
	}
}
