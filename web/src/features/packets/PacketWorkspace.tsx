import { Button, NumberInput, SegmentedControl, Select, Switch } from "@mantine/core";
import { useLocalStorage } from "@mantine/hooks";
import { IconX } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useEffectEvent, useMemo, useRef, useState } from "react";
import { isOverlayOpen } from "../../app/keyboard";
import { packetsQuery, type PacketsParams } from "../../api/queries";
import type { Capture } from "../../api/types";
import { DataTable, type DataTableHandle, type Item } from "../../components/DataTable";
import { EmptyState } from "../../components/EmptyState";
import { QueryError } from "../../components/QueryError";
import { Split } from "../../components/Split";
import { useNarrow } from "../../components/useNarrow";
import { useDraft } from "../../components/useDraft";
import { countOf, formatCount } from "../../lib/format";
import { FINDING_LABELS } from "../../lib/troubles";
import { FINDINGS, type Clock, type Finding, type PacketsState } from "../../lib/viewState";
import { packetColumns, type PacketRow } from "./packetColumns";
import { PacketDetail } from "./PacketDetail";
import classes from "./PacketWorkspace.module.css";

/** Packets that are loaded above the one that a link opens. */
const LEAD = 40;
/** Rows from either end at which more are fetched. */
const NEAR_END = 40;
const URL_DELAY_MS = 120;

interface Props {
  capture: Capture;
  flowId?: string;
  /** Whether the flow has another direction to show. */
  paired?: boolean;
  state: PacketsState;
  onState: (change: Partial<PacketsState>) => void;
}

interface Selection {
  packet: number | undefined;
  field: string | undefined;
}

const selectionKey = ({ packet, field }: Selection): string => `${packet ?? ""}/${field ?? ""}`;

