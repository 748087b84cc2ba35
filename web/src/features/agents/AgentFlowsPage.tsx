import { ActionIcon, TextInput } from "@mantine/core";
import { IconSearch, IconX } from "@tabler/icons-react";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { AgentFlow } from "../../api/types";
import { DataTable, type Column } from "../../components/DataTable";
import { EmptyState } from "../../components/EmptyState";
import { Page } from "../../components/Page";
import { QueryError } from "../../components/QueryError";
import { useDraft } from "../../components/useDraft";
import { usePagedRows } from "../../components/usePagedRows";
import { countOf, formatCount, formatFileSize } from "../../lib/format";
import { AGENT_FLOW_SORTS, type AgentFlowsState, type ScopeState } from "../../lib/viewState";
import classes from "./agents.module.css";
import { AgentsNav } from "./AgentsNav";
import { FLOW_COLUMNS } from "./FlowsTable";
import { LedgerNote } from "./LedgerNote";
import { PortBeside } from "./PortBeside";
import { AGENT_FLOWS_PAGE, agentFlowsQuery } from "./query";
import { ScopeBar } from "./ScopeBar";
import { SeriesCharts } from "./SeriesCharts";

const route = getRouteApi("/agents/flows");
const CRUMBS = [{ label: "Agents", to: "/agents" }] as const;
const FILTER_DELAY_MS = 250;
const ASCENDING_FIRST: ReadonlySet<string> = new Set(["source", "destination", "destination_qp", "interface", "service"]);

const keyOf = ({ agent_id, interface: name, id }: AgentFlow) => `${agent_id}/${name}/${id}`;

/** Rates of the live table are of one interval; over a longer time sums tell more. */
const COLUMNS: readonly Column<AgentFlow>[] = [
  {
    id: "host",
    header: "Host",
    width: 110,
    cell: (flow) => (
      <Link to="/agents/$agentId" params={{ agentId: flow.agent_id }} className={classes.text}>
        {flow.host}
      </Link>
    ),
  },
  ...FLOW_COLUMNS.filter(({ id }) => !id.endsWith("_per_second")),
  { id: "packets", header: "Packets", width: 92, align: "right", sortable: true, cell: (flow) => formatCount(flow.packets) },
  { id: "bytes", header: "Bytes", width: 92, align: "right", sortable: true, cell: (flow) => formatFileSize(flow.bytes) },
];

interface ChosenProps {
  /** Agent, interface and ID. */
  flow: string;
  known: AgentFlow | undefined;
  scope: ScopeState;
  onClose: () => void;
}

function Chosen({ flow, known, scope, onClose }: ChosenProps) {
  const [agentId = "", name = "", flowId = ""] = flow.split("/");
  return (
    <section className={classes.panel} aria-label="Chosen flow">
      <div className={classes.panelHead}>
        <h2 className={classes.panelTitle}>
          {known ? `${known.source} to ${known.destination}, QPN 0x${known.destination_qp.toString(16)}` : `Flow ${flowId}`}
        </h2>
        <span className="muted">{known ? `${known.host}, ${name}` : name}</span>
        <ActionIcon aria-label="Close the flow" size="sm" onClick={onClose} className={classes.when}>
          <IconX size={14} />
        </ActionIcon>
      </div>
      <SeriesCharts of={{ agentId, interface: name, flowId, counters: [] }} scope={scope} />
      <PortBeside agentId={agentId} name={name} scope={scope} label="What the port counted meanwhile" />
    </section>
  );
}

/** Which flows agents saw in a span of time, and how one of them went. */
export function AgentFlowsPage() {
  const state = route.useSearch();
  const { sort = "bytes", order = "desc", filter = "", flow, ...scope } = state;
  const navigate = route.useNavigate();
  const change = (part: Partial<AgentFlowsState>) => void navigate({ search: (previous: AgentFlowsState) => ({ ...previous, ...part }), replace: true });
  const [typed, setTyped] = useDraft(filter, (value) => value.trim(), (value) => change({ filter: value.trim() || undefined }), FILTER_DELAY_MS);
  const { items, total, head, onRange } = usePagedRows(
    (page) => agentFlowsQuery(scope, { sort, order, filter }, page),
    (page) => page.flows,
    AGENT_FLOWS_PAGE,
  );
  const active = items.find(({ value }) => keyOf(value) === flow);
  const sortBy = (id: string) => {
    const chosen = AGENT_FLOW_SORTS.find((value) => value === id);
    if (!chosen) return;
    const ascending = chosen === sort ? order === "desc" : ASCENDING_FIRST.has(chosen);
    change({ sort: chosen === "bytes" ? undefined : chosen, order: ascending ? "asc" : undefined });
  };
  return (
    <Page
      documentTitle="Flows of agents"
      title="Flows"
      crumbs={CRUMBS}
      aside={<span className="muted">{head.data && countOf(total, filter ? "match" : "flow", filter ? "matches" : "flows")}</span>}
      actions={<AgentsNav scope={scope} />}
    >
      <div className={classes.bars}>
        <ScopeBar scope={scope} onScope={change} />
        <TextInput
          size="xs"
          className={classes.filter}
          aria-label="Filter flows"
          placeholder="Address, QPN, type, operation or trouble"
          title="Words that must all match: an address or its beginning, a QPN (0x11 or 17), a type (RC), a protocol, an operation, or a trouble: retransmitted, lost, nak, rnr, cnp, ce, icrc, gap"
          leftSection={<IconSearch size={14} />}
          value={typed}
          maxLength={200}
          data-filter
          onChange={(event) => setTyped(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Escape") event.currentTarget.blur();
          }}
        />
      </div>
      <LedgerNote ledger={head.data?.ledger} />
      {head.error && !head.data ? (
        <QueryError error={head.error} what="The flows" onRetry={() => void head.refetch()} onClearFilter={filter ? () => setTyped("") : undefined} />
      ) : (
        <DataTable
          main
          label="Flows of agents"
          className={classes.table}
          columns={COLUMNS}
          items={items}
          rowCount={head.isPending ? 8 : total}
          sort={{ id: sort, desc: order === "desc" }}
          onSort={sortBy}
          active={active?.index}
          onActive={(index) => {
            const found = items.find((item) => item.index === index);
            if (found) change({ flow: keyOf(found.value) });
          }}
          onRange={onRange}
          busy={head.isPending}
          empty={
            <EmptyState title={filter ? "No flow matches" : "No RDMA in this time"}>
              <p>{filter ? "All words must match. Try an address, a QPN such as 0x11, RC, WRITE, or nak." : "Choose another time, or another agent."}</p>
            </EmptyState>
          }
        />
      )}
      {flow && <Chosen key={flow} flow={flow} known={active?.value} scope={scope} onClose={() => change({ flow: undefined })} />}
    </Page>
  );
}
