import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { client, unwrap } from "../../api/client";
import type { DiffState } from "../../lib/viewState";

/** Both sides are named. */
export type Sides = DiffState & { a: string; b: string };

export const diffQuery = ({ a, b, flow_a, flow_b }: Sides) =>
  queryOptions({
    queryKey: ["diff", a, b, flow_a ?? "", flow_b ?? ""],
    staleTime: 60_000,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => unwrap(client.GET("/diff", { signal, params: { query: { a, b, ...(flow_a && { flow_a }), ...(flow_b && { flow_b }) } } })),
  });
