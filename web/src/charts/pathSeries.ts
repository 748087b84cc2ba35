import type { Path, PathSeries } from "../api/types";
import { parseTime } from "../lib/time";

/** A line of a small chart; null where nothing is known. */
export type Values = (number | null)[];

/** Columns for the charts of a path. Times are seconds after base. */
export interface PathLines {
  base: bigint;
  x: number[];
  hint: Values;
  inFlight: Values;
  rtt: Values;
  rttMin: Values;
  rttMax: Values;
  /** Where packets were sent again, and where they came marked. */
  resent: number[];
  marked: number[];
}

/** Lines of a path's answer; undefined when no packet of it has a time. */
export function toLines(series: PathSeries, base?: bigint): PathLines | undefined {
  if (series.bucket_ns === "0" || series.start_ns.length === 0) return undefined;
  const starts = series.start_ns.map(BigInt);
  const zero = base ?? starts[0] ?? 0n;
  return {
    base: zero,
    x: starts.map((start) => Number(start - zero) / 1e9),
    hint: series.rate_hint_mbps.map((mbps) => (mbps === null ? null : mbps * 1e6)),
    inFlight: series.in_flight,
    rtt: series.rtt_mean_ns,
    rttMin: series.rtt_min_ns,
    rttMax: series.rtt_max_ns,
    resent: series.retransmitted,
    marked: series.ce,
  };
}

/** When a path was moved to another source port or first probed: marks on the charts. */
export interface PathEvent {
  x: number;
  label: string;
}

export function eventsOf(path: Path, base: bigint): PathEvent[] {
  const at = (time: string | null): number | undefined => {
    const ns = time === null ? undefined : parseTime(time);
    return ns === undefined ? undefined : Number(ns - base) / 1e9;
  };
  const moves = path.source_ports.slice(1).map(({ port, first_time }) => ({ x: at(first_time), label: `to port ${port}` }));
  return [{ x: at(path.first_probe_time), label: "PROBE" }, ...moves]
    .filter((event): event is PathEvent => event.x !== undefined)
    .toSorted((a, b) => a.x - b.x);
}
