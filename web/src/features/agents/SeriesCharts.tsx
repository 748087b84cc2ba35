import { Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { AgentSeries } from "../../api/types";
import { PathChart } from "../../charts/PathChart";
import { QueryError } from "../../components/QueryError";
import { formatBitRate, formatCount, formatFileSize } from "../../lib/format";
import type { ScopeState } from "../../lib/viewState";
import classes from "./agents.module.css";
import { agentSeriesQuery, type SeriesParams } from "./query";
import { counterLinesOf, rateOf, timesOf, troublesOf, type Line } from "./series";

const count = (value: number) => formatCount(Math.round(value));
const NOTHING_KNOWN = "nothing was reported";

function Counts({ line, x, sync }: { line: Line; x: number[]; sync: string }) {
  return (
    <PathChart
      label={line.label}
      x={x}
      values={line.values}
      lineColor={line.color}
      stepped
      absolute
      format={count}
      events={[]}
      ticks={[]}
      sync={sync}
      height={72}
      note={line.total === null ? NOTHING_KNOWN : `${formatCount(line.total)} in all`}
    />
  );
}

function Charts({ series, sync }: { series: AgentSeries; sync: string }) {
  const { x, rate, troubles, none, counters } = useMemo(() => {
    const [lines, absent] = troublesOf(series);
    return { x: timesOf(series).x, rate: rateOf(series), troubles: lines, none: absent, counters: counterLinesOf(series) };
  }, [series]);
  return (
    <div className={classes.charts}>
      <PathChart
        label={rate.label}
        x={x}
        values={rate.values}
        stepped
        absolute
        format={formatBitRate}
        events={[]}
        ticks={[]}
        sync={sync}
        note={rate.total === null ? NOTHING_KNOWN : `${formatFileSize(rate.total)} in all`}
      />
      {[...troubles, ...counters].map((line) => (
        <Counts key={line.label} line={line} x={x} sync={sync} />
      ))}
      {none.length > 0 && <p className={classes.complete}>None of: {none.join(", ")}.</p>}
    </div>
  );
}

/** Rates and troubles of an interface, or one of its flows, and counters of the port, over one axis of time. */
export function SeriesCharts({ of, scope }: { of: SeriesParams; scope: ScopeState }) {
  const { data, error, refetch } = useQuery(agentSeriesQuery(of, scope));
  if (error && !data) return <QueryError error={error} what="The rates" onRetry={() => void refetch()} />;
  if (!data) return <Skeleton height={180} />;
  return <Charts series={data} sync={`agent ${of.agentId} ${of.interface} ${of.flowId ?? ""}`} />;
}
