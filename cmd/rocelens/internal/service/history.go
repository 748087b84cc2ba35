package service

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rocelens/rocelens/capture/portstat"
	"github.com/rocelens/rocelens/server"
	"github.com/rocelens/rocelens/server/api"
	"github.com/rocelens/rocelens/store"
)

// history implements server.AgentHistory.
type history struct{ store *store.Store }

// Bounds of the span of time that is asked for.
const (
	defaultSpan        = 10 * time.Minute
	maxSpan            = 31 * 24 * time.Hour
	defaultSeriesParts = 300
	maxSeriesCounters  = 8
)

// scopeOf is what is asked for, with the span of time that the document promises where none is given.
func scopeOf(agent *uuid.UUID, name *string, from, to *time.Time) (store.AgentScope, error) {
	scope := store.AgentScope{Agent: valueOr(agent, uuid.Nil), Interface: valueOr(name, ""), To: valueOr(to, time.Now()).UTC()}
	scope.From = valueOr(from, scope.To.Add(-defaultSpan)).UTC()
	switch span := scope.To.Sub(scope.From); {
	case span <= 0:
		return scope, fmt.Errorf("%w: the span of time ends before it begins", server.ErrBadRequest)
	case span > maxSpan:
		return scope, fmt.Errorf("%w: a span of time has at most 31 days", server.ErrBadRequest)
	}
	return scope, nil
}

// ledgerOf is what is missing from whatever is told of a scope.
func ledgerOf(ctx context.Context, from *store.Store, scope store.AgentScope) (api.AgentLedger, error) {
	sum, err := from.AgentLedger(ctx, scope)
	if err != nil {
		return api.AgentLedger{}, served(err)
	}
	return api.AgentLedger{
		Intervals: int64(sum.Intervals), Down: int64(sum.Down), From: utc(sum.From), To: utc(sum.To), Missed: int64(sum.Missed),
		InterfaceDropped: wide(sum.InterfaceDropped), Packets: int64(sum.SourceIn), Drops: signedMap(sum.Drops), Judged: wide(sum.Judged),
		Untold: int64(sum.Divergences) - int64(sum.DivergenceRows),
	}, nil
}

// FlowsOfAgents implements server.AgentHistory.
func (h *history) FlowsOfAgents(ctx context.Context, p api.ListFlowsOfAgentsParams) (out api.AgentFlowPage, err error) {
	scope, err := scopeOf(p.AgentId, p.Interface, p.From, p.To)
	if err != nil {
		return out, err
	}
	page, err := h.store.AgentFlowsIn(ctx, scope, store.AgentFlowQuery{
		Sort: string(valueOr(p.Sort, "")), Ascending: valueOr(p.Order, "") == api.ListFlowsOfAgentsParamsOrderAsc, Filter: valueOr(p.Filter, ""),
		Offset: valueOr(p.Offset, 0), Limit: valueOr(p.Limit, defaultAgentFlows),
	})
	if err != nil {
		return out, served(err)
	}
	ledger, err := ledgerOf(ctx, h.store, scope)
	return api.AgentFlowPage{Flows: agentFlowsOf(page.Flows), Total: int64(page.Total), From: scope.From, To: scope.To, Ledger: ledger}, err
}

// PortCounters implements server.AgentHistory.
func (h *history) PortCounters(ctx context.Context, agent uuid.UUID, p api.ListPortCountersParams) (out api.PortCounterList, err error) {
	scope, err := scopeOf(&agent, p.Interface, p.From, p.To)
	if err != nil {
		return out, err
	}
	if _, err := h.store.Agent(ctx, agent); err != nil {
		return out, served(err)
	}
	counters, err := h.store.PortCounters(ctx, scope)
	if err != nil {
		return out, served(err)
	}
	out = api.PortCounterList{Counters: make([]api.PortCounter, len(counters)), From: scope.From, To: scope.To}
	for i := range counters {
		out.Counters[i] = portCounterOf(&counters[i])
	}
	out.Ledger, err = ledgerOf(ctx, h.store, scope)
	return out, err
}

