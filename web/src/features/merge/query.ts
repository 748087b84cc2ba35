import { notifications } from "@mantine/notifications";
import { infiniteQueryOptions, queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { client, messageOf, unwrap } from "../../api/client";
import { LIST_PAGE } from "../../api/queries";
import type { Merge, MergeFate } from "../../api/types";

const PROGRESS_INTERVAL_MS = 500;

export const isUnderWay = (merge: Merge | undefined): boolean => merge?.status === "queued" || merge?.status === "running";

/** Of the first and the second capture. */
export interface Pair {
  first: string;
  second: string;
}

const pathOf = ({ first, second }: Pair) => ({ capture_id: first, with_id: second });

export const mergesQuery = (captureId: string) =>
  queryOptions({
    queryKey: ["merges", captureId],
    queryFn: ({ signal }) => unwrap(client.GET("/captures/{capture_id}/merges", { signal, params: { path: { capture_id: captureId } } })),
    refetchInterval: ({ state }) => (state.data?.merges.some(isUnderWay) ? PROGRESS_INTERVAL_MS : false),
  });

export const mergeQuery = (pair: Pair) =>
  queryOptions({
    queryKey: ["merge", pair.first, pair.second],
    queryFn: ({ signal }) => unwrap(client.GET("/captures/{capture_id}/merges/{with_id}", { signal, params: { path: pathOf(pair) } })),
    refetchInterval: ({ state }) => (isUnderWay(state.data) ? PROGRESS_INTERVAL_MS : false),
  });

/** What was made of a merge changes only with another merge. */
const KEPT = { staleTime: 60_000 } as const;

export const directionsQuery = (pair: Pair, flow: string | undefined, page: number) =>
  queryOptions({
    ...KEPT,
    queryKey: ["merge-directions", pair.first, pair.second, flow ?? "", page],
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/captures/{capture_id}/merges/{with_id}/directions", {
          signal,
          params: { path: pathOf(pair), query: { offset: page * LIST_PAGE, limit: LIST_PAGE, ...(flow && { flow_id: flow }) } },
        }),
      ),
  });

export interface MergePacketsParams {
  flow: string | undefined;
  fate: MergeFate | undefined;
  capture: "0" | "1" | undefined;
}

export const mergePacketsQuery = (pair: Pair, { flow, fate, capture }: MergePacketsParams, page: number) =>
  queryOptions({
    ...KEPT,
    queryKey: ["merge-packets", pair.first, pair.second, flow ?? "", fate ?? "", capture ?? "", page],
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/captures/{capture_id}/merges/{with_id}/packets", {
          signal,
          params: {
            path: pathOf(pair),
            query: { offset: page * LIST_PAGE, limit: LIST_PAGE, ...(flow && { flow_id: flow }), ...(fate && { fate }), ...(capture && { capture: Number(capture) }) },
          },
        }),
      ),
  });

export const mergeRulesQuery = (pair: Pair) =>
  queryOptions({
    ...KEPT,
    queryKey: ["merge-rules", pair.first, pair.second],
    queryFn: ({ signal }) => unwrap(client.GET("/captures/{capture_id}/merges/{with_id}/rules", { signal, params: { path: pathOf(pair) } })),
  });

const FINDINGS_PAGE = 100;

export const mergeFindingsQuery = (pair: Pair, rule: string) =>
  infiniteQueryOptions({
    ...KEPT,
    queryKey: ["merge-findings", pair.first, pair.second, rule],
    initialPageParam: 0,
    queryFn: ({ signal, pageParam }) =>
      unwrap(
        client.GET("/captures/{capture_id}/merges/{with_id}/findings", {
          signal,
          params: { path: pathOf(pair), query: { rule, offset: pageParam, limit: FINDINGS_PAGE } },
        }),
      ),
    getNextPageParam: (page, pages) => {
      const seen = pages.reduce((sum, one) => sum + one.findings.length, 0);
      return seen < page.total && page.findings.length > 0 ? seen : undefined;
    },
  });

function complain(what: string) {
  return (error: unknown) => notifications.show({ color: "red", title: what, message: messageOf(error), autoClose: 8_000 });
}

export function useBeginMerge() {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (pair: Pair) => unwrap(client.POST("/captures/{capture_id}/merges/{with_id}", { params: { path: pathOf(pair) } })),
    onSuccess: (merge, pair) => {
      queryClient.setQueryData(mergeQuery(pair).queryKey, merge);
      return queryClient.invalidateQueries({ queryKey: ["merges"] });
    },
    onError: complain("The captures could not be merged"),
  });
}

/** Stops a merge, or forgets what came of it. */
export function useEndMerge() {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (pair: Pair) => unwrap(client.DELETE("/captures/{capture_id}/merges/{with_id}", { params: { path: pathOf(pair) } })),
    onSuccess: (_, { first, second }) => {
      queryClient.removeQueries({ predicate: ({ queryKey }) => String(queryKey[0]).startsWith("merge") && queryKey[1] === first && queryKey[2] === second });
      return queryClient.invalidateQueries({ queryKey: ["merges"] });
    },
    onError: complain("The merge could not be stopped"),
  });
}
