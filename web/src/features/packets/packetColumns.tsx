import type { PacketSummary } from "../../api/types";
import type { Column } from "../../components/DataTable";
import { Unknown } from "../../components/Unknown";
import { formatBitRate, formatCount, formatDuration } from "../../lib/format";
import { formatClock, formatSeconds, parseTime } from "../../lib/time";
import type { Clock } from "../../lib/viewState";
import { PacketFlags } from "./packetFlags";
import classes from "./packetColumns.module.css";

export interface PacketRow {
  packet: PacketSummary;
  /** Time of the row above, for the time between. */
  previous: string | undefined;
}

const CLOCK_TITLES: Record<Clock, string> = {
  relative: "Seconds after the capture's first packet",
  absolute: "Time of day, UTC",
  delta: "Seconds after the row above",
};

function timeOf({ packet, previous }: PacketRow, clock: Clock, origin: bigint | undefined) {
  const at = packet.time === undefined ? undefined : parseTime(packet.time);
  if (at === undefined) return <Unknown why="the capture has no time stamps" />;
  if (clock === "absolute") return formatClock(at);
  const from = clock === "delta" ? (previous === undefined ? at : parseTime(previous)) : origin;
  return from === undefined ? <Unknown why="there is nothing to count from" /> : formatSeconds(at - from);
}

/** What packets of MetaRoCE have beside the others; empty where a packet has no such field. */
const METAROCE_COLUMNS: readonly Column<PacketRow>[] = [
  {
    id: "path",
    header: "Path",
    title: "Path; of an ACK or NAK the one that it answers",
    width: 48,
    align: "right",
    cell: ({ packet: { metaroce } }) => metaroce?.path_id !== undefined && <span title={`Plane ${metaroce.plane_id ?? "?"}`}>{metaroce.path_id}</span>,
  },
  { id: "psn", header: "PSN", title: "Path sequence number", width: 92, align: "right", mono: true, cell: ({ packet }) => packet.metaroce && packet.psn },
  { id: "stream", header: "Stream", width: 62, align: "right", cell: ({ packet }) => packet.metaroce?.stream_id },
  { id: "msn", header: "MSN", title: "Message of the stream", width: 52, align: "right", cell: ({ packet }) => packet.metaroce?.msn },
  {
    id: "acknowledged",
    header: "Acknowledged",
    title: "Next PSN that the receiver expects, and what it has behind it",
    width: 116,
    mono: true,
    cell: ({ packet: { metaroce } }) => {
      if (metaroce?.cumulative_psn === undefined) return null;
      const text = metaroce.sack ? `${metaroce.cumulative_psn} + ${metaroce.sack}` : String(metaroce.cumulative_psn);
      return <span title={text}>{text}</span>;
    },
  },
  {
    id: "hint",
    header: "Hint",
    title: "Rate that the ACK grants",
    width: 88,
    align: "right",
    cell: ({ packet: { metaroce } }) => metaroce?.rate_hint_mbps !== undefined && formatBitRate(metaroce.rate_hint_mbps * 1e6),
  },
  {
    id: "rtt",
    header: "RTT",
    title: "Round trip from the place of capture, by the echoed timestamp",
    width: 76,
    align: "right",
    cell: ({ packet: { metaroce } }) => metaroce?.rtt_ns !== undefined && formatDuration(metaroce.rtt_ns),
  },
];

export function packetColumns(clock: Clock, origin: string | undefined, flowId: string | undefined, metaroce: boolean): Column<PacketRow>[] {
  const zero = origin === undefined ? undefined : parseTime(origin);
  const columns: Column<PacketRow>[] = [
    { id: "number", header: "No.", width: 76, align: "right", mono: true, cell: ({ packet }) => formatCount(packet.number) },
    { id: "time", header: "Time", title: CLOCK_TITLES[clock], width: 144, align: "right", mono: true, cell: (row) => timeOf(row, clock, zero) },
  ];
  if (flowId) {
    columns.push({
      id: "direction",
      header: "",
      title: "Direction: → as this flow, ← the other one",
      width: 30,
      align: "center",
      cell: ({ packet }) =>
        packet.flow_id === flowId ? (
          <span className={classes.forward} title="In the direction of this flow">→</span>
        ) : (
          <span className={classes.backward} title="In the other direction">←</span>
        ),
    });
  }
  columns.push(
    { id: "source", header: "Source", width: 132, grow: 1, mono: true, cell: ({ packet }) => <span title={packet.source}>{packet.source}</span> },
    {
      id: "destination",
      header: "Destination",
      width: 132,
      grow: 1,
      mono: true,
      cell: ({ packet }) => <span title={packet.destination}>{packet.destination}</span>,
    },
    { id: "protocol", header: "Protocol", width: 84, cell: ({ packet }) => packet.protocol },
    {
      id: "length",
      header: "Length",
      title: "Bytes on the wire",
      width: 66,
      align: "right",
      cell: ({ packet }) => (
        <span
          title={
            packet.captured_length < packet.original_length
              ? `${formatCount(packet.captured_length)} of ${formatCount(packet.original_length)} bytes captured`
              : undefined
          }
        >
          {formatCount(packet.original_length)}
        </span>
      ),
    },
    ...(metaroce ? METAROCE_COLUMNS : []),
    {
      id: "info",
      header: "Info",
      width: 340,
      grow: 6,
      cell: ({ packet }) => (
        <>
          <PacketFlags packet={packet} />
          <span title={packet.info}>{packet.info}</span>
        </>
      ),
    },
  );
  return columns;
}
