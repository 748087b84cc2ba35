import { SegmentedControl } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { LIST_PAGE } from "../../api/queries";
import type { MergeFate, MergePacket } from "../../api/types";
import { DataTable, type Column } from "../../components/DataTable";
import { EmptyState } from "../../components/EmptyState";
import { QueryError } from "../../components/QueryError";
import { usePagedRows } from "../../components/usePagedRows";
import { countOf, formatCount, formatHex } from "../../lib/format";
import { FATES, type MergeState } from "../../lib/viewState";
import classes from "./MergePage.module.css";
import { mergePacketsQuery, type Pair } from "./query";
import { POINTS } from "./words";

function fateText({ fate, capture }: MergePacket): string {
  const other = POINTS[capture === 0 ? 1 : 0];
  const words: Record<MergeFate, string> = { lost: "lost between the points", missed: `missed by ${other}, whose point it passed`, undetermined: "undetermined" };
  return words[fate];
}

function columnsOf(pair: Pair, names: readonly [string, string]): Column<MergePacket>[] {
  const ids = [pair.first, pair.second] as const;
  const point = ({ capture }: MergePacket): 0 | 1 => (capture === 1 ? 1 : 0);
  return [
    { id: "seen", header: "Seen by", width: 160, grow: 1, cell: (of) => <span title={names[point(of)]}>{POINTS[point(of)]} <span className="muted">{names[point(of)]}</span></span> },
    {
      id: "packet",
      header: "Packet",
      width: 120,
      align: "right",
      cell: (of) => (
        <Link to="/captures/$captureId/packets" params={{ captureId: ids[point(of)] }} search={{ packet: of.packet }}>
          packet {formatCount(of.packet)}
        </Link>
      ),
    },
    { id: "psn", header: "PSN", width: 184, align: "right", mono: true, cell: (of) => `${formatCount(of.psn)} ${formatHex(of.psn)}` },
    { id: "path", header: "Path", title: "Path of MetaRoCE", width: 60, align: "right", cell: ({ path }) => path ?? "" },
    { id: "fate", header: "What became of it", width: 240, grow: 2, cell: (of) => <span className={classes.fate} data-fate={of.fate}>{fateText(of)}{of.cnps && ", a CNP"}</span> },
    {
      id: "flows",
      header: "Its flow",
      width: 170,
      cell: (of) => (
        <span className={classes.both}>
          {ids.map((captureId, index) => (
            <Link key={POINTS[index]} to="/captures/$captureId/flows/$flowId" params={{ captureId, flowId: of.flow_id }} aria-label={`Flow of packet ${of.packet} in ${POINTS[index]}`}>
              in {POINTS[index]}
            </Link>
          ))}
          <Link to="/captures/$captureId/flows/$flowId/sequence" params={{ captureId: ids[point(of)], flowId: of.flow_id }} aria-label={`PSNs of the flow of packet ${of.packet}`}>
            PSNs
          </Link>
        </span>
      ),
    },
  ];
}

interface Props {
  pair: Pair;
  names: readonly [string, string];
  state: MergeState;
  onState: (part: Partial<MergeState>) => void;
}

/** Packets that one capture has alone, with what became of them. */
export function MergePackets({ pair, names, state, onState }: Props) {
  const { flow, fate, capture } = state;
  const [active, setActive] = useState<number>();
  const { first, second } = pair;
  const columns = useMemo(() => columnsOf({ first, second }, names), [first, second, names]);
  const { items, total, head, failed, onRange } = usePagedRows((page) => mergePacketsQuery(pair, { flow, fate, capture }, page), (page) => page.packets, LIST_PAGE);
  const error = head.error ?? failed?.error;
  const counted = head.data?.counted ?? 0;
  if (error && !head.data) return <QueryError error={error} what="The packets" onRetry={() => void head.refetch()} />;
  return (
    <>
      <div className={classes.bar}>
        <SegmentedControl
          aria-label="What became of them"
          value={fate ?? "all"}
          onChange={(value) => onState({ fate: FATES.find((one) => one === value) })}
          data={[
            { value: "all", label: "All" },
            { value: "lost", label: "Lost between" },
            { value: "missed", label: "Missed" },
            { value: "undetermined", label: "Undetermined" },
          ]}
        />
        <SegmentedControl
          aria-label="Seen by"
          value={capture ?? "both"}
          onChange={(value) => onState({ capture: value === "0" || value === "1" ? value : undefined })}
          data={[
            { value: "both", label: "A or B" },
            { value: "0", label: "Only A" },
            { value: "1", label: "Only B" },
          ]}
        />
        <span className="muted" role="status">
          {head.data && countOf(total, "packet")}
          {head.data && fate === undefined && capture === undefined && counted > total && ` named of ${formatCount(counted)}: at most 4,096 of a direction are`}
        </span>
      </div>
      <DataTable
        main
        label="Packets of one capture alone"
        className={classes.table}
        columns={columns}
        items={items}
        rowCount={head.isPending ? 4 : total}
        active={active}
        onActive={setActive}
        onRange={onRange}
        busy={head.isPending}
        empty={
          <EmptyState title="No such packet">
            <p>{fate || capture || flow ? "None that one capture has alone is like this." : "Each packet is in both captures."}</p>
          </EmptyState>
        }
      />
    </>
  );
}
