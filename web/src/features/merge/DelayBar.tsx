import type { MergeDirection } from "../../api/types";
import { Unknown } from "../../components/Unknown";
import { formatDuration } from "../../lib/format";
import { placeOnLog } from "../../lib/scale";
import classes from "./MergePage.module.css";

const WIDTH = 84;

/** Least to most delay as a line, the median and 99 % as marks; all bars of a table have one scale, ns. */
export function DelayBar({ of, scale }: { of: MergeDirection["delay_ns"]; scale: readonly [number, number] }) {
  if (!of) return <Unknown why="no packet is in both, or the order of the points is unknown" />;
  const x = (ns: number): number => 2 + placeOnLog(ns, ...scale) * (WIDTH - 4);
  return (
    <svg className={classes.delays} width={WIDTH} height={16} role="img" aria-label={`${formatDuration(of.min)} to ${formatDuration(of.max)}, median ${formatDuration(of.p50)}, 99 % below ${formatDuration(of.p99)}`}>
      <line x1={x(of.min)} x2={Math.max(x(of.max), x(of.min) + 1)} y1={8} y2={8} />
      <rect x={x(of.p50) - 1.5} y={2} width={3} height={12} />
      <circle cx={x(of.p99)} cy={8} r={2.5} />
    </svg>
  );
}
