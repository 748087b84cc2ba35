import { Button, TextInput } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import { useMemo, useState } from "react";
import type { Capture } from "../../api/types";
import { DataTable, type Column } from "../../components/DataTable";
import { EmptyState } from "../../components/EmptyState";
import { QueryError } from "../../components/QueryError";
import { countOf, formatCount, formatDuration } from "../../lib/format";
import { formatDateTime, parseTime } from "../../lib/time";
import type { Likeness } from "./candidates";
import classes from "./CapturePicker.module.css";
import { useCandidates } from "./useCandidates";

interface Props {
  /** What is chosen, for screen readers and the button of each row: "Merge with". */
  label: string;
  verb: string;
  capture: Capture | undefined;
  /** Flow whose connection is looked for. */
  flowId?: string | undefined;
  filter: string;
  onFilter: (filter: string) => void;
  /** Whether the capture itself may be chosen. */
  withItself?: boolean;
  busy?: boolean;
  onChoose: (capture: Capture) => void;
}

interface Row {
  capture: Capture;
  likeness: Likeness;
}

function lasted({ first_packet_at: first, last_packet_at: last }: Capture): string {
  const [from, to] = [first && parseTime(first), last && parseTime(last)];
  return from && to ? `${formatDateTime(first ?? "")} UTC, for ${formatDuration(to - from)}` : "without times";
}

interface ColumnsOf {
  verb: string;
  ofFlow: boolean;
  ownId: string | undefined;
  busy: boolean;
  onChoose: (capture: Capture) => void;
}

function columnsOf({ verb, ofFlow, ownId, busy, onChoose }: ColumnsOf): Column<Row>[] {
  const said: Record<Likeness, string> = {
    connection: ofFlow ? "has the same connection" : "has its busiest connection, too",
    time: "of about the same time",
    other: "",
  };
  return [
    { id: "name", header: "Name", width: 200, grow: 3, cell: ({ capture }) => <span title={capture.name}>{capture.id === ownId ? `${capture.name} (itself)` : capture.name}</span> },
    { id: "likeness", header: "Likeness", width: 200, grow: 1, cell: ({ likeness }) => <span className={classes.likeness} data-likeness={likeness}>{said[likeness]}</span> },
    { id: "packets", header: "Packets", width: 100, align: "right", cell: ({ capture: { totals } }) => (totals ? formatCount(totals.packets) : "") },
    { id: "time", header: "Captured", width: 290, cell: ({ capture }) => <span className="muted">{lasted(capture)}</span> },
    {
      id: "choose",
      header: "",
      title: verb,
      width: 110,
      align: "center",
      cell: ({ capture }) => (
        <Button size="compact-xs" variant="default" disabled={busy} aria-label={`${verb} ${capture.name}`} onClick={() => onChoose(capture)}>
          {verb}
        </Button>
      ),
    },
  ];
}

/** A list of stored captures to choose one of, the likeliest first. */
export function CapturePicker({ label, verb, capture, flowId, filter, onFilter, withItself = false, busy = false, onChoose }: Props) {
  const { rows, probe, list, incomplete, asking } = useCandidates(capture, flowId, filter, withItself);
  const [active, setActive] = useState<number>();
  const ownId = capture?.id;
  const columns = useMemo(() => columnsOf({ verb, ofFlow: flowId !== undefined, ownId, busy, onChoose }), [verb, flowId, ownId, busy, onChoose]);
  const items = rows.map((value, index) => ({ index, value }));
  if (list.error && !list.data) return <QueryError error={list.error} what="The list of captures" onRetry={() => void list.refetch()} />;
  return (
    <section className={classes.root} aria-label={label}>
      <div className={classes.bar}>
        <TextInput
          aria-label="Filter captures by name"
          placeholder="Filter by name"
          leftSection={<IconSearch size={14} />}
          value={filter}
          data-filter
          onChange={(event) => onFilter(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Escape") event.currentTarget.blur();
          }}
        />
        <span className="muted" role="status">
          {countOf(rows.length, "capture")}
          {asking || incomplete ? ", looking for the connection" : ""}
          {probe && !asking && !incomplete && rows.every(({ likeness }) => likeness !== "connection") && rows.length > 0 && `, none with ${probe.source} → ${probe.destination}`}
        </span>
      </div>
      <DataTable
        main
        label={label}
        className={classes.table}
        columns={columns}
        items={items}
        rowCount={list.isPending ? 4 : items.length}
        rowHeight={36}
        active={active}
        onActive={setActive}
        onOpen={({ capture: of }) => !busy && onChoose(of)}
        busy={list.isPending}
        empty={
          filter ? (
            <EmptyState title="No capture matches">
              <p>No analysed capture has “{filter}” in its name.</p>
              <Button variant="default" onClick={() => onFilter("")}>
                Clear the filter
              </Button>
            </EmptyState>
          ) : (
            <EmptyState title="There is no other capture">
              <p>Upload the second one on the page of all captures first.</p>
            </EmptyState>
          )
        }
      />
    </section>
  );
}
