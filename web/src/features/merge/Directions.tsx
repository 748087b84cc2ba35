import { useMemo, useState, type ReactNode } from "react";
import { LIST_PAGE } from "../../api/queries";
import type { MergeDirection } from "../../api/types";
import { DataTable, type Column } from "../../components/DataTable";
import { EmptyState } from "../../components/EmptyState";
import { QueryError } from "../../components/QueryError";
import { Unknown } from "../../components/Unknown";
import { usePagedRows } from "../../components/usePagedRows";
import { formatCount, formatDuration } from "../../lib/format";
import { DelayBar } from "./DelayBar";
import classes from "./MergePage.module.css";
import { Placement } from "./Placement";
import { directionsQuery, type Pair } from "./query";
import { directionName, lostText, orderText } from "./words";

const NO_ORDER = "which point comes first cannot be told";
const NO_DELAY = "no packet is in both, or the order of the points is unknown";

function Count({ value, tone, why = NO_ORDER }: { value: number | null; tone?: "bad" | "warn"; why?: string }) {
  if (value === null) return <Unknown why={why} />;
  return (
    <span className={classes.count} data-tone={value > 0 ? tone : undefined}>
      {formatCount(value)}
    </span>
  );
}

const sum = (pair: readonly number[]): number => pair.reduce((total, one) => total + one, 0);
const each = (pair: readonly number[]): string => `A ${formatCount(pair[0] ?? 0)}, B ${formatCount(pair[1] ?? 0)}`;

/** Least and longest delay of all, ns. */
type Scale = readonly [number, number];

function scaleOf(directions: readonly MergeDirection[]): Scale {
  const delays = directions.flatMap(({ delay_ns: of }) => of ?? []);
  return [Math.max(1, Math.min(...delays.map(({ min }) => min))), Math.max(1, ...delays.map(({ max }) => max))];
}

function columnsOf(scale: Scale): Column<MergeDirection>[] {
  const counted = (id: string, header: string, title: string, get: (of: MergeDirection) => number | null, tone?: "bad" | "warn", width = 80): Column<MergeDirection> => ({
    id,
    header,
    title,
    width,
    align: "right",
    cell: (of) => <Count value={get(of)} {...(tone && { tone })} />,
  });
  const paired = (id: string, header: string, title: string, get: (of: MergeDirection) => readonly number[]): Column<MergeDirection> => ({
    id,
    header,
    title,
    width: 92,
    align: "right",
    cell: (of) => (sum(get(of)) === 0 ? <Count value={0} /> : <span title={each(get(of))}>{get(of).map(formatCount).join(" / ")}</span>),
  });
  const delay = (id: "p50" | "p99" | "max", header: string): Column<MergeDirection> => ({
    id,
    header,
    title: "Time between the points; all share the doubt of the clock's offset",
    width: 70,
    align: "right",
    cell: ({ delay_ns: of }): ReactNode => (of ? formatDuration(of[id]) : <Unknown why={NO_DELAY} />),
  });
  return [
    { id: "direction", header: "Direction", width: 200, grow: 2, mono: true, cell: (of) => <span title={directionName(of)}>{directionName(of)}</span> },
    { id: "order", header: "Order", title: "Which point comes first", width: 88, cell: ({ order }) => (order === "unknown" ? <Unknown why={NO_ORDER} /> : orderText(order)) },
    { id: "both", header: "In both", width: 72, align: "right", cell: (of) => formatCount(of.packets_at_both) },
    {
      id: "lost",
      header: "Lost between",
      width: 98,
      align: "right",
      cell: (of) => {
        const text = lostText(of.lost_between_min, of.lost_between_max);
        return text === undefined ? <Unknown why={NO_ORDER} /> : <span className={classes.count} data-tone={(of.lost_between_max ?? 0) > 0 ? "bad" : undefined}>{text}</span>;
      },
    },
    counted("before", "Before", "Asked for again, and seen by neither: lost before both points", (of) => of.lost_before, "bad", 60),
    counted("behind", "Behind", "Lost or late behind both points", (of) => of.lost_behind, "warn", 60),
    paired("missed", "Missed A / B", "Passed the point, but its capture missed it", (of) => of.missed_by),
    paired("undetermined", "Undet. A / B", "Only one capture has it, and nothing tells why", (of) => of.undetermined_only_at),
    paired("outside", "Outside A / B", "The other capture was not running, or a clock was being set", (of) => of.outside_only_at),
    counted("reordered", "Reordered", "Left the order between the points", (of) => of.reordered, "warn", 84),
    counted("ce", "CE set", "CE marks set between the points", (of) => of.ce_marked_between, "warn", 60),
    counted("damaged", "Damaged", "ICRC right at the first point and wrong at the second", (of) => of.damaged_between, "bad", 74),
    { id: "delays", header: "Delay", title: "Least to most, median and 99 % marked, on one logarithmic scale", width: 102, cell: (of) => <DelayBar of={of.delay_ns} scale={scale} /> },
    delay("p50", "Median"),
    delay("p99", "99 %"),
    delay("max", "Max"),
  ];
}

interface Props {
  pair: Pair;
  flow: string | undefined;
  onPackets: (flow: string) => void;
}

/** What went each way between the points, and where the losses of the chosen direction lie. */
export function Directions({ pair, flow, onPackets }: Props) {
  const [active, setActive] = useState(0);
  const { items, total, head, failed, onRange } = usePagedRows((page) => directionsQuery(pair, flow, page), (page) => page.directions, LIST_PAGE);
  const columns = useMemo(() => columnsOf(scaleOf(head.data?.directions ?? [])), [head.data]);
  const chosen = items.find(({ index }) => index === active)?.value;
  const error = head.error ?? failed?.error;
  if (error && !head.data) return <QueryError error={error} what="The directions" onRetry={() => void head.refetch()} />;
  return (
    <>
      {chosen && <Placement pair={pair} of={chosen} />}
      <DataTable
        main
        label="Directions"
        className={classes.table}
        columns={columns}
        items={items}
        rowCount={head.isPending ? 4 : total}
        active={active}
        onActive={setActive}
        onOpen={(of) => onPackets(of.flow_id)}
        onRange={onRange}
        busy={head.isPending}
        empty={
          <EmptyState title="No direction">
            <p>The captures have no packets of such a connection.</p>
          </EmptyState>
        }
      />
    </>
  );
}
