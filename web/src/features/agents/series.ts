import type { AgentSeries } from "../../api/types";
import type { Values } from "../../charts/pathSeries";

/** One chart of a series: counts of whole buckets, or a rate. */
export interface Line {
  label: string;
  color: string;
  values: Values;
  /** Over the whole time; null when nothing is known. */
  total: number | null;
}

const TROUBLES = [
  ["retransmitted", "Resent", "--rl-retransmitted"],
  ["missing_psns", "Missing PSNs", "--rl-bad"],
  ["out_of_order", "Out of order", "--rl-order"],
  ["naks", "NAK", "--rl-bad"],
  ["rnr_naks", "RNR NAK", "--rl-order"],
  ["cnps", "CNP", "--rl-cnp"],
  ["ce_marked", "CE marks", "--rl-ce"],
] as const;

type Counts = readonly (number | null)[];

function totalOf(values: Counts): number | null {
  const known = values.filter((value): value is number => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0);
}

/** Begin of each bucket, s since the Unix epoch, and their length, s. */
export function timesOf({ start_ns, bucket_ns }: AgentSeries): { x: number[]; step: number } {
  return { x: start_ns.map((start) => Number(BigInt(start) / 1_000_000n) / 1000), step: Number(bucket_ns) / 1e9 };
}

export function rateOf(series: AgentSeries): Line {
  const { step } = timesOf(series);
  return { label: "Rate", color: "--rl-accent", values: series.bytes.map((bytes) => bytes === null ? null : (bytes * 8) / step), total: totalOf(series.bytes) };
}

/** Troubles that there were; those without any are named by the second list. */
export function troublesOf(series: AgentSeries): [lines: Line[], none: string[]] {
  const lines: Line[] = [];
  const none: string[] = [];
  for (const [key, label, color] of TROUBLES) {
    const values = [...series[key]];
    if (values.some((value) => value !== null && value !== 0)) lines.push({ label, color, values, total: totalOf(values) });
    else if (values.some((value) => value !== null)) none.push(label);
  }
  return [lines, none];
}

export function counterLinesOf(series: AgentSeries): Line[] {
  return series.counters.map(({ key, delta }) => ({ label: key.split("/").slice(3).join("/"), color: "--rl-muted", values: [...delta], total: totalOf(delta) }));
}
