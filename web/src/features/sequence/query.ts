import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { client, unwrap } from "../../api/client";
import { toRows } from "./rows";

export interface SequenceParams {
  flowId: string;
  pathId: number | undefined;
  /** Span that is asked for; undefined: all. */
  from: string | undefined;
  to: string | undefined;
  bins: number;
}

export const sequenceQuery = (captureId: string, { flowId, pathId, from, to, bins }: SequenceParams) =>
  queryOptions({
    queryKey: ["sequence", captureId, flowId, pathId ?? -1, from ?? "", to ?? "", bins],
    staleTime: 60_000,
    // An answer is large, and panning asks for many.
    gcTime: 30_000,
    structuralSharing: false,
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) =>
      toRows(
        await unwrap(
          client.GET("/captures/{capture_id}/flows/{flow_id}/sequence", {
            signal,
            params: {
              path: { capture_id: captureId, flow_id: flowId },
              query: { bins, ...(from && { from }), ...(to && { to }), ...(pathId !== undefined && { path_id: pathId }) },
            },
          }),
        ),
      ),
  });

/** Enough to mark a graph with; a connection that has more is listed elsewhere. */
const MOST = 200;

export const connectionDivergencesQuery = (captureId: string, connectionId: string) =>
  queryOptions({
    queryKey: ["connection-divergences", captureId, connectionId],
    staleTime: 60_000,
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/captures/{capture_id}/divergences", {
          signal,
          params: { path: { capture_id: captureId }, query: { connection_id: connectionId, limit: MOST } },
        }),
      ),
  });
