import { Link } from "@tanstack/react-router";
import type { ScopeState } from "../../lib/viewState";
import classes from "./agents.module.css";

const PAGES = [
  ["/agents/flows", "Flows"],
  ["/agents/divergences", "Divergences"],
  ["/agents/events", "Events"],
] as const;

/** The pages about what agents saw; each keeps what the others are about. */
export function AgentsNav({ scope }: { scope?: ScopeState }) {
  const { agent, interface: name, last, from, to } = scope ?? {};
  return (
    <nav className={classes.pages} aria-label="Of agents">
      {PAGES.map(([page, label]) => (
        <Link key={page} to={page} search={{ agent, interface: name, last, from, to }} activeProps={{ "data-active": true }} activeOptions={{ includeSearch: false }}>
          {label}
        </Link>
      ))}
      {agent && (
        <Link to="/agents/$agentId/counters" params={{ agentId: agent }} search={{ interface: name, last, from, to }} activeOptions={{ includeSearch: false }}>
          Counters
        </Link>
      )}
    </nav>
  );
}
