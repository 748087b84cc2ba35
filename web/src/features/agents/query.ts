import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { client, unwrap } from "../../api/client";
import type { AgentFlowSort, FoundVerdict, ScopeState } from "../../lib/viewState";
import { endsNow, spanOf } from "./span";

/** What ends now is asked for again so often. */
const AGAIN_MS = 10_000;
const PAGE = 100;

const scopeKey = ({ agent, interface: name, last, from, to }: ScopeState) => [agent ?? "", name ?? "", last ?? "", from ?? "", to ?? ""];
const again = (scope: ScopeState) => (endsNow(scope) ? AGAIN_MS : (false as const));

function scopeOf(scope: ScopeState) {
  return {
    ...spanOf(scope, Date.now()),
    ...(scope.agent && { agent_id: scope.agent }),
    ...(scope.interface && { interface: scope.interface }),
  };
}

export interface AgentFlowsParams {
  sort: AgentFlowSort;
  order: "asc" | "desc";
  filter: string;
}

export const AGENT_FLOWS_PAGE = 200;

export const agentFlowsQuery = (scope: ScopeState, { sort, order, filter }: AgentFlowsParams, page: number) =>
  queryOptions({
    queryKey: ["agents", "flows", ...scopeKey(scope), sort, order, filter, page],
    refetchInterval: again(scope),
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/agents/flows", {
          signal,
          params: { query: { ...scopeOf(scope), sort, order, offset: page * AGENT_FLOWS_PAGE, limit: AGENT_FLOWS_PAGE, ...(filter && { filter }) } },
        }),
      ),
  });

export const agentRulesQuery = (scope: ScopeState) =>
  queryOptions({
    queryKey: ["agents", "rules", ...scopeKey(scope)],
    refetchInterval: again(scope),
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => unwrap(client.GET("/agents/rules", { signal, params: { query: scopeOf(scope) } })),
  });

/** Pages of a list that grow by what has been seen. */
function nextOffset<P extends { total: number }>(rowsOf: (page: P) => readonly unknown[]) {
  return (page: P, pages: P[]): number | undefined => {
    const seen = pages.reduce((sum, one) => sum + rowsOf(one).length, 0);
    return seen < page.total && rowsOf(page).length > 0 ? seen : undefined;
  };
}

export const agentDivergencesQuery = (scope: ScopeState, rule: string, verdict: FoundVerdict | undefined) =>
  infiniteQueryOptions({
    queryKey: ["agents", "divergences", ...scopeKey(scope), rule, verdict ?? ""],
    refetchInterval: again(scope),
    initialPageParam: 0,
    queryFn: ({ signal, pageParam }) =>
      unwrap(client.GET("/agents/divergences", { signal, params: { query: { ...scopeOf(scope), rule, offset: pageParam, limit: PAGE, ...(verdict && { verdict }) } } })),
    getNextPageParam: nextOffset(({ divergences }: { divergences: unknown[]; total: number }) => divergences),
  });

export const agentEventsQuery = (scope: ScopeState) =>
  infiniteQueryOptions({
    queryKey: ["agents", "events", ...scopeKey(scope)],
    refetchInterval: again(scope),
    initialPageParam: 0,
    queryFn: ({ signal, pageParam }) => unwrap(client.GET("/agents/events", { signal, params: { query: { ...scopeOf(scope), offset: pageParam, limit: PAGE } } })),
    getNextPageParam: nextOffset(({ events }: { events: unknown[]; total: number }) => events),
  });

export const captureEventsQuery = (captureId: string) =>
  queryOptions({
    queryKey: ["captures", "events", captureId],
    staleTime: 60_000,
    queryFn: ({ signal }) => unwrap(client.GET("/captures/{capture_id}/events", { signal, params: { path: { capture_id: captureId } } })),
  });

export const portCountersQuery = (agentId: string, scope: Omit<ScopeState, "agent">) =>
  queryOptions({
    queryKey: ["agents", "counters", agentId, ...scopeKey(scope)],
    refetchInterval: again(scope),
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => unwrap(client.GET("/agents/{agent_id}/counters", { signal, params: { path: { agent_id: agentId }, query: scopeOf(scope) } })),
  });

export interface SeriesParams {
  agentId: string;
  interface: string;
  flowId?: string | undefined;
  /** Keys of counters. */
  counters: readonly string[];
}

export const agentSeriesQuery = ({ agentId, interface: name, flowId, counters }: SeriesParams, scope: ScopeState) =>
  queryOptions({
    queryKey: ["agents", "series", agentId, name, flowId ?? "", counters.join(), ...scopeKey(scope)],
    refetchInterval: again(scope),
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/agents/{agent_id}/series", {
          signal,
          params: {
            path: { agent_id: agentId },
            query: { ...spanOf(scope, Date.now()), interface: name, ...(flowId && { flow_id: flowId }), ...(counters.length > 0 && { counters: counters.join() }) },
          },
        }),
      ),
  });
