import { Button, Select, Skeleton } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useEffect, useEffectEvent, useMemo, useState } from "react";
import type { Flow } from "../../api/types";
import { EmptyState } from "../../components/EmptyState";
import { QueryError } from "../../components/QueryError";
import { countOf, formatDuration } from "../../lib/format";
import { parseTime, toRFC3339 } from "../../lib/time";
import type { SequenceState } from "../../lib/viewState";
import type { Flag } from "./draw";
import { hiddenOf, hiddenText, Legend } from "./Legend";
import { connectionDivergencesQuery, sequenceQuery } from "./query";
import { tally, type Layer, type Rows } from "./rows";
import { SequenceGraph } from "./SequenceGraph";
import classes from "./SequenceGraph.module.css";
import { around, serves, whole, within, zoomed, type View } from "./view";

const route = getRouteApi("/captures/$captureId/flows/$flowId/sequence");
const FETCH_MS = 90;
const ADDRESS_MS = 350;
/** About one a pixel of what is shown and of as much beside it. */
const BINS = 4000;

/** What was asked for, ns after the first packet; undefined bounds: all. */
type Asked = View | undefined;

function timesOf(asked: Asked, start: bigint): { from: string | undefined; to: string | undefined } {
  if (!asked) return { from: undefined, to: undefined };
  return { from: toRFC3339(start + BigInt(Math.floor(asked.from))), to: toRFC3339(start + BigInt(Math.ceil(asked.to)) + 1n) };
}

interface Props {
  captureId: string;
  flow: Flow;
}

/** The graph with its window on the flow, which the address keeps. */
export function SequenceView({ captureId, flow }: Props) {
  const state = route.useSearch();
  const navigate = route.useNavigate();
  const first = useQuery(sequenceQuery(captureId, { flowId: flow.id, pathId: state.path, from: undefined, to: undefined, bins: BINS }));
  if (first.error && !first.data) return <QueryError error={first.error} what="The sequence of this flow" onRetry={() => void first.refetch()} />;
  if (!first.data) return <Skeleton style={{ flex: 1, minHeight: 380 }} aria-label="Reading the sequence" />;
  const numbered = first.data.tracks.some(({ first_psn }) => first_psn !== null);
  if (first.data.packets === 0 || !numbered) {
    return (
      <EmptyState title={first.data.tracks.length > 0 && first.data.packets === 0 ? "No times" : "No PSNs of this direction"}>
        <p>
          {first.data.tracks.length > 0 && first.data.packets === 0
            ? "The capture has no time stamps, so there is nothing to draw over time."
            : "The sender of this flow sent no requests in this capture: it only answers the other end's, whose PSNs are shown there."}
        </p>
        {flow.reverse_flow_id && (
          <Link to="/captures/$captureId/flows/$flowId/sequence" params={{ captureId, flowId: flow.reverse_flow_id }} search={{}}>
            The other direction
          </Link>
        )}
      </EmptyState>
    );
  }
  return (
    <Loaded
      captureId={captureId}
      flow={flow}
      all={first.data}
      state={state}
      onState={(part) => void navigate({ search: (previous: SequenceState) => ({ ...previous, ...part }), replace: true })}
    />
  );
}

interface LoadedProps extends Props {
  all: Rows;
  state: SequenceState;
  onState: (part: Partial<SequenceState>) => void;
}

