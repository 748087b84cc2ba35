import { Link } from "@tanstack/react-router";
import type { Merge, MergeResult } from "../../api/types";
import { countOf, formatCount, formatShare } from "../../lib/format";
import { formatDateTime } from "../../lib/time";
import classes from "./MergePage.module.css";
import { clockText, POINTS } from "./words";

/** How the captures and their clocks stand to each other. */
export function Summary({ merge, result }: { merge: Merge; result: MergeResult }) {
  const captures = [merge.first, merge.second] as const;
  const { together } = result;
  return (
    <section className={classes.summary} aria-label="What both have in common">
      <dl className={classes.facts}>
        {captures.map(({ id, name }, point) => (
          <div key={POINTS[point]}>
            <dt>{POINTS[point]}</dt>
            <dd>
              <Link to="/captures/$captureId" params={{ captureId: id }}>
                {name}
              </Link>
              {`: ${countOf(result.packets[point] ?? 0, "packet")} of connections, missed ${formatCount(result.missed_by[point] ?? 0)} of what passed it, as is proved`}
            </dd>
          </div>
        ))}
        <div>
          <dt>In both</dt>
          <dd>
            {countOf(result.packets_at_both, "packet")}, {formatShare(result.packets_at_both, Math.max(...result.packets))} of the larger;{" "}
            {formatCount(result.directions_at_both)} of {countOf(result.directions, "direction")}
            {result.unjudged_packets > 0 && `; ${countOf(result.unjudged_packets, "packet")} of further directions not judged`}
          </dd>
        </div>
        {result.clock.map((piece, index) => {
          const { offset, drift } = clockText(piece);
          return (
            <div key={piece.time}>
              <dt>{index === 0 ? "Clock" : `From ${formatDateTime(piece.time)} UTC`}</dt>
              <dd>
                {offset}
                {drift && `, and ${drift}`} <span className="muted">({countOf(piece.packets, "packet")}{piece.contradicting_packets > 0 && `; ${formatCount(piece.contradicting_packets)} that contradict left out`})</span>
              </dd>
            </div>
          );
        })}
        <div>
          <dt>Together</dt>
          <dd>
            {together.judged
              ? `held against the reference with ${countOf(together.filled_in, "packet")} of B filled in: ${countOf(together.decided, "rule of a connection", "rules of connections")} that a capture alone leaves undetermined ${together.decided === 1 ? "is" : "are"} decided`
              : `not held against the reference once more. ${together.reason ?? ""}`}
          </dd>
        </div>
      </dl>
    </section>
  );
}
