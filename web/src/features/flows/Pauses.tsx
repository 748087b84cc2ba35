import { Link } from "@tanstack/react-router";
import type { Pause } from "../../api/types";
import { countOf, formatCount } from "../../lib/format";
import classes from "./Pauses.module.css";

const QUANTUM = "in units of 512 bit times of the link; a later frame may have cut a pause short";

/** What pause frames asked for, of the link and by priority. Nothing where there were none. */
export function Pauses({ captureId, pause }: { captureId: string; pause: Pause }) {
  const rows = [
    ...(pause.link ? [{ name: "Whole link (802.3x)", ...pause.link }] : []),
    ...pause.priorities.map((one) => ({ name: `Priority ${one.priority}`, ...one })),
  ];
  if (rows.length === 0 && pause.no_class_frames === 0) return null;
  return (
    <section className={classes.root} aria-label="Pauses">
      <h2 className={classes.title}>Pauses</h2>
      {rows.map(({ name, xoff, xon, quanta, max_quanta, first_number, last_number }) => (
        <span key={name} className={classes.entry}>
          <strong>{name}</strong> <span className={classes.stop}>{countOf(xoff, "stop")}</span>, {countOf(xon, "release")}
          <span className="muted" title={`Sum of the pauses that were asked for, and the longest of them, ${QUANTUM}`}>
            , {formatCount(quanta)} quanta, {formatCount(max_quanta)} the longest
          </span>
          <span className="muted">
            {", "}
            <Link to="/captures/$captureId/packets" params={{ captureId }} search={{ only: "pause", packet: first_number }}>
              no. {formatCount(first_number)}
            </Link>
            {last_number !== first_number && (
              <>
                {" to "}
                <Link to="/captures/$captureId/packets" params={{ captureId }} search={{ only: "pause", packet: last_number }}>
                  {formatCount(last_number)}
                </Link>
              </>
            )}
          </span>
        </span>
      ))}
      {pause.no_class_frames > 0 && <span className="muted">{countOf(pause.no_class_frames, "frame")} for no priority</span>}
    </section>
  );
}
