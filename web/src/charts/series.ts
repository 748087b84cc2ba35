import type { Throughput } from "../api/types";

/** Columns for the chart. Times are seconds after base, so that nanoseconds survive in a double. */
export interface Series {
  /** ns since the epoch that x = 0 stands for. */
  base: bigint;
  /** Width of a bucket, s. */
  step: number;
  x: number[];
  bitsPerSecond: number[];
  packets: number[];
  retransmitted: number[];
  ce: number[];
  cnps: number[];
}

const MAX_POINTS = 4_000;

/**
 * Series of a throughput answer; undefined when the capture has no times. Buckets that the answer leaves out are
 * silence and become zeros.
 */
export function toSeries(throughput: Throughput, base?: bigint): Series | undefined {
  const bucket = BigInt(throughput.bucket_ns);
  if (bucket <= 0n || throughput.start_ns.length === 0) return undefined;
  const starts = throughput.start_ns.map(BigInt);
  const zero = base ?? starts[0] ?? 0n;
  const step = Number(bucket) / 1e9;
  const series: Series = { base: zero, step, x: [], bitsPerSecond: [], packets: [], retransmitted: [], ce: [], cnps: [] };
  const push = (start: bigint, index: number | undefined): void => {
    series.x.push(Number(start - zero) / 1e9);
    const at = (column: readonly number[]): number => (index === undefined ? 0 : (column[index] ?? 0));
    series.bitsPerSecond.push((at(throughput.bytes) * 8) / step);
    series.packets.push(at(throughput.packets));
    series.retransmitted.push(at(throughput.retransmitted));
    series.ce.push(at(throughput.ce));
    series.cnps.push(at(throughput.cnps));
  };
  let previous: bigint | undefined;
  for (const [index, start] of starts.entries()) {
    if (previous !== undefined && start - previous > bucket) {
      const silent = (start - previous) / bucket - 1n;
      if (BigInt(series.x.length) + silent < BigInt(MAX_POINTS)) {
        for (let gap = 1n; gap <= silent; gap++) push(previous + gap * bucket, undefined);
      } else {
        // Too many to draw: two zeros keep the line on the ground between them.
        push(previous + bucket, undefined);
        push(start - bucket, undefined);
      }
    }
    push(start, index);
    previous = start;
  }
  return series;
}

/**
 * Label of a point of time on an axis whose ticks are increment apart and go up to most: one unit for the whole axis,
 * and as many decimals as tell ticks apart.
 */
export function axisTime(seconds: number, increment: number, most: number): string {
  if (seconds === 0) return "0";
  const [factor, unit] = unitFor(most);
  const step = increment * factor;
  let decimals = 0;
  while (decimals < 6 && Math.abs(step * 10 ** decimals - Math.round(step * 10 ** decimals)) > 1e-6 * step * 10 ** decimals) decimals++;
  return `${(seconds * factor).toFixed(decimals)} ${unit}`;
}

/** Label of a point of UTC, s since the Unix epoch, on an axis whose ticks are increment apart: the date at midnight. */
export function clockTick(seconds: number, increment: number): string {
  const text = new Date(seconds * 1000).toISOString();
  if (seconds % 86_400 === 0) return text.slice(5, 10);
  return text.slice(11, increment < 60 ? 19 : 16);
}

function unitFor(seconds: number): [number, string] {
  if (seconds >= 1) return [1, "s"];
  if (seconds >= 1e-3) return [1e3, "ms"];
  if (seconds >= 1e-6) return [1e6, "µs"];
  return [1e9, "ns"];
}
