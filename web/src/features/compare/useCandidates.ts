import { useInfiniteQuery, useQueries, useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { capturesQuery, flowQuery, flowsPageQuery } from "../../api/queries";
import type { Capture } from "../../api/types";
import { areOfOneTime, byLikeness, wordsOf } from "./candidates";

/** Each capture that is asked for a connection is a request. */
const ASKED = 40;

/**
 * Stored captures other than one, those that have the same connection first: that of a flow, or the busiest one. filter is
 * words that the name must have.
 */
export function useCandidates(capture: Capture | undefined, flowId: string | undefined, filter: string, withItself: boolean) {
  const list = useInfiniteQuery(capturesQuery);
  const { hasNextPage, isFetchingNextPage, fetchNextPage, error } = list;
  const incomplete = hasNextPage && !error;
  useEffect(() => {
    if (incomplete && !isFetchingNextPage) void fetchNextPage();
  }, [incomplete, isFetchingNextPage, fetchNextPage]);

  const own = useQuery({ ...flowQuery(capture?.id ?? "", flowId ?? ""), enabled: capture !== undefined && flowId !== undefined });
  const busiest = useQuery({
    ...flowsPageQuery(capture?.id ?? "", { sort: "packets", order: "desc", filter: "" }, 0),
    enabled: capture?.analyzed === true && flowId === undefined,
  });
  const probe = flowId === undefined ? busiest.data?.flows[0] : own.data;

  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const others = (list.data ?? []).filter(({ id, analyzed, name }) => analyzed && (withItself || id !== capture?.id) && words.every((word) => name.toLowerCase().includes(word)));
  const asked = others.filter(({ id }) => id !== capture?.id).slice(0, ASKED);
  const answers = useQueries({
    queries: asked.map(({ id }) => ({
      ...flowsPageQuery(id, { sort: "packets", order: "desc", filter: probe ? wordsOf(probe) : "" }, 0),
      enabled: probe !== undefined,
    })),
  });
  const same = new Set(asked.filter((_, index) => answers[index]?.data?.flows.some(({ id }) => id === probe?.id)).map(({ id }) => id));
  const rows = byLikeness(others, (other) => (same.has(other.id) ? "connection" : capture && areOfOneTime(capture, other) ? "time" : "other"));
  return { rows, probe, list, incomplete, asking: answers.some(({ isFetching }) => isFetching) };
}
