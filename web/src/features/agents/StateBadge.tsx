import type { AgentState } from "../../api/types";
import classes from "./agents.module.css";
import type { Live } from "./live";

const STATES: Record<AgentState, string> = { ok: "Well", problem: "Problem", silent: "Silent" };

/** State of an agent, in a word and a colour. */
export function StateBadge({ state }: { state: AgentState }) {
  return (
    <span className={classes.badge} data-state={state}>
      <span className={classes.dot} aria-hidden />
      {STATES[state]}
    </span>
  );
}

/** Whether what is shown is of this moment. */
export function LiveBadge({ live }: { live: Live }) {
  const text = {
    connecting: "Connecting …",
    live: "Live",
    stale: `Nothing new for ${live.silence} s; trying again`,
    paused: "Paused",
  }[live.status];
  return (
    <span className={classes.live} data-status={live.status} role="status">
      <span className={classes.dot} aria-hidden />
      {text}
    </span>
  );
}
