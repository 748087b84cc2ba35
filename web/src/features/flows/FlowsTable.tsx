import { Button, Menu, TextInput } from "@mantine/core";
import { IconColumns3, IconSearch } from "@tabler/icons-react";
import { useEffect, useEffectEvent, useMemo, useRef, useState } from "react";
import { FLOWS_PAGE, flowsPageQuery } from "../../api/queries";
import type { Capture, Flow } from "../../api/types";
import { DataTable, type DataTableHandle } from "../../components/DataTable";
import { EmptyState } from "../../components/EmptyState";
import { QueryError } from "../../components/QueryError";
import { usePagedRows } from "../../components/usePagedRows";
import { useDraft } from "../../components/useDraft";
import { columnChanges, hiddenColumns } from "../../lib/columns";
import { countOf } from "../../lib/format";
import { FLOW_SORTS, type CaptureState, type FlowSort } from "../../lib/viewState";
import { flowColumns, longestOf, HIDDEN_BY_DEFAULT } from "./flowColumns";
import classes from "./FlowsTable.module.css";

const FILTER_HINT = "Address, QPN, type, operation or trouble";
const FILTER_DELAY_MS = 250;
const trimmed = (value: string): string => value.trim();
/** Columns that begin with the smallest value when sorted by. */
const ASCENDING_FIRST: ReadonlySet<string> = new Set(["source", "destination", "destination_qp", "first_time"]);

interface Props {
  capture: Capture;
  state: CaptureState;
  onState: (change: Partial<CaptureState>) => void;
  onOpen: (flow: Flow) => void;
}

export function FlowsTable({ capture, state, onState, onOpen }: Props) {
  const sort: FlowSort = state.sort ?? "bytes";
  const order = state.order ?? "desc";
  const filter = state.filter ?? "";
  const [typed, setTyped] = useDraft(filter, trimmed, (value) => onState({ filter: value.trim() || undefined }), FILTER_DELAY_MS);
  const { items, total, head, failed, onRange } = usePagedRows(
    (page) => flowsPageQuery(capture.id, { sort, order, filter }, page),
    (page) => page.flows,
    FLOWS_PAGE,
  );
  const [hovered, setHovered] = useState<string>();
  const longest = useMemo(() => longestOf(head.data?.flows ?? []), [head.data]);
  const columns = useMemo(() => flowColumns(capture.id, capture.first_packet_at, longest), [capture.id, capture.first_packet_at, longest]);
  const columnIds = useMemo(() => columns.map(({ id }) => id), [columns]);
  const hidden = useMemo(() => hiddenColumns(columnIds, HIDDEN_BY_DEFAULT, state.columns), [columnIds, state.columns]);
  const activeItem = items.find(({ value }) => value.id === state.flow);
  const table = useRef<DataTableHandle>(null);
  // A row far off is moved to before it is known which flow it is.
  const [wanted, setWanted] = useState<number>();
  const arrived = wanted === undefined ? undefined : items.find(({ index }) => index === wanted)?.value.id;
  const markArrived = useEffectEvent((flow: string) => onState({ flow }));
  useEffect(() => {
    if (arrived !== undefined) markArrived(arrived);
  }, [arrived]);
  // The row that an address marks is brought into view once.
  const activeIndex = activeItem?.index;
  const scrollTo = useRef(state.flow);
  useEffect(() => {
    if (activeIndex === undefined || scrollTo.current === undefined) return;
    scrollTo.current = undefined;
    table.current?.scrollToIndex(activeIndex);
  }, [activeIndex]);
  const marked = hovered ?? activeItem?.value.connection_id;

  const sortBy = (id: string) => {
    const chosen = FLOW_SORTS.find((value) => value === id);
    if (!chosen) return;
    setWanted(undefined);
    const ascending = chosen === sort ? order === "desc" : ASCENDING_FIRST.has(chosen);
    onState({ sort: chosen === "bytes" ? undefined : chosen, order: ascending ? "asc" : undefined });
  };

  return (
    <section className={classes.root} aria-label="Flows">
      <div className={classes.bar}>
        <h2 className={classes.title}>Flows</h2>
        <span className="muted" role="status">
          {head.data && !head.isPlaceholderData ? countOf(total, filter ? "match" : "flow", filter ? "matches" : "flows") : ""}
        </span>
        <TextInput
          className={classes.filter}
          aria-label="Filter flows"
          placeholder={FILTER_HINT}
          title="Words that must all match: an address or its beginning, a QPN (0x11 or 17), a type (RC), a protocol, an operation, or a trouble: retransmitted, nak, rnr, cnp, ce, icrc, gap"
          leftSection={<IconSearch size={14} />}
          value={typed}
          maxLength={200}
          data-filter
          onChange={(event) => {
            setTyped(event.currentTarget.value);
            setWanted(undefined);
          }}
          onKeyDown={(event) => {
            if (event.key === "Escape") event.currentTarget.blur();
          }}
        />
        <Menu closeOnItemClick={false}>
          <Menu.Target>
            <Button variant="default" leftSection={<IconColumns3 size={14} />}>
              Columns
            </Button>
          </Menu.Target>
          <Menu.Dropdown className={classes.columns}>
            {columns
              .filter(({ id }) => id !== "source")
              .map(({ id, header, title }) => (
                <Menu.CheckboxItem
                  key={id}
                  checked={!hidden.has(id)}
                  onChange={() => {
                    const next = new Set(hidden);
                    if (!next.delete(id)) next.add(id);
                    onState({ columns: columnChanges(next, columnIds, HIDDEN_BY_DEFAULT) });
                  }}
                >
                  {header}
                  {title && <span className={classes.explain}>{title}</span>}
                </Menu.CheckboxItem>
              ))}
          </Menu.Dropdown>
        </Menu>
      </div>
      {failed && (
        <p className={classes.failed} role="alert">
          Some rows could not be loaded.{" "}
          <button type="button" onClick={() => void failed.refetch()}>
            Try again
          </button>
        </p>
      )}
      {head.error ? (
        <QueryError
          error={head.error}
          what="The flows"
          onRetry={() => void head.refetch()}
          onClearFilter={filter ? () => setTyped("") : undefined}
        />
      ) : (
        <DataTable
          ref={table}
          main
          label="Flows"
          className={classes.table}
          columns={columns}
          items={items}
          rowCount={head.isPending ? 8 : total}
          hidden={hidden}
          sort={{ id: sort, desc: order === "desc" }}
          onSort={sortBy}
          active={wanted !== undefined && arrived === undefined ? wanted : activeIndex}
          onActive={(index) => {
            const flow = items.find((item) => item.index === index)?.value.id;
            scrollTo.current = undefined;
            setWanted(flow === undefined ? index : undefined);
            if (flow !== undefined) onState({ flow });
          }}
          onOpen={onOpen}
          openOnClick
          busy={head.isFetching}
          onRange={onRange}
          onHover={(flow) => setHovered(flow?.connection_id)}
          rowAttributes={(flow) => ({ "data-pair": flow.connection_id === marked ? "" : undefined })}
          empty={
            filter ? (
              <EmptyState title="No flow matches">
                <p>All words must match. Try an address, a QPN such as 0x11, RC, WRITE, or nak.</p>
                <Button variant="default" onClick={() => setTyped("")}>
                  Clear the filter
                </Button>
              </EmptyState>
            ) : (
              <EmptyState title="No RDMA flows">
                <p>{capture.message ?? "None of the packets of this capture belongs to an RDMA connection."}</p>
              </EmptyState>
            )
          }
        />
      )}
    </section>
  );
}