export function PacketWorkspace({ capture, flowId, paired = false, state, onState }: Props) {
  const [selection, setSelection] = useDraft<Selection>(
    { packet: state.packet, field: state.field },
    selectionKey,
    onState,
    URL_DELAY_MS,
  );
  const { packet, field } = selection;
  const select = (change: Partial<Selection>) => setSelection({ ...selection, ...change });
  const [anchor, setAnchor] = useState(() => Math.max(0, (state.packet ?? 0) - LEAD));
  const [wantsBeside, setBeside] = useLocalStorage({ key: "rocelens-packet-beside", defaultValue: false, getInitialValueInEffect: false });
  const narrow = useNarrow();
  const beside = wantsBeside && !narrow;
  const table = useRef<DataTableHandle>(null);
  const clock: Clock = state.clock ?? "relative";
  const params: PacketsParams = { flowId, bothDirections: paired && !state.one_way, only: state.only, from: state.from, to: state.to };
  const query = useInfiniteQuery(packetsQuery(capture.id, params, anchor));
  const { data, error, isPending, hasNextPage, hasPreviousPage, isFetchingNextPage, isFetchingPreviousPage } = query;

  const items = useMemo(() => {
    const packets = data?.pages.flatMap((page) => page.packets) ?? [];
    return packets.map((value, index): Item<PacketRow> => ({ index, value: { packet: value, previous: packets[index - 1]?.time } }));
  }, [data]);
  const total = data?.pages.at(-1)?.total;
  const metaroce = items.some(({ value }) => value.packet.metaroce !== undefined);
  const columns = useMemo(
    () => packetColumns(clock, capture.first_packet_at, flowId, metaroce),
    [clock, capture.first_packet_at, flowId, metaroce],
  );
  const active = packet === undefined ? -1 : items.findIndex((item) => item.value.packet.number === packet);

  // What a link opens is brought into view once, when it has been loaded.
  const scrollTo = useRef(state.packet);
  useEffect(() => {
    if (active < 0 || scrollTo.current !== packet) return;
    scrollTo.current = undefined;
    table.current?.scrollToIndex(active);
  }, [active, packet]);

  const loadMore = (first: number, last: number) => {
    if (error || isPending) return;
    if (hasPreviousPage && !isFetchingPreviousPage && first < NEAR_END) void query.fetchPreviousPage();
    else if (hasNextPage && !isFetchingNextPage && last > items.length - NEAR_END) void query.fetchNextPage();
  };

  const goTo = (number: number) => {
    scrollTo.current = number;
    setAnchor(Math.max(0, number - LEAD));
    select({ packet: number });
  };
  const close = useEffectEvent(() => select({ packet: undefined, field: undefined }));
  const isOpen = packet !== undefined;
  useEffect(() => {
    if (!isOpen) return;
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || event.defaultPrevented) return;
      if (isOverlayOpen() || event.target instanceof HTMLInputElement) return;
      close();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [isOpen]);

  const list = error && !data ? (
    <QueryError error={error} what="The packets" onRetry={() => void query.refetch()} />
  ) : (
    <DataTable
      ref={table}
      main
      label="Packets"
      columns={columns}
      items={items}
      rowCount={isPending ? 12 : items.length}
      rowHeight={26}
      active={active < 0 ? undefined : active}
      onActive={(index) => {
        const number = items[index]?.value.packet.number;
        if (number !== undefined) select({ packet: number });
      }}
      onRange={loadMore}
      anchorKey={(row) => row.packet.number}
      busy={query.isFetching}
      rowAttributes={({ packet: row }) => ({
        "data-dim": flowId && row.flow_id !== flowId ? "" : undefined,
      })}
      empty={
        <EmptyState title={state.only ? `No match for “${FINDING_LABELS[state.only]}”` : "No packets"}>
          {state.only && (
            <Button variant="default" onClick={() => onState({ only: undefined })}>
              Show all packets
            </Button>
          )}
        </EmptyState>
      }
    />
  );

  return (
    <section className={classes.root} aria-label="Packets" data-open={isOpen || undefined}>
      <div className={classes.bar}>
        <h2 className={classes.title}>Packets</h2>
        <span className="muted" role="status">
          {total === undefined ? "" : countOf(total, state.only ? "match" : "packet", state.only ? "matches" : "packets")}
        </span>
        {(state.from ?? state.to) !== undefined && (
          <Button
            variant="default"
            size="compact-sm"
            rightSection={<IconX size={13} />}
            title="Show the packets of the whole time"
            onClick={() => onState({ from: undefined, to: undefined })}
          >
            Zoomed span only
          </Button>
        )}
        <div className={classes.tools}>
          {paired && (
            <Switch
              label="Both directions"
              checked={!state.one_way}
              onChange={(event) => onState({ one_way: event.currentTarget.checked ? undefined : true })}
            />
          )}
          <NumberInput
            aria-label="Go to packet number"
            placeholder="Go to no."
            hideControls
            size="xs"
            w={96}
            min={1}
            allowDecimal={false}
            allowNegative={false}
            onKeyDown={(event) => {
              const number = Number(event.currentTarget.value.replace(/\D/g, ""));
              if (event.key === "Enter" && Number.isSafeInteger(number) && number > 0) goTo(number);
              if (event.key === "Escape") event.currentTarget.blur();
            }}
          />
          <Select
            aria-label="Only packets with"
            placeholder="All packets"
            data-filter
            w={150}
            clearable
            value={state.only ?? null}
            data={FINDINGS.map((value) => ({ value, label: FINDING_LABELS[value] }))}
            onChange={(value) => onState({ only: (value as Finding | null) ?? undefined })}
          />
          <SegmentedControl
            aria-label="Time"
            value={clock}
            data={[
              { value: "relative", label: "Relative" },
              { value: "absolute", label: "UTC" },
              { value: "delta", label: "Delta" },
            ]}
            onChange={(value) => onState({ clock: value === "absolute" || value === "delta" ? value : undefined })}
          />
        </div>
      </div>
      <div className={classes.work}>
        {packet === undefined ? (
          list
        ) : (
          <Split
            name={beside ? "packet-beside" : "packet"}
            direction={beside ? "row" : "column"}
            initial={beside ? 58 : 40}
            label="Size of the list and the packet"
            first={list}
            second={
              <PacketDetail
                captureId={capture.id}
                number={packet}
                field={field}
                onField={(path) => select({ field: path })}
                onClose={() => select({ packet: undefined, field: undefined })}
                beside={beside}
                onBeside={setBeside}
              />
            }
          />
        )}
      </div>
      <span className="visually-hidden" role="status">
        {isFetchingNextPage || isFetchingPreviousPage ? `Loading more than ${formatCount(items.length)} packets` : ""}
      </span>
    </section>
  );
}
