import type { Stream } from "../../api/types";
import { Unknown } from "../../components/Unknown";
import { formatCount, formatDuration } from "../../lib/format";
import { placeOnLog } from "../../lib/scale";
import classes from "./LatencyBar.module.css";

interface Props {
  latency: Stream["latency"];
  /** Of all rows, ns: the ends of the scale. */
  shortest: number;
  longest: number;
}

/** How the completion latencies of a stream are spread, on a scale that all rows share. */
export function LatencyBar({ latency, shortest, longest }: Props) {
  const { samples, min_ns: min, p50_ns: p50, p90_ns: p90, p99_ns: p99, max_ns: max } = latency;
  if (min === null || p50 === null || p90 === null || p99 === null || max === null) {
    return <Unknown why="no message was seen from its first packet to the ACK of its last byte" />;
  }
  const at = (ns: number): number => 100 * placeOnLog(ns, shortest, longest);
  const text = `${formatCount(samples)} messages: ${formatDuration(min)} to ${formatDuration(max)}, median ${formatDuration(p50)}, p90 ${formatDuration(p90)}, p99 ${formatDuration(p99)}`;
  return (
    <span className={classes.track} role="img" aria-label={text} title={text}>
      <span className={classes.range} style={{ left: `${at(min)}%`, right: `${100 - at(max)}%` }} />
      <span className={classes.middle} style={{ left: `${at(p50)}%`, right: `${100 - at(p90)}%` }} />
      <span className={classes.tail} style={{ left: `${at(p99)}%` }} />
    </span>
  );
}
