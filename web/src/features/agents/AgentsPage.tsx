import { TextInput } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { agentsQuery } from "../../api/queries";
import type { Agent } from "../../api/types";
import { DataTable, type Column } from "../../components/DataTable";
import { EmptyState } from "../../components/EmptyState";
import { Page } from "../../components/Page";
import { QueryError } from "../../components/QueryError";
import { useNarrow } from "../../components/useNarrow";
import { formatBitRate, formatCount, formatDuration, formatFileSize, formatPacketRate } from "../../lib/format";
import classes from "./agents.module.css";
import { AgentsNav } from "./AgentsNav";
import { lossesOf } from "./ledger";
import { useLive } from "./live";
import { LiveBadge, StateBadge } from "./StateBadge";

const NARROW_HIDDEN: ReadonlySet<string> = new Set(["interfaces", "packets", "lag", "spool", "heard", "version", "kernel"]);
const NONE_HIDDEN: ReadonlySet<string> = new Set();
/** The gravest first. */
const ORDER = { silent: 0, problem: 1, ok: 2 } as const;

/** What is wrong with an agent, in a sentence. */
export function troubleOf(agent: Agent): string {
  if (agent.state === "silent") return `Nothing was heard of it for ${formatDuration(agent.silent_seconds * 1e9)}`;
  return agent.problem ?? "";
}

function columns(narrow: boolean): Column<Agent>[] {
  return [
    {
      id: "host",
      header: "Host",
      width: narrow ? 120 : 160,
      grow: 1,
      cell: (agent) => (
        <Link to="/agents/$agentId" params={{ agentId: agent.id }} className={classes.name} title={agent.host}>
          {agent.host}
        </Link>
      ),
    },
    { id: "state", header: "State", width: 96, cell: (agent) => <StateBadge state={agent.state} /> },
    {
      id: "problem",
      header: "What is wrong",
      width: 160,
      grow: 3,
      cell: (agent) => (
        <span className={classes.text} title={troubleOf(agent)}>
          {troubleOf(agent)}
        </span>
      ),
    },
    {
      id: "interfaces",
      header: "Interfaces",
      width: 150,
      grow: 1,
      cell: (agent) => {
        // A tier is a word, and in parentheses how, and why no other.
        const text = agent.interfaces.map(({ name, up, tier }) => `${name} ${up ? tier.replace(/ \(.*/, "") : "down"}`).join(", ");
        const whole = agent.interfaces.map(({ name, up, tier }) => `${name} ${up ? tier : "down"}`).join(", ");
        return (
          <span className={classes.text} data-tone={agent.interfaces.every(({ up }) => up) ? undefined : "bad"} title={whole}>
            {text}
          </span>
        );
      },
    },
    { id: "packets", header: "RDMA", title: "RDMA packets a second", width: 92, align: "right", cell: (agent) => formatPacketRate(agent.rdma_packets_per_second) },
    { id: "bits", header: "Rate", title: "Bits a second of all frames", width: 106, align: "right", cell: (agent) => formatBitRate(agent.bits_per_second) },
    {
      id: "drops",
      header: "Lost",
      title: "Packets lost since its start",
      width: 92,
      align: "right",
      cell: (agent) => {
        const losses = lossesOf(agent.drops);
        const total = losses.reduce((sum, [, packets]) => sum + packets, 0);
        if (total === 0) return <span className="muted">0</span>;
        return (
          <span className={classes.bad} title={losses.map(([reason, packets]) => `${reason}: ${formatCount(packets)}`).join("\n")}>
            {formatCount(total)}
          </span>
        );
      },
    },
    { id: "lag", header: "Lag", title: "Age of the oldest rows that wait on its disk", width: 84, align: "right", cell: (agent) => (agent.lag_seconds === 0 ? "0" : formatDuration(agent.lag_seconds * 1e9)) },
    { id: "spool", header: "Spool", title: "What its spool takes on disk", width: 92, align: "right", cell: (agent) => formatFileSize(agent.spool.bytes) },
    { id: "heard", header: "Heard", title: "When its newest heartbeat arrived", width: 100, align: "right", cell: (agent) => <span className="muted">{formatDuration(agent.silent_seconds * 1e9)} ago</span> },
    { id: "version", header: "Version", width: 90, cell: (agent) => <span className={classes.text}>{agent.version || "built by hand"}</span> },
    { id: "kernel", header: "Kernel", width: 110, grow: 1, cell: (agent) => <span className={classes.text}>{agent.kernel}</span> },
  ];
}

