import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { connectionDivergencesQuery } from "../sequence/query";
import classes from "./ConnectionReplay.module.css";

/** Places where a connection diverges, or may, each a link to its proof. */
export function FlowDivergences({ captureId, connectionId }: { captureId: string; connectionId: string }) {
  const { data } = useQuery(connectionDivergencesQuery(captureId, connectionId));
  if (!data || data.divergences.length === 0) return null;
  const more = data.total - data.divergences.length;
  return (
    <ul className={classes.found} aria-label="Divergences of the connection">
      {data.divergences.map(({ id, rule, verdict, sentence }) => (
        <li key={id}>
          <Link to="/captures/$captureId/replay/$divergenceId" params={{ captureId, divergenceId: id }}>
            {rule}
          </Link>{" "}
          <span className="muted">{verdict}.</span> {sentence}
        </li>
      ))}
      {more > 0 && <li className="muted">and {more.toLocaleString("en")} more</li>}
    </ul>
  );
}
