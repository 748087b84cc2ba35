package service

import (
	"context"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/server"
	"github.com/rocelens/rocelens/server/api"
	"github.com/rocelens/rocelens/store"
)

// agents implements server.Agents.
type agents struct{ store *store.Store }

// Defaults of the API's document.
const (
	defaultAgents     = 1000
	defaultAgentFlows = 100
	liveFlows         = 50 // of an agent, and of all
)

// An agent is silent when nothing was heard of it for so many of its intervals, and for so long at least.
const (
	silentIntervals = 3
	silentAfter     = 15 * time.Second
)

// ListAgents implements server.Agents.
func (a *agents) ListAgents(ctx context.Context, params api.ListAgentsParams) (api.AgentList, error) {
	page, err := a.store.Agents(ctx, valueOr(params.Offset, 0), valueOr(params.Limit, defaultAgents))
	if err != nil {
		return api.AgentList{}, served(err)
	}
	return api.AgentList{Agents: agentsOf(page.Agents), Total: int64(page.Total)}, nil
}

// Agent implements server.Agents.
func (a *agents) Agent(ctx context.Context, id uuid.UUID, intervals int) (api.AgentDetail, error) {
	agent, err := a.store.Agent(ctx, id)
	if err != nil {
		return api.AgentDetail{}, served(err)
	}
	accounts, err := a.store.AgentAccounts(ctx, id, intervals)
	if err != nil {
		return api.AgentDetail{}, served(err)
	}
	return api.AgentDetail{Agent: agentOf(&agent), Accounts: accountsOf(accounts)}, nil
}

// AgentFlows implements server.Agents.
func (a *agents) AgentFlows(ctx context.Context, id uuid.UUID, params api.ListAgentFlowsParams) (api.AgentFlowList, error) {
	page, err := a.store.AgentFlows(ctx, id, store.AgentFlowQuery{
		Intervals: valueOr(params.Intervals, 1), Sort: string(valueOr(params.Sort, "")), Ascending: valueOr(params.Order, "") == api.ListAgentFlowsParamsOrderAsc,
		Filter: valueOr(params.Filter, ""), Interface: valueOr(params.Interface, ""), Offset: valueOr(params.Offset, 0), Limit: valueOr(params.Limit, defaultAgentFlows),
	})
	if err != nil {
		return api.AgentFlowList{}, served(err)
	}
	out := api.AgentFlowList{Flows: agentFlowsOf(page.Flows), Total: int64(page.Total)}
	if !page.To.IsZero() {
		out.From, out.To = utc(&page.From), utc(&page.To)
	}
	return out, nil
}

// News implements server.Agents.
func (a *agents) News(ctx context.Context, query server.NewsQuery) (server.News, error) {
	found, err := a.store.AgentsLive(ctx, store.LiveQuery{Flows: liveFlows, Agents: query.Agents, Together: query.Together})
	if err != nil {
		return server.News{}, served(err)
	}
	news := server.News{
		Agents: agentsOf(found.Agents), Accounts: accountsOf(found.Accounts), Newest: accountsOf(found.Newest),
		Flows: map[uuid.UUID][]api.AgentFlow{}, Together: agentFlowsOf(found.Together),
	}
	for i := range found.ByAgent {
		f := &found.ByAgent[i]
		news.Flows[f.Agent] = append(news.Flows[f.Agent], agentFlowOf(f))
	}
	return news, nil
}

func agentsOf(all []store.Agent) []api.Agent {
	out := make([]api.Agent, len(all))
	for i := range all {
		out[i] = agentOf(&all[i])
	}
	return out
}

