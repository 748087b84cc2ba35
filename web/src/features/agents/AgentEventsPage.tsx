import { Button, Skeleton } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { AgentEvent } from "../../api/types";
import { EmptyState } from "../../components/EmptyState";
import { Page } from "../../components/Page";
import { QueryError } from "../../components/QueryError";
import { countOf } from "../../lib/format";
import { formatDateTime } from "../../lib/time";
import type { ScopeState } from "../../lib/viewState";
import classes from "./agents.module.css";
import { AgentsNav } from "./AgentsNav";
import { fateOf } from "./fate";
import { agentEventsQuery } from "./query";
import { ScopeBar } from "./ScopeBar";

const route = getRouteApi("/agents/events");
const CRUMBS = [{ label: "Agents", to: "/agents" }] as const;

function Event({ event }: { event: AgentEvent }) {
  const { tone, text } = fateOf(event);
  return (
    <li className={classes.event} data-tone={tone}>
      <div className={classes.panelHead}>
        <strong>{event.kind}</strong>
        <span className="muted">
          <Link to="/agents/$agentId" params={{ agentId: event.agent_id }}>
            {event.host}
          </Link>{" "}
          on {event.interface}
        </span>
        <time className={classes.when} dateTime={event.time}>
          {formatDateTime(event.time)} UTC
        </time>
      </div>
      <p className={classes.sentence}>{event.sentence}</p>
      <div className={classes.eventEnd}>
        <span data-tone={tone} className={classes.text}>
          {text}
        </span>
        {event.capture_id && (
          <Link to="/captures/$captureId" params={{ captureId: event.capture_id }}>
            Open the record
          </Link>
        )}
        {event.rule && (
          <Link to="/agents/divergences" search={{ agent: event.agent_id, rule: event.rule, last: "24h" }}>
            {event.rule}
          </Link>
        )}
      </div>
    </li>
  );
}

function NoEvents() {
  return (
    <EmptyState title="No flight recorder was triggered in this time">
      <p>An agent keeps the latest packets and records them when something happens, if it runs with:</p>
      <code className={classes.command}>{`rocelens-agent run --interface eth0 --replay --recorder 64 --upload ${window.location.origin}`}</code>
      <p>
        This service does not reach agents. To have a record made now, send the agent SIGUSR1, or <code>POST /trigger</code> to the address of its{" "}
        <code>--listen</code>, on its own host:
      </p>
      <code className={classes.command}>{"kill -USR1 $(pidof rocelens-agent)\ncurl -X POST -d 'why' http://127.0.0.1:9477/trigger"}</code>
    </EmptyState>
  );
}

/** What triggered the flight recorders of agents, and what became of it. */
export function AgentEventsPage() {
  const scope = route.useSearch();
  const navigate = route.useNavigate();
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(agentEventsQuery(scope));
  const events = data?.pages.flatMap((page) => page.events);
  const total = data?.pages[0]?.total ?? 0;
  return (
    <Page
      documentTitle="Events of agents"
      title="Events"
      crumbs={CRUMBS}
      aside={total > 0 && <span className="muted">{countOf(total, "event")}</span>}
      actions={<AgentsNav scope={scope} />}
    >
      <ScopeBar scope={scope} onScope={(change) => void navigate({ search: (previous: ScopeState) => ({ ...previous, ...change }), replace: true })} />
      {error && !events && <QueryError error={error} what="The events" onRetry={() => void refetch()} />}
      {!events && !error && <Skeleton style={{ flex: 1 }} />}
      {events?.length === 0 && <NoEvents />}
      {events && events.length > 0 && (
        <div className={classes.sections}>
          <ul className={classes.events} aria-label="Events">
            {events.map((event) => (
              <Event key={event.id} event={event} />
            ))}
          </ul>
          {hasNextPage && (
            <Button variant="default" onClick={() => void fetchNextPage()} loading={isFetchingNextPage}>
              Show more
            </Button>
          )}
        </div>
      )}
    </Page>
  );
}
