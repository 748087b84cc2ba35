import { Link } from "@tanstack/react-router";
import type { MergeDirection } from "../../api/types";
import { countOf, formatCount, formatDuration } from "../../lib/format";
import classes from "./Placement.module.css";
import type { Pair } from "./query";
import { directionName, lostText, POINTS, upstreamOf } from "./words";

interface Props {
  pair: Pair;
  of: MergeDirection;
}

/** Where losses and delays of a direction lie: before, between and behind the two points. */
export function Placement({ pair, of }: Props) {
  const up = upstreamOf(of.order);
  const name = directionName(of);
  if (up === undefined || of.packets_at_both === 0) {
    return (
      <p className={classes.unplaced}>
        {name}: {of.packets_at_both === 0 ? "only one capture has packets of it, so that nothing can be placed" : of.order === "the same point" ? "both captures are of the same point" : "which point comes first is unknown, so that nothing can be placed"}.
      </p>
    );
  }
  const down = up === 0 ? 1 : 0;
  const ids = [pair.first, pair.second] as const;
  const lost = lostText(of.lost_between_min, of.lost_between_max);
  const changed = [
    [of.reordered, "reordered"],
    [of.ce_marked_between, "marked CE"],
    [of.damaged_between, "damaged"],
  ] as const;
  const point = (index: 0 | 1) => (
    <li className={classes.point}>
      <span className={classes.dot} aria-hidden />
      <Link to="/captures/$captureId/flows/$flowId" params={{ captureId: ids[index], flowId: of.flow_id }} title="Its packets in this capture">
        {POINTS[index]}
      </Link>
      <span className="muted">missed {formatCount(of.missed_by[index] ?? 0)}</span>
    </li>
  );
  return (
    <figure className={classes.root} tabIndex={0} aria-label={`Where losses and delays of ${name} lie`}>
      <figcaption className={classes.name}>{name}</figcaption>
      <ol className={classes.way}>
        <li className={classes.end}>{of.source}</li>
        <li className={classes.link} data-lost={of.lost_before > 0 || undefined}>
          <strong>{formatCount(of.lost_before)} lost before</strong>
        </li>
        {point(up)}
        <li className={classes.link} data-lost={(of.lost_between_max ?? 0) > 0 || undefined} data-wide>
          <strong>{lost ?? "unknown"} lost between</strong>
          <span>{of.delay_ns ? `${formatDuration(of.delay_ns.min)} to ${formatDuration(of.delay_ns.max)}, median ${formatDuration(of.delay_ns.p50)}` : "delay unknown"}</span>
          <span className="muted">{changed.filter(([count]) => count !== null && count > 0).map(([count, word]) => `${formatCount(count ?? 0)} ${word}`).join(", ") || `${countOf(of.packets_at_both, "packet")} in both`}</span>
        </li>
        {point(down)}
        <li className={classes.link} data-lost={(of.lost_behind ?? 0) > 0 || undefined}>
          <strong>{of.lost_behind === null ? "unknown" : formatCount(of.lost_behind)} lost or late behind</strong>
        </li>
        <li className={classes.end}>{of.destination.address}</li>
      </ol>
    </figure>
  );
}