func portCounterOf(c *store.PortCounterSum) api.PortCounter {
	out := api.PortCounter{
		Key: counterKey(c.Source, c.Device, c.Port, c.Name), Interface: c.Interface, Source: api.PortCounterSource(c.Source), Device: c.Device, Port: int64(c.Port),
		Name: c.Name, Value: wide(c.Value), Delta: wide(c.Delta), Unknown: int64(c.Unknown), ReadAt: c.Read.UTC(),
	}
	if c.Source == portstat.Setting.String() {
		out.Setting, out.Unknown = &c.Setting, 0
		if c.Before != c.Setting {
			out.ChangedFrom = &c.Before
		}
		return out
	}
	out.Meaning = pointerTo(portstat.Meaning(c.Name))
	return out
}

func counterKey(source, device string, port uint32, name string) string {
	return source + "/" + device + "/" + strconv.FormatUint(uint64(port), 10) + "/" + name
}

// countersOf reads what counterKey has written, parted by commas.
func countersOf(list string) (names []string, keys []store.CounterKey, err error) {
	if list == "" {
		return nil, nil, nil
	}
	names = strings.Split(list, ",")
	if len(names) > maxSeriesCounters {
		return nil, nil, fmt.Errorf("%w: at most %d counters are told of at once", server.ErrBadRequest, maxSeriesCounters)
	}
	for _, name := range names {
		parts := strings.SplitN(name, "/", 4)
		if len(parts) < 4 {
			return nil, nil, fmt.Errorf("%w: %q is no counter: source/device/port/name", server.ErrBadRequest, name)
		}
		port, err := strconv.ParseUint(parts[2], 10, 32)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %q has no port: source/device/port/name", server.ErrBadRequest, name)
		}
		keys = append(keys, store.CounterKey{Source: parts[0], Device: parts[1], Port: uint32(port), Name: parts[3]})
	}
	return names, keys, nil
}

// AgentSeries implements server.AgentHistory.
func (h *history) AgentSeries(ctx context.Context, id uuid.UUID, p api.GetAgentSeriesParams) (out api.AgentSeries, err error) {
	scope, err := scopeOf(&id, &p.Interface, p.From, p.To)
	if err != nil {
		return out, err
	}
	query := store.AgentSeriesQuery{Scope: scope, Buckets: valueOr(p.Buckets, defaultSeriesParts)}
	if query.Flow, err = flowID(p.FlowId); err != nil {
		return out, err
	}
	names, keys, err := countersOf(valueOr(p.Counters, ""))
	if err != nil {
		return out, err
	}
	query.Counters = keys
	agent, err := h.store.Agent(ctx, id)
	if err != nil {
		return out, served(err)
	}
	query.Interval = time.Duration(agent.Interval)
	series, err := h.store.AgentSeries(ctx, query)
	if err != nil {
		return out, served(err)
	}
	out = agentSeriesOf(&series)
	for i, name := range names {
		out.Counters = append(out.Counters, api.CounterSeries{Key: name, Delta: widenAll(series.Counters[i])})
	}
	out.Ledger, err = ledgerOf(ctx, h.store, scope)
	return out, err
}

func agentSeriesOf(s *store.AgentSeries) api.AgentSeries {
	out := api.AgentSeries{BucketNs: strconv.FormatInt(s.Width, 10), StartNs: make([]string, len(s.Points)), Counters: []api.CounterSeries{}}
	for i := range s.Points {
		p := &s.Points[i]
		out.StartNs[i] = strconv.FormatInt(s.Start+int64(i)*s.Width, 10)
		out.Packets, out.Bytes = append(out.Packets, p.Packets), append(out.Bytes, p.Bytes)
		out.Retransmitted, out.OutOfOrder = append(out.Retransmitted, p.Retransmitted), append(out.OutOfOrder, p.OutOfOrder)
		out.MissingPsns, out.Naks = append(out.MissingPsns, p.MissingPSNs), append(out.Naks, p.Naks)
		out.RnrNaks, out.Cnps = append(out.RnrNaks, p.RNRNaks), append(out.Cnps, p.CNPs)
		out.CeMarked, out.Missed = append(out.CeMarked, p.CEMarked), append(out.Missed, wide(p.Missed))
	}
	return out
}
