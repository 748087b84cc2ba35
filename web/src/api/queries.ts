import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import type { Finding, FlowSort, FoundVerdict, PathSort, StreamSort } from "../lib/viewState";
import { ApiError, client, unwrap } from "./client";
import type { Capture } from "./types";

/** Keys and fetchers of everything that is read. Each passes the signal on, so leaving a page ends its requests. */

const PROGRESS_INTERVAL_MS = 500;
/** Others may upload, delete and analyse again at any time. */
const OTHERS_INTERVAL_MS = 5_000;

export function isRunning(capture: Capture | undefined): boolean {
  return capture?.status === "queued" || capture?.status === "analyzing";
}

export const captureKeys = {
  all: ["captures"] as const,
  list: ["captures", "list"] as const,
  one: (id: string) => ["captures", "one", id] as const,
};

export const serviceQuery = queryOptions({
  queryKey: ["service"],
  queryFn: ({ signal }) => unwrap(client.GET("/service", { signal })),
  retry: false,
  refetchInterval: (query) => (query.state.status === "error" ? 3_000 : 30_000),
});

/** Live views bring what is newer. */
export const agentsQuery = queryOptions({
  queryKey: ["agents", "list"],
  queryFn: ({ signal }) => unwrap(client.GET("/agents", { signal, params: { query: { limit: 10_000 } } })),
  refetchInterval: OTHERS_INTERVAL_MS,
});

export const agentQuery = (id: string, intervals: number) =>
  queryOptions({
    queryKey: ["agents", "one", id, intervals],
    queryFn: ({ signal }) => unwrap(client.GET("/agents/{agent_id}", { signal, params: { path: { agent_id: id }, query: { intervals } } })),
  });

export const capturesQuery = infiniteQueryOptions({
  queryKey: captureKeys.list,
  initialPageParam: undefined as string | undefined,
  queryFn: ({ signal, pageParam }) =>
    unwrap(client.GET("/captures", { signal, params: { query: { limit: 100, ...(pageParam && { cursor: pageParam }) } } })),
  getNextPageParam: (page) => page.next_cursor || undefined,
  // Each page of a long list is a request.
  refetchInterval: ({ state }) => OTHERS_INTERVAL_MS * Math.max(1, state.data?.pages.length ?? 1),
  select: (data) => data.pages.flatMap((page) => page.captures),
});

export const captureQuery = (id: string) =>
  queryOptions({
    queryKey: captureKeys.one(id),
    queryFn: ({ signal }) => unwrap(client.GET("/captures/{capture_id}", { signal, params: { path: { capture_id: id } } })),
    refetchInterval: ({ state }) => {
      if (state.error instanceof ApiError && state.error.status === 404) return false;
      return isRunning(state.data) ? PROGRESS_INTERVAL_MS : OTHERS_INTERVAL_MS;
    },
  });

export interface FlowsParams {
  sort: FlowSort;
  order: "asc" | "desc";
  filter: string;
}

export const FLOWS_PAGE = 200;

export const flowsPageQuery = (id: string, params: FlowsParams, page: number) =>
  queryOptions({
    queryKey: ["flows", id, params, page],
    staleTime: 60_000,
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/captures/{capture_id}/flows", {
          signal,
          params: {
            path: { capture_id: id },
            query: {
              sort: params.sort,
              order: params.order,
              offset: page * FLOWS_PAGE,
              limit: FLOWS_PAGE,
              ...(params.filter && { filter: params.filter }),
            },
          },
        }),
      ),
  });

export const flowQuery = (id: string, flowId: string) =>
  queryOptions({
    queryKey: ["flow", id, flowId],
    staleTime: 60_000,
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/captures/{capture_id}/flows/{flow_id}", {
          signal,
          params: { path: { capture_id: id, flow_id: flowId } },
        }),
      ),
  });

export interface ThroughputParams {
  flowId?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
}

export const throughputQuery = (id: string, { flowId, from, to }: ThroughputParams) =>
  queryOptions({
    queryKey: ["throughput", id, flowId ?? "", from ?? "", to ?? ""],
    staleTime: 60_000,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/captures/{capture_id}/throughput", {
          signal,
          params: {
            path: { capture_id: id },
            query: { buckets: 400, ...(flowId && { flow_id: flowId }), ...(from && { from }), ...(to && { to }) },
          },
        }),
      ),
  });

export interface ListParams<S extends string> {
  /** Only rows of this flow. */
  flowId?: string | undefined;
  sort: S;
  order: "asc" | "desc";
  filter: string;
}

export const LIST_PAGE = 200;

const listQuery = <S extends string>({ flowId, sort, order, filter }: ListParams<S>, page: number) => ({
  sort,
  order,
  offset: page * LIST_PAGE,
  limit: LIST_PAGE,
  ...(flowId && { flow_id: flowId }),
  ...(filter && { filter }),
});

export const pathsPageQuery = (id: string, params: ListParams<PathSort>, page: number) =>
  queryOptions({
    queryKey: ["paths", id, params, page],
    staleTime: 60_000,
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/captures/{capture_id}/paths", { signal, params: { path: { capture_id: id }, query: listQuery(params, page) } }),
      ),
  });

