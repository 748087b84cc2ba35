import { Tooltip } from "@mantine/core";
import { IconChartDots } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Flow } from "../../api/types";
import type { Column } from "../../components/DataTable";
import { Unknown } from "../../components/Unknown";
import { countOf, formatBitRate, formatBytes, formatCount, formatDuration, formatHex } from "../../lib/format";
import { formatSeconds, parseTime } from "../../lib/time";
import classes from "./flowColumns.module.css";

/** A queue pair number: hex as in other tools, decimal on hover. */
export function QueuePair({ number, why }: { number: number | null; why: string }) {
  if (number === null) return <Unknown why={why} />;
  return (
    <Tooltip label={`QPN ${formatHex(number, 6)} = ${number}`}>
      <span className="mono">{formatHex(number)}</span>
    </Tooltip>
  );
}

export const UNPAIRED = "the other direction was not seen, and no connection setup named it";

/** A count that may be unknown; zero is quiet, trouble is not. */
export function Count({ value, why, severity }: { value: number | null; why: string; severity?: "bad" | "warn" }): ReactNode {
  if (value === null) return <Unknown why={why} />;
  return (
    <span className={classes.count} data-zero={value === 0 || undefined} data-severity={value > 0 ? severity : undefined}>
      {formatCount(value)}
    </span>
  );
}

const NO_PSN = "packets of this flow carry no sequence that could tell";
const NO_IP = "there is no IP header that could carry the mark";

const OPERATIONS: [keyof Flow["operations"], string][] = [
  ["write", "WRITE"],
  ["send", "SEND"],
  ["read_request", "READ"],
  ["read_response", "READ resp."],
  ["atomic", "ATOMIC"],
  ["atomic_response", "ATOMIC resp."],
  ["datagram", "Datagram"],
  ["ack", "ACK"],
  ["other", "Other"],
];

/** Kinds of packets, most frequent first. */
export function operationsOf(flow: Flow): { name: string; count: number }[] {
  return OPERATIONS.map(([key, name]) => ({ name, count: flow.operations[key] }))
    .filter(({ count }) => count > 0)
    .toSorted((a, b) => b.count - a.count);
}

export function Operations({ flow }: { flow: Flow }) {
  const all = operationsOf(flow);
  return <span title={all.map(({ name, count }) => `${name} ${formatCount(count)}`).join(", ")}>{all.map(({ name }) => name).join(", ")}</span>;
}

/** Columns that are hidden until asked for. */
export const HIDDEN_BY_DEFAULT: ReadonlySet<string> = new Set(["protocol", "acks", "first_time", "last_time", "vlan", "dscp", "path_mtu", "duplicates", "goodput"]);

/** Characters of the longest address and the longest queue pair number, which columns must have room for. */
export interface Longest {
  address: number;
  queuePair: number;
  service: number;
  /** Whether there are flows of MetaRoCE, which have paths and streams. */
  metaroce: boolean;
}

export function longestOf(flows: readonly Flow[]): Longest {
  const longest: Longest = { address: 0, queuePair: 0, service: 0, metaroce: false };
  for (const { source, destination, source_qp, destination_qp, service, metaroce } of flows) {
    longest.service = Math.max(longest.service, service.length);
    longest.metaroce ||= metaroce !== undefined;
    longest.address = Math.max(longest.address, source.length, destination.length);
    longest.queuePair = Math.max(longest.queuePair, formatHex(source_qp ?? 0).length, formatHex(destination_qp).length);
  }
  return longest;
}

/** Pixels of a character in a table's fixed-width font. */
const CHARACTER = 7.6;

/** Ways into the paths and streams of a flow of MetaRoCE. */
function pathsColumn(captureId: string): Column<Flow> {
  return {
    id: "paths",
    header: "Paths, streams",
    title: "Paths and streams of MetaRoCE",
    width: 108,
    cell: ({ id, metaroce }) =>
      metaroce === undefined ? (
        <Unknown why="only MetaRoCE has paths and streams" />
      ) : (
        <span className={classes.pair}>
          <Link to="/captures/$captureId/flows/$flowId/paths" params={{ captureId, flowId: id }} title="Open its paths">
            {countOf(metaroce.paths, "path")}
          </Link>
          <span className="muted">·</span>
          <Link to="/captures/$captureId/flows/$flowId/streams" params={{ captureId, flowId: id }} title="Open its streams">
            {formatCount(metaroce.streams)}
          </Link>
        </span>
      ),
  };
}