func agentOf(a *store.Agent) api.Agent {
	interval := time.Duration(min(a.Interval, math.MaxInt64))
	out := api.Agent{
		Id: a.ID, Host: a.Host, Version: a.Version, Kernel: a.Kernel, Architecture: a.Architecture, Run: a.Run,
		StartedAt: a.Started.UTC(), HeartbeatAt: a.Heartbeat.UTC(), HeardAt: a.Arrived.UTC(), SilentSeconds: a.Silence().Seconds(),
		State: api.AgentStateOk, IntervalSeconds: interval.Seconds(), Interfaces: make([]api.AgentInterface, 0, len(a.Interfaces)),
		PacketsPerSecond: a.PacketsPerSecond, RdmaPacketsPerSecond: a.RDMAPacketsPerSecond, BitsPerSecond: a.BitsPerSecond, Drops: signedMap(a.Drops),
		Spool: api.AgentSpool{
			Rows: int64(a.SpoolRows), Batches: int64(a.SpoolBatches), Bytes: int64(a.SpoolBytes), LimitBytes: int64(a.SpoolLimit),
			TornBytes: int64(a.SpoolTornBytes), Damaged: int64(a.SpoolDamaged),
		},
		LagSeconds:  time.Duration(min(a.Lag, math.MaxInt64)).Seconds(),
		ShippedRows: int64(a.ShippedRows), RefusedRows: int64(a.RefusedRows), Failures: int64(a.Failures),
		Recorder: api.AgentRecorder{
			Events: int64(a.Triggers), LastAt: utc(a.LastTrigger), LastEvent: a.LastTriggerEvent, RecordsWaiting: int64(a.RecordsWaiting), RecordsLost: int64(a.RecordsLost),
		},
	}
	for i, name := range a.Interfaces {
		one := api.AgentInterface{Name: name}
		if i < len(a.Tiers) && i < len(a.Up) {
			one.Tier, one.Up = a.Tiers[i], a.Up[i] != 0
		}
		if i < len(a.RDMA) && i < len(a.Bypassed) { // not of earlier releases
			one.Rdma, one.Bypassed = a.RDMA[i], a.Bypassed[i] != 0
		}
		out.Interfaces = append(out.Interfaces, one)
	}
	switch {
	case a.Silence() > max(silentAfter, silentIntervals*interval):
		out.State = api.AgentStateSilent
	case a.Problem != "":
		out.State = api.AgentStateProblem
	}
	out.Problem = pointerTo(a.Problem)
	return out
}

func signedMap(in map[string]uint64) map[string]int64 {
	out := make(map[string]int64, len(in))
	for key, n := range in {
		out[key] = int64(n)
	}
	return out
}

func accountsOf(all []store.AgentAccount) []api.AgentAccount {
	out := make([]api.AgentAccount, len(all))
	for i := range all {
		a := &all[i]
		out[i] = api.AgentAccount{
			AgentId: a.Agent, Host: a.Host, Interface: a.Interface, Start: a.Start.UTC(), End: a.End.UTC(), Tier: a.Tier, Up: a.Up != 0,
			Missed: int64(a.Missed), InterfacePackets: wide(a.InterfacePackets), InterfaceDropped: wide(a.InterfaceDropped),
			SourceIn: int64(a.SourceIn), SourceOut: int64(a.SourceOut), SourceHeld: int64(a.SourceHeld), DecodeOut: int64(a.DecodeOut),
			TrackOut: int64(a.TrackOut), SpoolOut: int64(a.SpoolOut), Drops: signedMap(a.Drops), Bytes: int64(a.Bytes), RdmaBytes: int64(a.RDMABytes),
			FlowRows: int64(a.FlowRows), PathRows: int64(a.PathRows), SpooledRows: int64(a.SpooledRows),
		}
	}
	return out
}

func agentFlowsOf(all []store.AgentFlow) []api.AgentFlow {
	out := make([]api.AgentFlow, len(all))
	for i := range all {
		out[i] = agentFlowOf(&all[i])
	}
	return out
}

func agentFlowOf(f *store.AgentFlow) api.AgentFlow {
	out := api.AgentFlow{
		AgentId: f.Agent, Host: f.Host, Interface: f.Interface, From: f.From.UTC(), To: f.To.UTC(),
		Id: idOf(flow.ID(f.Flow)), ConnectionId: idOf(flow.ID(f.Connection)), Protocol: f.Protocol, Service: f.Service, Application: pointerTo(f.Application),
		Source: f.Source.String(), Destination: f.Destination.String(), SourceQp: wide(f.SourceQP), DestinationQp: int64(f.DestinationQP),
		Packets: int64(f.Packets), Bytes: int64(f.Bytes), PayloadBytes: int64(f.PayloadBytes), Messages: wide(f.Messages),
		Retransmitted: wide(f.Retransmitted), OutOfOrder: wide(f.OutOfOrder), MissingPsns: wide(f.MissingPSNs), Acks: int64(f.Acks),
		Naks: int64(f.Naks), RnrNaks: int64(f.RNRNaks), Cnps: int64(f.CNPs), CeMarked: wide(f.CEMarked), IcrcBad: int64(f.ICRCBad), Missed: int64(f.Missed),
	}
	if seconds := f.To.Sub(f.From).Seconds(); seconds > 0 {
		out.BitsPerSecond, out.PacketsPerSecond = float64(f.Bytes)*8/seconds, float64(f.Packets)/seconds
	}
	return out
}