export const streamsPageQuery = (id: string, params: ListParams<StreamSort>, page: number) =>
  queryOptions({
    queryKey: ["streams", id, params, page],
    staleTime: 60_000,
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/captures/{capture_id}/streams", { signal, params: { path: { capture_id: id }, query: listQuery(params, page) } }),
      ),
  });

export const pathSeriesQuery = (id: string, flowId: string, pathId: number) =>
  queryOptions({
    queryKey: ["path-series", id, flowId, pathId],
    staleTime: 60_000,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/captures/{capture_id}/flows/{flow_id}/paths/{path_id}/series", {
          signal,
          params: { path: { capture_id: id, flow_id: flowId, path_id: pathId }, query: { buckets: 300 } },
        }),
      ),
  });

export const rulesQuery = (id: string) =>
  queryOptions({
    queryKey: ["rules", id],
    staleTime: 60_000,
    queryFn: ({ signal }) => unwrap(client.GET("/captures/{capture_id}/rules", { signal, params: { path: { capture_id: id } } })),
  });

export const replayQuery = (id: string, flowId: string) =>
  queryOptions({
    queryKey: ["replay", id, flowId],
    staleTime: 60_000,
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/captures/{capture_id}/flows/{flow_id}/replay", { signal, params: { path: { capture_id: id, flow_id: flowId } } }),
      ),
  });

const DIVERGENCES_PAGE = 100;

export const divergencesQuery = (id: string, rule: string, verdict: FoundVerdict | undefined) =>
  infiniteQueryOptions({
    queryKey: ["divergences", id, rule, verdict ?? ""],
    staleTime: 60_000,
    initialPageParam: 0,
    queryFn: ({ signal, pageParam }) =>
      unwrap(
        client.GET("/captures/{capture_id}/divergences", {
          signal,
          params: {
            path: { capture_id: id },
            query: { rule, offset: pageParam, limit: DIVERGENCES_PAGE, ...(verdict && { verdict }) },
          },
        }),
      ),
    getNextPageParam: (page, pages) => {
      const seen = pages.reduce((sum, one) => sum + one.divergences.length, 0);
      return seen < page.total && page.divergences.length > 0 ? seen : undefined;
    },
  });

export const divergenceQuery = (id: string, divergenceId: string) =>
  queryOptions({
    queryKey: ["divergence", id, divergenceId],
    staleTime: 60_000,
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/captures/{capture_id}/divergences/{divergence_id}", {
          signal,
          params: { path: { capture_id: id, divergence_id: divergenceId } },
        }),
      ),
  });

export const divergencePacketsQuery = (id: string, divergenceId: string, around: number) =>
  queryOptions({
    queryKey: ["divergence-packets", id, divergenceId, around],
    staleTime: 60_000,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/captures/{capture_id}/divergences/{divergence_id}/packets", {
          signal,
          params: { path: { capture_id: id, divergence_id: divergenceId }, query: { around } },
        }),
      ),
  });

export interface PacketsParams {
  flowId?: string | undefined;
  bothDirections: boolean;
  only?: Finding | undefined;
  /** Only packets of this span of time. */
  from?: string | undefined;
  to?: string | undefined;
}

/** Where a page of packets begins or ends. */
export interface PacketCursor {
  after?: number;
  before?: number;
}

export const PACKETS_PAGE = 200;
/** More pages than this are let go at the far end, so a walk through millions of packets keeps memory small. */
const MAX_PACKET_PAGES = 20;

export const packetsQuery = (id: string, params: PacketsParams, anchor: number) =>
  infiniteQueryOptions({
    queryKey: ["packets", id, params, anchor],
    staleTime: 60_000,
    maxPages: MAX_PACKET_PAGES,
    initialPageParam: { after: anchor } as PacketCursor,
    queryFn: ({ signal, pageParam }) =>
      unwrap(
        client.GET("/captures/{capture_id}/packets", {
          signal,
          params: {
            path: { capture_id: id },
            query: {
              limit: PACKETS_PAGE,
              ...(params.flowId && { flow_id: params.flowId, both_directions: params.bothDirections }),
              ...(params.only && { only: params.only }),
              ...(params.from && { from: params.from }),
              ...(params.to && { to: params.to }),
              ...(pageParam.before === undefined ? { after: pageParam.after ?? 0 } : { before: pageParam.before }),
            },
          },
        }),
      ),
    getNextPageParam: (page): PacketCursor | undefined => {
      const last = page.packets.at(-1);
      return page.more_after && last ? { after: last.number } : undefined;
    },
    getPreviousPageParam: (page, _pages, cursor): PacketCursor | undefined => {
      if (!page.more_before) return undefined;
      // A page may be empty when all that match come before the place where the list was opened.
      return { before: page.packets[0]?.number ?? (cursor.after ?? 0) + 1 };
    },
  });

export const packetQuery = (id: string, number: number) =>
  queryOptions({
    queryKey: ["packet", id, number],
    staleTime: Infinity,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/captures/{capture_id}/packets/{number}", {
          signal,
          params: { path: { capture_id: id, number } },
        }),
      ),
  });

export const examplesQuery = queryOptions({
  queryKey: ["query", "examples"],
  staleTime: Infinity,
  queryFn: ({ signal }) => unwrap(client.GET("/query/examples", { signal })),
});

export const schemaQuery = queryOptions({
  queryKey: ["query", "schema"],
  staleTime: 60_000,
  queryFn: ({ signal }) => unwrap(client.GET("/schema", { signal })),
});