function NoAgents() {
  return (
    <EmptyState title="No agent has reported">
      <p>An agent watches the network interfaces of a host, or of a mirror port, and reports the RDMA connections that it sees. Start one there:</p>
      <code className={classes.command}>{`rocelens-agent run --interface eth0 --server ${window.location.origin} --server-token-file TOKEN`}</code>
      <p>
        This service takes its rows when it was started with <code>--ingest-token-file</code>. With <code>--clickhouse HOST:PORT</code> in place of{" "}
        <code>--server</code> an agent reports to the database itself.
      </p>
    </EmptyState>
  );
}

/** All agents, the troubled ones first. */
export function AgentsPage() {
  const { data, error, isPending, refetch } = useQuery(agentsQuery);
  const [newest, setNewest] = useState<readonly Agent[]>();
  const live = useLive("/agents/live", ({ agents }) => setNewest(agents));
  const [typed, setTyped] = useState("");
  const [active, setActive] = useState<number>();
  const navigate = useNavigate();
  const narrow = useNarrow();
  const shown = useMemo(() => columns(narrow), [narrow]);
  const agents = newest ?? data?.agents;
  const rows = useMemo(() => {
    const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
    return (agents ?? [])
      .filter((agent) => {
        const text = [agent.host, agent.state, agent.version, agent.kernel, agent.problem ?? "", ...agent.interfaces.map(({ name }) => name)].join(" ").toLowerCase();
        return words.every((word) => text.includes(word));
      })
      .toSorted((a, b) => ORDER[a.state] - ORDER[b.state] || a.host.localeCompare(b.host) || a.id.localeCompare(b.id))
      .map((value, index) => ({ index, value }));
  }, [agents, typed]);
  const troubled = (agents ?? []).filter(({ state }) => state !== "ok").length;
  return (
    <Page
      documentTitle="Agents"
      title="Agents"
      aside={
        agents &&
        agents.length > 0 && (
          <>
            <span className="muted">
              {formatCount(agents.length)} {agents.length === 1 ? "agent" : "agents"}
              {troubled > 0 && `, ${formatCount(troubled)} in trouble`}
            </span>
            <LiveBadge live={live} />
          </>
        )
      }
      actions={
        <>
          <AgentsNav />
          <TextInput
            aria-label="Filter agents by host, state, interface or problem"
            placeholder="Filter by host, state, problem"
            leftSection={<IconSearch size={14} />}
            value={typed}
            data-filter
            onChange={(event) => setTyped(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === "Escape") event.currentTarget.blur();
            }}
          />
        </>
      }
    >
      {error && !agents ? (
        <QueryError error={error} what="The list of agents" onRetry={() => void refetch()} />
      ) : (
        <DataTable
          main
          label="Agents"
          className={classes.table}
          columns={shown}
          hidden={narrow ? NARROW_HIDDEN : NONE_HIDDEN}
          items={rows}
          rowCount={isPending && !agents ? 4 : rows.length}
          rowHeight={36}
          active={active}
          onActive={setActive}
          onOpen={(agent) => void navigate({ to: "/agents/$agentId", params: { agentId: agent.id } })}
          openOnClick
          busy={isPending && !agents}
          empty={typed ? <EmptyState title="No agent matches" /> : <NoAgents />}
        />
      )}
    </Page>
  );
}
