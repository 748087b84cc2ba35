import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { formatDateTime } from "../../lib/time";
import classes from "./agents.module.css";
import { captureEventsQuery } from "./query";
import { aroundMoment } from "./span";

/** Of a capture that is the record of a flight recorder: which event of which agent it is. */
export function CaptureEvent({ captureId }: { captureId: string }) {
  const { data } = useQuery(captureEventsQuery(captureId));
  const event = data?.events[0];
  if (!event) return null;
  const around = { agent: event.agent_id, interface: event.interface, ...aroundMoment(event.time) };
  return (
    <p className={classes.recorded} role="note">
      <strong>A record of the flight recorder</strong> of{" "}
      <Link to="/agents/$agentId" params={{ agentId: event.agent_id }}>
        {event.host}
      </Link>{" "}
      on {event.interface}, {event.kind} at {formatDateTime(event.time)} UTC: {event.sentence}{" "}
      <Link to="/agents/events" search={around}>
        The event
      </Link>
      ,{" "}
      <Link to="/agents/flows" search={around}>
        flows around it
      </Link>
    </p>
  );
}
