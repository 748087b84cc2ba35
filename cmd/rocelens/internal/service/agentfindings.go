package service

import (
	"context"
	"strconv"

	"github.com/google/uuid"

	"github.com/rocelens/rocelens/server/api"
	"github.com/rocelens/rocelens/store"
)

// agentFindings implements server.AgentFindings.
type agentFindings struct{ store *store.Store }

// maxCaptureEvents bounds what is told of a capture, which is the record of one event.
const maxCaptureEvents = 10

// RulesOfAgents implements server.AgentFindings.
func (f *agentFindings) RulesOfAgents(ctx context.Context, p api.ListRulesOfAgentsParams) (out api.AgentRuleList, err error) {
	scope, err := scopeOf(p.AgentId, p.Interface, p.From, p.To)
	if err != nil {
		return out, err
	}
	rules, err := f.store.AgentRules(ctx, scope)
	if err != nil {
		return out, served(err)
	}
	out = api.AgentRuleList{Rules: rulesOf(rules), From: scope.From, To: scope.To}
	for i := range out.Rules {
		out.Rules[i].Conforms = nil
	}
	out.Ledger, err = ledgerOf(ctx, f.store, scope)
	return out, err
}

// DivergencesOfAgents implements server.AgentFindings.
func (f *agentFindings) DivergencesOfAgents(ctx context.Context, p api.ListDivergencesOfAgentsParams) (out api.AgentDivergenceList, err error) {
	scope, err := scopeOf(p.AgentId, p.Interface, p.From, p.To)
	if err != nil {
		return out, err
	}
	query, err := divergenceQuery(p.Rule, p.Verdict, p.ConnectionId, p.Offset, p.Limit)
	if err != nil {
		return out, err
	}
	page, err := f.store.AgentDivergences(ctx, scope, query)
	if err != nil {
		return out, served(err)
	}
	out = api.AgentDivergenceList{Divergences: make([]api.AgentDivergence, len(page.Divergences)), Total: int64(page.Total), From: scope.From, To: scope.To}
	for i := range page.Divergences {
		d := &page.Divergences[i]
		out.Divergences[i] = api.AgentDivergence{
			Divergence: divergenceOf(&d.Divergence), AgentId: d.Agent, Host: d.Host, Interface: d.Interface,
			IntervalStart: d.Start.UTC(), IntervalEnd: d.End.UTC(), Missed: int64(d.Missed),
		}
	}
	out.Ledger, err = ledgerOf(ctx, f.store, scope)
	return out, err
}

// EventsOfAgents implements server.AgentFindings.
func (f *agentFindings) EventsOfAgents(ctx context.Context, p api.ListEventsOfAgentsParams) (api.AgentEventList, error) {
	scope, err := scopeOf(p.AgentId, p.Interface, p.From, p.To)
	if err != nil {
		return api.AgentEventList{}, err
	}
	return f.events(ctx, store.AgentEventQuery{Scope: scope, Offset: valueOr(p.Offset, 0), Limit: valueOr(p.Limit, defaultRows)})
}

// EventsOfCapture implements server.AgentFindings.
func (f *agentFindings) EventsOfCapture(ctx context.Context, capture uuid.UUID) (api.AgentEventList, error) {
	return f.events(ctx, store.AgentEventQuery{Capture: capture, Limit: maxCaptureEvents})
}

func (f *agentFindings) events(ctx context.Context, query store.AgentEventQuery) (api.AgentEventList, error) {
	page, err := f.store.AgentEvents(ctx, query)
	if err != nil {
		return api.AgentEventList{}, served(err)
	}
	out := api.AgentEventList{Events: make([]api.AgentEvent, len(page.Events)), Total: int64(page.Total)}
	for i := range page.Events {
		e := &page.Events[i]
		out.Events[i] = api.AgentEvent{
			Id: e.Event, AgentId: e.Agent, Host: e.Host, Interface: e.Interface, Time: e.Time.UTC(), Kind: e.Kind, Rule: pointerTo(e.Rule), Sentence: e.Sentence,
			Fate: api.AgentEventFate(e.Fate), FateAt: e.Since.UTC(), Why: pointerTo(e.Why), Packets: int64(e.Packets), CaptureId: e.Capture,
		}
		if e.Connection != 0 {
			out.Events[i].ConnectionId = pointerTo(strconv.FormatUint(e.Connection, 10))
		}
	}
	return out, nil
}
