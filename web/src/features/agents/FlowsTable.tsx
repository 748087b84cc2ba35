import { useMemo, useState } from "react";
import type { AgentFlow } from "../../api/types";
import { DataTable, type Column, type Sort } from "../../components/DataTable";
import { EmptyState } from "../../components/EmptyState";
import { Unknown } from "../../components/Unknown";
import { formatBitRate, formatCount, formatPacketRate } from "../../lib/format";
import classes from "./agents.module.css";

function figure(value: number | null, tone?: "bad") {
  if (value === null) return <Unknown why="what the agent saw does not tell it" />;
  if (value === 0) return <span className="muted">0</span>;
  return <span className={tone && classes.bad}>{formatCount(value)}</span>;
}

export const FLOW_COLUMNS: readonly Column<AgentFlow>[] = [
  { id: "source", header: "Source", width: 150, grow: 1, mono: true, sortable: true, cell: (flow) => flow.source },
  { id: "destination", header: "Destination", width: 150, grow: 1, mono: true, sortable: true, cell: (flow) => flow.destination },
  { id: "destination_qp", header: "QPN", title: "QPN of the receiver; for MetaRoCE its connection ID", width: 92, align: "right", mono: true, cell: (flow) => `0x${flow.destination_qp.toString(16)}` },
  { id: "service", header: "Service", width: 92, sortable: true, cell: (flow) => flow.service },
  { id: "interface", header: "Interface", width: 100, sortable: true, cell: (flow) => flow.interface },
  { id: "bits_per_second", header: "Rate", width: 110, align: "right", sortable: true, cell: (flow) => formatBitRate(flow.bits_per_second) },
  { id: "packets_per_second", header: "Packets", width: 92, align: "right", sortable: true, cell: (flow) => formatPacketRate(flow.packets_per_second) },
  { id: "retransmitted", header: "Resent", title: "Retransmitted packets", width: 84, align: "right", sortable: true, cell: (flow) => figure(flow.retransmitted, "bad") },
  { id: "missing_psns", header: "Missing", title: "PSNs that never arrived at the agent", width: 88, align: "right", sortable: true, cell: (flow) => figure(flow.missing_psns, "bad") },
  { id: "naks", header: "NAK", width: 64, align: "right", sortable: true, cell: (flow) => figure(flow.naks, "bad") },
  { id: "rnr_naks", header: "RNR", title: "RNR NAKs", width: 64, align: "right", sortable: true, cell: (flow) => figure(flow.rnr_naks, "bad") },
  { id: "cnps", header: "CNP", width: 64, align: "right", sortable: true, cell: (flow) => figure(flow.cnps) },
  { id: "ce_marked", header: "CE", title: "Packets marked Congestion Experienced", width: 72, align: "right", sortable: true, cell: (flow) => figure(flow.ce_marked) },
];

type Key = keyof AgentFlow;

/** Flows in the order of a column; what is unknown stands last. */
export function sortFlows(flows: readonly AgentFlow[], { id, desc }: Sort): AgentFlow[] {
  const sign = desc ? -1 : 1;
  return flows.toSorted((a, b) => {
    const [x, y] = [a[id as Key], b[id as Key]];
    if (x === null || y === null) return Number(x === null) - Number(y === null);
    const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
    return sign * order || a.id.localeCompare(b.id);
  });
}

/** The busiest flows of the newest interval. */
export function FlowsTable({ flows }: { flows: readonly AgentFlow[] }) {
  const [sort, setSort] = useState<Sort>({ id: "bits_per_second", desc: true });
  const [active, setActive] = useState<number>();
  const items = useMemo(() => sortFlows(flows, sort).map((value, index) => ({ index, value })), [flows, sort]);
  return (
    <DataTable
      main
      label="Busiest connections"
      className={classes.table}
      columns={FLOW_COLUMNS}
      items={items}
      rowCount={items.length}
      sort={sort}
      onSort={(id) => setSort((was) => ({ id, desc: was.id === id ? !was.desc : id !== "source" && id !== "destination" }))}
      active={active}
      onActive={setActive}
      empty={<EmptyState title="No RDMA in its newest interval" />}
    />
  );
}