function Loaded({ captureId, flow, all, state, onState }: LoadedProps) {
  const navigate = route.useNavigate();
  const { start, span } = all;
  const addressed = useMemo((): View => {
    const [from, to] = [state.from && parseTime(state.from), state.to && parseTime(state.to)];
    if (!from || !to || to <= from) return whole(span);
    return within({ from: Number(from - start), to: Number(to - start) }, span);
  }, [state.from, state.to, start, span]);
  const [view, setView] = useState(addressed);
  const [settled] = useDebouncedValue(view, FETCH_MS);
  const [resting] = useDebouncedValue(view, ADDRESS_MS);

  const [asked, setAsked] = useState<Asked>();
  const exactAll = all.bin === 0;
  const sequence = useQuery(
    sequenceQuery(captureId, { flowId: flow.id, pathId: state.path, ...timesOf(asked, start), bins: BINS }),
  );
  const rows = sequence.data ?? all;
  const exact = sequence.isPlaceholderData ? false : rows.bin === 0;
  if (!exactAll && !serves(asked ?? whole(span), exact, settled, span)) {
    const next = around(settled, span);
    if (next.from !== asked?.from || next.to !== asked?.to) setAsked(next);
  }

  const write = useEffectEvent((shown: View) => {
    const full = whole(span);
    const isAll = shown.from <= full.from && shown.to >= full.to;
    const at = (ns: number): string => toRFC3339(start + BigInt(Math.round(ns)));
    const next = isAll ? { from: undefined, to: undefined } : { from: at(shown.from), to: at(shown.to) };
    if (next.from !== state.from || next.to !== state.to) onState(next);
  });
  useEffect(() => write(resting), [resting]);
  // Back, forward, or another link to this page.
  const [followed, setFollowed] = useState(addressed);
  if (followed !== addressed) {
    setFollowed(addressed);
    if (Math.abs(addressed.from - resting.from) > 1 || Math.abs(addressed.to - resting.to) > 1) setView(addressed);
  }

  const divergences = useQuery(connectionDivergencesQuery(captureId, flow.connection_id));
  const flags = useMemo(
    (): Flag[] =>
      (divergences.data?.divergences ?? []).flatMap(({ id, time, verdict, rule, sentence }) => {
        const at = time ? parseTime(time) : undefined;
        return at === undefined ? [] : [{ id, at: Number(at - start), diverges: verdict === "diverges", text: `${verdict === "diverges" ? "Diverges" : "Undetermined"}: ${rule}. ${sentence}` }];
      }),
    [divergences.data, start],
  );
  const hidden = useMemo(() => hiddenOf(state.hide), [state.hide]);
  const counts = useMemo(() => new Map<Layer, number>([...tally(rows), ["divergences", flags.length]]), [rows, flags]);
  const { source, destination } = flow;
  const paths = all.tracks.filter(({ path_id }) => path_id !== null);
  return (
    <section className={classes.root} aria-label="Sequence" data-rows={rows.at.length} data-bin={rows.bin}>
      <div className={classes.bar}>
        <Legend rows={rows} counts={counts} hidden={hidden} onHidden={(next) => onState({ hide: hiddenText(next) })} />
        <div className={classes.tools}>
          {(paths.length > 1 || state.path !== undefined) && flow.metaroce && (
            <Select
              aria-label="Path"
              w={110}
              value={state.path === undefined ? "all" : String(state.path)}
              onChange={(value) => onState({ path: value === null || value === "all" ? undefined : Number(value) })}
              data={[{ value: "all", label: "All paths" }, ...Array.from({ length: Math.max(flow.metaroce.paths, (state.path ?? 0) + 1) }, (_, path) => ({ value: String(path), label: `Path ${path}` }))]}
            />
          )}
          <Button variant="default" aria-label="Zoom in" onClick={() => setView(zoomed(view, 0.5, 0.5, span))}>
            +
          </Button>
          <Button variant="default" aria-label="Zoom out" onClick={() => setView(zoomed(view, 2, 0.5, span))}>
            −
          </Button>
          <Button variant="default" onClick={() => setView(whole(span))}>
            Show all
          </Button>
          {flow.reverse_flow_id && (
            <Link
              className={classes.other}
              to="/captures/$captureId/flows/$flowId/sequence"
              params={{ captureId, flowId: flow.reverse_flow_id }}
              search={{ from: state.from, to: state.to, hide: state.hide }}
              title={`PSNs that ${destination} chose`}
            >
              Other direction
            </Link>
          )}
        </div>
      </div>
      {paths.length > 1 && (
        <div className={classes.key}>
          {paths.map(({ path_id }) => (
            <span key={path_id} className={classes.pathKey}>
              <span className={classes.swatch} style={{ color: `var(--rl-path-${(path_id ?? 0) % 8})` }} />
              path {path_id}
            </span>
          ))}
        </div>
      )}
      {sequence.error && !sequence.isFetching && <QueryError error={sequence.error} what="This span" onRetry={() => void sequence.refetch()} />}
      <SequenceGraph
        rows={rows}
        view={view}
        hidden={hidden}
        flags={flags}
        busy={sequence.isFetching}
        label={`PSNs from ${source} to ${destination} over time`}
        onView={setView}
        onOpen={(number) => void navigate({ to: "/captures/$captureId/flows/$flowId", params: { captureId, flowId: flow.id }, search: { packet: number } })}
        onFlag={(divergenceId) => void navigate({ to: "/captures/$captureId/replay/$divergenceId", params: { captureId, divergenceId } })}
      />
      <p className={classes.summary}>
        {formatDuration(Math.min(view.to, span) - Math.max(view.from, 0))} of {formatDuration(span)}. {rows.bin === 0 ? "Each point is a packet" : `Each point is the packets of ${formatDuration(rows.bin)}; zoom in for single ones`}. Read:{" "}
        {[countOf(rows.packets, "packet"), ...["retransmitted", "ce", "nak", "cnp"].flatMap((layer) => (counts.get(layer as Layer) ? [`${counts.get(layer as Layer)} ${{ retransmitted: "retransmitted", ce: "marked CE", nak: "NAKs", cnp: "CNPs" }[layer]}`] : []))].join(", ")}
        {(divergences.data?.total ?? 0) > 0 && `; ${countOf(divergences.data?.total ?? 0, "divergence")} of the connection`}.
      </p>
    </section>
  );
}
