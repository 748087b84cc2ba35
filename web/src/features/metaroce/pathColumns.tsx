import { Tooltip } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { Path } from "../../api/types";
import type { Column } from "../../components/DataTable";
import { Unknown } from "../../components/Unknown";
import { formatBitRate, formatBytes, formatCount, formatDuration, formatShare } from "../../lib/format";
import { Count } from "../flows/flowColumns";
import classes from "./pathColumns.module.css";

export const NO_ACKS = "no ACK of this path was captured";
export const NO_LIMIT = "the receiver set no limit";
const NO_TIMES = "the capture has no time stamps";

/** Columns that are hidden until asked for. */
export const HIDDEN_PATH_COLUMNS: ReadonlySet<string> = new Set(["throughput", "out_of_order", "rtt_max", "ce_share", "missing_psns"]);

export function HintText({ mbps, unlimited }: { mbps: number | null; unlimited: number }) {
  if (mbps !== null) return formatBitRate(mbps * 1e6);
  if (unlimited > 0) return <span className="muted">no limit</span>;
  return <Unknown why={NO_ACKS} />;
}

/** The source ports that a path had, the latest last. */
export function PortHistory({ path }: { path: Path }) {
  const { source_ports: ports } = path;
  if (ports.length === 0) return <Unknown why="no packet of the path was captured" />;
  const all = ports.map(({ port }) => port).join(" › ");
  return (
    <span title={ports.length > 1 ? `Moved: ${all}` : undefined}>
      {ports.length > 1 && <span className="muted">{`${ports.slice(0, -1).map(({ port }) => port).join(" › ")} › `}</span>}
      {ports.at(-1)?.port}
    </span>
  );
}

const STATES: Record<Path["state"], string> = {
  "in use": "In use until the end of the capture, or the end of the connection",
  failed: "Its sender held it to have failed: a PROBE was its last packet, and nobody acknowledged it",
  recovered: "Its sender held it to have failed; PROBEs were answered, or other packets followed",
};

export function PathState({ path }: { path: Path }) {
  return (
    <Tooltip label={STATES[path.state]}>
      <span className={classes.state} data-state={path.state}>
        {path.state}
      </span>
    </Tooltip>
  );
}

function duration(ns: number | null, why: string) {
  return ns === null ? <Unknown why={why} /> : formatDuration(ns);
}

/** Missing at the vantage point and acknowledged by nobody. */
export function lostOf(path: Path): number {
  return path.missing_psns - (path.missing_acknowledged ?? 0);
}

export function pathColumns(captureId: string, ofCapture: boolean): Column<Path>[] {
  const counted = (id: string, header: string, title: string, get: (path: Path) => number | null, severity?: "bad" | "warn", width = 68): Column<Path> => ({
    id,
    header,
    title,
    width,
    align: "right",
    sortable: true,
    cell: (path) => <Count value={get(path)} why={NO_ACKS} {...(severity && { severity })} />,
  });
  const addresses: Column<Path>[] = [
    { id: "source", header: "Source", width: 132, grow: 1, mono: true, sortable: true, cell: (path) => path.source },
    { id: "destination", header: "Destination", width: 132, grow: 1, mono: true, sortable: true, cell: (path) => path.destination },
  ];
  return [
    {
      id: "path_id",
      header: "Path",
      width: 64,
      align: "right",
      sortable: true,
      cell: ({ flow_id, path_id }) =>
        ofCapture ? (
          <Link to="/captures/$captureId/flows/$flowId/paths" params={{ captureId, flowId: flow_id }} search={{ path: path_id }} className={classes.id}>
            {path_id}
          </Link>
        ) : (
          <span className={classes.id}>{path_id}</span>
        ),
    },
    ...(ofCapture ? addresses : []),
    { id: "plane_id", header: "Plane", width: 60, align: "right", sortable: true, cell: (path) => path.plane_id ?? <Unknown why="no packet of the path was captured" /> },
    { id: "state", header: "State", width: 82, sortable: true, cell: (path) => <PathState path={path} /> },
    { id: "re_paths", header: "Source port", title: "UDP source ports in the order of their use: the path's entropy for ECMP", width: 132, grow: 1, mono: true, sortable: true, cell: (path) => <PortHistory path={path} /> },
    { id: "packets", header: "Packets", title: "Packets with a PSN of the path", width: 76, align: "right", sortable: true, cell: ({ packets }) => formatCount(packets) },
    { id: "bytes", header: "Bytes", width: 76, align: "right", sortable: true, cell: ({ bytes }) => formatBytes(bytes) },
    {
      id: "throughput",
      header: "Throughput",
      width: 96,
      align: "right",
      sortable: true,
      cell: ({ throughput_bps: rate }) => (rate === null ? <Unknown why={NO_TIMES} /> : formatBitRate(rate)),
    },
    counted("retransmitted", "Resent", "Packets that were sent again", (path) => path.retransmitted, "bad"),
    {
      id: "resent_share",
      header: "Share",
      title: "Share of the packets that were sent again: what was lost, wherever it was",
      width: 68,
      align: "right",
      sortable: true,
      cell: ({ retransmitted, packets }) => <span className={classes.share} data-some={retransmitted > 0 || undefined}>{formatShare(retransmitted, packets)}</span>,
    },
    counted("missing_psns", "Missing", "PSNs that never came by", (path) => path.missing_psns, "warn"),
    counted("lost", "Lost", "PSNs that never came by and that nobody acknowledged", lostOf, "bad", 52),
    counted("out_of_order", "OoO", "Out of order: late, not resent", (path) => path.out_of_order, "warn", 50),
    counted("duplicates", "Dup.", "PSNs seen more than once", (path) => path.duplicates, "warn", 54),
    counted("ce_marked", "CE", "Packets marked as having met congestion", (path) => path.ce_marked, "warn", 50),
    { id: "ce_share", header: "CE share", width: 76, align: "right", sortable: true, cell: ({ ce_marked, packets }) => formatShare(ce_marked, packets) },
    counted("naks", "NAK", "NAKs that refused a packet of the path", (path) => path.naks, "bad", 50),
    { id: "rtt", header: "SRTT", title: "Smoothed round trip from the place of capture to the receiver and back, by echoed timestamps", width: 78, align: "right", sortable: true, cell: ({ rtt }) => duration(rtt.smoothed_ns, NO_ACKS) },
    { id: "rtt_max", header: "RTT max", width: 78, align: "right", sortable: true, cell: ({ rtt }) => duration(rtt.max_ns, NO_ACKS) },
    counted("in_flight_max", "In flight", "Most packets sent and not acknowledged at one moment: the window was at least that", (path) => path.in_flight_max, undefined, 74),
    { id: "rate_hint", header: "Hint", title: "Rate that the receiver's latest ACK granted", width: 92, align: "right", sortable: true, cell: ({ rate_hint: hint }) => <HintText mbps={hint.last_mbps} unlimited={hint.unlimited} /> },
  ];
}