export function flowColumns(captureId: string, origin: string | undefined, longest: Longest): Column<Flow>[] {
  const addressWidth = Math.round(Math.min(300, Math.max(112, 18 + longest.address * CHARACTER)));
  const pairWidth = Math.round(Math.max(100, 42 + 2 * longest.queuePair * CHARACTER));
  const zero = origin === undefined ? undefined : parseTime(origin);
  const offset = (time: string | undefined): ReactNode => {
    const ns = time === undefined ? undefined : parseTime(time);
    if (ns === undefined || zero === undefined) return <Unknown why="the capture has no time stamps" />;
    return formatSeconds(ns - zero);
  };
  const counted = (
    id: string,
    header: string,
    title: string,
    get: (flow: Flow) => number | null,
    severity?: "bad" | "warn",
    width = 68,
    sortable = true,
  ): Column<Flow> => ({
    id,
    header,
    title,
    width,
    align: "right",
    sortable,
    cell: (flow) => <Count value={get(flow)} why={NO_PSN} {...(severity && { severity })} />,
  });
  return [
    {
      id: "source",
      header: "Source",
      width: addressWidth,
      grow: 2,
      mono: true,
      sortable: true,
      cell: (flow) => (
        <Link
          to="/captures/$captureId/flows/$flowId"
          params={{ captureId, flowId: flow.id }}
          className={classes.address}
          title={flow.source}
        >
          {flow.source}
        </Link>
      ),
    },
    {
      id: "destination",
      header: "Destination",
      width: addressWidth,
      grow: 2,
      mono: true,
      sortable: true,
      cell: (flow) => <span title={flow.destination}>{flow.destination}</span>,
    },
    {
      id: "destination_qp",
      header: "QP → QP",
      title: "Source and destination queue pair",
      width: pairWidth,
      sortable: true,
      cell: (flow) => (
        <span className={classes.pair}>
          <QueuePair number={flow.source_qp} why={UNPAIRED} />
          <span className="muted">→</span>
          <QueuePair number={flow.destination_qp} why="" />
        </span>
      ),
    },
    {
      id: "reverse",
      header: "⇄",
      title: "The other direction of the connection",
      width: 28,
      align: "center",
      cell: (flow) =>
        flow.reverse_flow_id ? (
          <Link
            to="/captures/$captureId/flows/$flowId"
            params={{ captureId, flowId: flow.reverse_flow_id }}
            aria-label="Open the other direction"
            title="Open the other direction"
          >
            ⇄
          </Link>
        ) : (
          <Unknown why={flow.pairing === "datagram" ? "datagrams belong to no connection" : UNPAIRED} />
        ),
    },
    {
      id: "sequence",
      header: "PSN",
      title: "The graph of its PSNs over time",
      width: 44,
      align: "center",
      cell: (flow) => (
        <Link
          to="/captures/$captureId/flows/$flowId/sequence"
          params={{ captureId, flowId: flow.id }}
          className={classes.sequence}
          aria-label={`PSNs over time from ${flow.source} to ${flow.destination}`}
          title="PSNs over time"
        >
          <IconChartDots size={15} stroke={1.6} aria-hidden />
        </Link>
      ),
    },
    { id: "service", header: "Type", title: "Transport service", width: longest.service > 4 ? 92 : 48, cell: (flow) => flow.service },
    { id: "protocol", header: "Protocol", width: 74, cell: (flow) => flow.protocol },
    ...(longest.metaroce ? [pathsColumn(captureId)] : []),
    { id: "operations", header: "Operations", width: 84, grow: 1, cell: (flow) => <Operations flow={flow} /> },
    { id: "bytes", header: "Bytes", width: 76, align: "right", sortable: true, cell: (flow) => formatBytes(flow.bytes) },
    { id: "packets", header: "Packets", width: 74, align: "right", sortable: true, cell: (flow) => formatCount(flow.packets) },
    counted("messages", "Messages", "RDMA messages that began in this flow", (flow) => flow.messages, undefined, 80),
    {
      id: "throughput",
      header: "Throughput",
      title: "On the wire, from first to last packet",
      width: 96,
      align: "right",
      sortable: true,
      cell: (flow) =>
        flow.throughput_bps === null ? (
          <Unknown why="one packet, or packets without time, have no rate" />
        ) : (
          formatBitRate(flow.throughput_bps)
        ),
    },
    {
      id: "goodput",
      header: "Goodput",
      title: "Payload that was delivered for the first time",
      width: 82,
      align: "right",
      cell: (flow) => (flow.goodput_bytes === null ? <Unknown why={NO_PSN} /> : formatBytes(flow.goodput_bytes)),
    },
    counted("retransmitted", "Retrans.", "Retransmitted packets", (flow) => flow.retransmitted, "bad", 68),
    counted("missing_psns", "Missing", "PSNs that never came by", (flow) => flow.missing_psns, "warn", 64),
    counted("out_of_order", "OoO", "Out of order: late, not resent", (flow) => flow.out_of_order, "warn", 50),
    counted("duplicates", "Dup.", "Duplicates", (flow) => flow.duplicates, "warn", 54, false),
    counted("acks", "ACK", "Acknowledgements", (flow) => flow.acks, undefined, 68),
    counted("naks", "NAK", "Negative acknowledgements", (flow) => flow.naks, "bad", 50),
    counted("rnr_naks", "RNR", "Receiver not ready", (flow) => flow.rnr_naks, "bad", 50),
    counted("cnps", "CNP", "Congestion notification packets", (flow) => flow.cnps, "warn", 50),
    {
      ...counted("ce_marked", "CE", "Packets marked as having met congestion", (flow) => flow.ce_marked, "warn", 50),
      cell: (flow) => <Count value={flow.ce_marked} why={NO_IP} severity="warn" />,
    },
    counted("icrc_bad", "ICRC", "ICRC errors", (flow) => flow.icrc_bad, "bad", 56),
    {
      id: "duration",
      header: "Duration",
      width: 82,
      align: "right",
      sortable: true,
      cell: (flow) => (flow.duration_ns !== undefined ? formatDuration(BigInt(flow.duration_ns)) : <Unknown why="the capture has no time stamps" />),
    },
    { id: "first_time", header: "First", title: "Seconds after the capture's first packet", width: 118, align: "right", mono: true, sortable: true, cell: (flow) => offset(flow.first_time) },
    { id: "last_time", header: "Last", title: "Seconds after the capture's first packet", width: 118, align: "right", mono: true, sortable: true, cell: (flow) => offset(flow.last_time) },
    { id: "vlan", header: "VLAN", width: 56, align: "right", cell: (flow) => flow.vlan ?? <Unknown why="there is no VLAN tag" /> },
    { id: "dscp", header: "DSCP", width: 56, align: "right", cell: (flow) => flow.dscp ?? <Unknown why={NO_IP} /> },
    { id: "path_mtu", header: "MTU", title: "Path MTU, bytes", width: 58, align: "right", cell: (flow) => flow.path_mtu ?? <Unknown why="no message of several packets and no connection setup was seen" /> },
  ];
}
