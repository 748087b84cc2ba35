import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { agentQuery } from "../../api/queries";
import { QueryError } from "../../components/QueryError";
import type { ScopeState } from "../../lib/viewState";
import classes from "./agents.module.css";
import { CountersPanel } from "./CountersPanel";
import { portCountersQuery } from "./query";

interface Props {
  agentId: string;
  name: string;
  scope: ScopeState;
  label: string;
}

function Counters({ agentId, name, scope }: Omit<Props, "label">) {
  const { data, error, refetch } = useQuery(portCountersQuery(agentId, { ...scope, interface: name }));
  const agent = useQuery(agentQuery(agentId, 1));
  if (error && !data) return <QueryError error={error} what="The counters" onRetry={() => void refetch()} />;
  if (!data) return null;
  const rdma = agent.data?.agent.interfaces.find((one) => one.name === name)?.rdma ?? "";
  return <CountersPanel agentId={agentId} name={name} rdma={rdma} counters={data.counters} scope={scope} />;
}

/** What the port of an interface counted beside its packets, asked for when somebody looks. */
export function PortBeside({ label, ...props }: Props) {
  const [open, setOpen] = useState(false);
  return (
    <details className={classes.settings} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{label}</summary>
      {open && <Counters {...props} />}
    </details>
  );
}
