import { Skeleton } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { agentQuery } from "../../api/queries";
import type { Agent, AgentAccount, AgentsEvent } from "../../api/types";
import { Page } from "../../components/Page";
import { QueryError } from "../../components/QueryError";
import { countOf, formatBitRate, formatCount, formatDuration, formatFileSize, formatPacketRate } from "../../lib/format";
import { formatDateTime } from "../../lib/time";
import { troubleOf } from "./AgentsPage";
import classes from "./agents.module.css";
import { AgentsNav } from "./AgentsNav";
import { Bypassed } from "./Bypassed";
import { FlowsTable } from "./FlowsTable";
import { byInterface, lossesOf } from "./ledger";
import { LedgerTable } from "./LedgerTable";
import { PortBeside } from "./PortBeside";
import { useLive } from "./live";
import { RatesChart } from "./RatesChart";
import { LiveBadge, StateBadge } from "./StateBadge";

/** Intervals of each interface that are shown, and one more whose ring is what the first begins with. */
export const SHOWN_INTERVALS = 121;

/** The last ten minutes. */
const LATEST = {};
const CRUMBS = [{ label: "Agents", to: "/agents" }] as const;

function Facts({ agent }: { agent: Agent }) {
  const losses = lossesOf(agent.drops);
  const facts: [string, string][] = [
    ["Version", agent.version || "built by hand"],
    ["Kernel", `${agent.kernel} ${agent.architecture}`],
    ["Started", `${formatDateTime(agent.started_at)} UTC`],
    ["Reports every", formatDuration(agent.interval_seconds * 1e9)],
    ["Heard", `${formatDuration(agent.silent_seconds * 1e9)} ago`],
    ["Frames", `${formatPacketRate(agent.packets_per_second)}, ${formatBitRate(agent.bits_per_second)}`],
    ["RDMA", formatPacketRate(agent.rdma_packets_per_second)],
    ["Lag", agent.lag_seconds === 0 ? "none" : formatDuration(agent.lag_seconds * 1e9)],
    ["Spool", `${formatFileSize(agent.spool.bytes)} of ${formatFileSize(agent.spool.limit_bytes)}, ${formatCount(agent.spool.rows)} rows wait`],
    ["Rows shipped", formatCount(agent.shipped_rows)],
    ...(agent.refused_rows > 0 ? [["Rows refused", formatCount(agent.refused_rows)] satisfies [string, string]] : []),
    ...(agent.failures > 0 ? [["Tries that failed", formatCount(agent.failures)] satisfies [string, string]] : []),
    ["Lost since its start", losses.length === 0 ? "nothing" : losses.map(([reason, packets]) => `${formatCount(packets)} ${reason}`).join(", ")],
  ];
  return (
    <dl className={classes.facts}>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** What the flight recorder was last triggered by. */
function Recorder({ agent: { id, recorder } }: { agent: Agent }) {
  if (recorder.last_at === null) return null;
  return (
    <p className={classes.complete}>
      Flight recorder: {countOf(recorder.events, "event")} since its start, the latest at {formatDateTime(recorder.last_at)} UTC: {recorder.last_event.replace(/\.$/, "")}
      {recorder.records_waiting > 0 && `; ${countOf(recorder.records_waiting, "record")} not yet uploaded`}
      {recorder.records_lost > 0 && `; ${countOf(recorder.records_lost, "record")} lost`}.{" "}
      <Link to="/agents/events" search={{ agent: id, last: "24h" }}>
        All events
      </Link>
    </p>
  );
}

function Interface({ name, agent, accounts }: { name: string; agent: Agent; accounts: readonly AgentAccount[] }) {
  const known = agent.interfaces.find((one) => one.name === name);
  const first = accounts.length > 1 ? accounts.at(-2) : accounts.at(-1);
  return (
    <section className={classes.panel} aria-label={`Interface ${name}`}>
      <div className={classes.panelHead}>
        <h2 className={classes.panelTitle}>{name}</h2>
        {known ? (
          known.up ? (
            <span className="muted">tier: {known.tier}</span>
          ) : (
            <span className={classes.bad}>down or gone</span>
          )
        ) : (
          <span className="muted">no longer watched</span>
        )}
        {known?.rdma && <span className="muted">{known.rdma}</span>}
        <Link to="/agents/$agentId/counters" params={{ agentId: agent.id }} search={{ interface: name }}>
          Counters
        </Link>
        {first && (
          <span className="muted">
            {formatCount(Math.max(1, accounts.length - 1))} intervals since {formatDateTime(first.start)} UTC
          </span>
        )}
      </div>
      <Bypassed of={known} />
      <RatesChart name={name} accounts={accounts} />
      <LedgerTable name={name} accounts={accounts} />
      <PortBeside agentId={agent.id} name={name} scope={LATEST} label="What the port counted in the last ten minutes" />
    </section>
  );
}

/** One agent: how it is, what became of its packets, and the connections that it sees. */
export function AgentPage() {
  const { agentId } = useParams({ from: "/agents/$agentId" });
  // Another agent's page begins anew.
  return <OneAgent key={agentId} agentId={agentId} />;
}

function OneAgent({ agentId }: { agentId: string }) {
  const queryClient = useQueryClient();
  const { data, error, isPending, refetch } = useQuery(agentQuery(agentId, SHOWN_INTERVALS));
  const [event, setEvent] = useState<AgentsEvent>();
  const [since, setSince] = useState<readonly AgentAccount[]>([]);
  const live = useLive(`/agents/${agentId}/live`, (news) => {
    // After a pause intervals may be missing between those that are shown and the new ones.
    if (event && Date.parse(news.at) - Date.parse(event.at) > 10_000) void queryClient.invalidateQueries({ queryKey: ["agents", "one", agentId] });
    setEvent(news);
    if (news.accounts.length > 0) setSince((was) => [...was, ...news.accounts].slice(-20 * SHOWN_INTERVALS));
  });
  const interfaces = useMemo(() => byInterface([...(data?.accounts ?? []), ...since], SHOWN_INTERVALS), [data, since]);
  const agent = event?.agents[0] ?? data?.agent;
  if (error && !agent) {
    return (
      <Page documentTitle="Agent" title="Agent" crumbs={CRUMBS}>
        <QueryError error={error} what="The agent" onRetry={() => void refetch()} />
      </Page>
    );
  }
  if (isPending || !agent) {
    return (
      <Page documentTitle="Agent" title="Agent" crumbs={CRUMBS}>
        <Skeleton height={240} />
      </Page>
    );
  }
  const trouble = troubleOf(agent);
  const names = [...new Set([...agent.interfaces.map(({ name }) => name), ...interfaces.keys()])];
  return (
    <Page
      documentTitle={agent.host}
      title={agent.host}
      crumbs={CRUMBS}
      aside={
        <>
          <StateBadge state={agent.state} />
          <LiveBadge live={live} />
        </>
      }
      actions={<AgentsNav scope={{ agent: agentId }} />}
    >
      <div className={classes.sections}>
        {trouble && (
          <div className={classes.problem} data-state={agent.state} role="status">
            {trouble}
          </div>
        )}
        <Facts agent={agent} />
        <Recorder agent={agent} />
        <div className={classes.columns}>
          {names.map((name) => (
            <Interface key={name} name={name} agent={agent} accounts={interfaces.get(name) ?? []} />
          ))}
        </div>
        <h2 className={classes.panelTitle}>Busiest connections of the newest interval</h2>
        <FlowsTable flows={event?.flows ?? []} />
      </div>
    </Page>
  );
}
