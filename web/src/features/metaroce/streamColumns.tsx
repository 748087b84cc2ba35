import { Link } from "@tanstack/react-router";
import type { Stream } from "../../api/types";
import type { Column } from "../../components/DataTable";
import { Unknown } from "../../components/Unknown";
import { formatBytes, formatCount, formatDuration } from "../../lib/format";
import { Count } from "../flows/flowColumns";
import { LatencyBar } from "./LatencyBar";
import classes from "./pathColumns.module.css";

const NO_SAMPLE = "no message was seen from its first packet to the ACK of its last byte";
const UNPAIRED = "the other direction, which acknowledges, was not seen";

export const HIDDEN_STREAM_COLUMNS: ReadonlySet<string> = new Set(["msn", "latency_min", "latency_mean", "latency_p90", "response_bytes"]);

const OPERATIONS = [
  ["writes", "WRITE"],
  ["sends", "SEND"],
  ["reads", "READ"],
  ["atomics", "ATOMIC"],
] as const;

export function streamColumns(captureId: string, ofCapture: boolean, streams: readonly Stream[]): Column<Stream>[] {
  const longest = Math.max(1, ...streams.map(({ latency }) => latency.max_ns ?? 0));
  const shortest = Math.min(longest, ...streams.flatMap(({ latency }) => latency.min_ns ?? []));
  const latency = (id: Exclude<keyof Stream["latency"], "samples">, header: string, title: string): Column<Stream> => ({
    id: `latency_${id.slice(0, -3)}`,
    header,
    title,
    width: 78,
    align: "right",
    sortable: true,
    cell: (stream) => {
      const ns = stream.latency[id];
      return ns === null ? <Unknown why={NO_SAMPLE} /> : formatDuration(ns);
    },
  });
  const addresses: Column<Stream>[] = [
    { id: "source", header: "Source", width: 132, grow: 1, mono: true, sortable: true, cell: (stream) => stream.source },
    { id: "destination", header: "Destination", width: 132, grow: 1, mono: true, sortable: true, cell: (stream) => stream.destination },
  ];
  return [
    {
      id: "stream_id",
      header: "Stream",
      width: 82,
      align: "right",
      sortable: true,
      cell: ({ flow_id, stream_id }) =>
        ofCapture ? (
          <Link to="/captures/$captureId/flows/$flowId/streams" params={{ captureId, flowId: flow_id }} search={{ stream: stream_id }} className={classes.id}>
            {stream_id}
          </Link>
        ) : (
          <span className={classes.id}>{stream_id}</span>
        ),
    },
    ...(ofCapture ? addresses : []),
    { id: "messages", header: "Messages", title: "Messages of which a packet was captured", width: 84, align: "right", sortable: true, cell: ({ messages }) => formatCount(messages) },
    {
      id: "complete",
      header: "Complete",
      title: "Messages of which all bytes were captured and acknowledged",
      width: 84,
      align: "right",
      sortable: true,
      cell: ({ complete, messages }) =>
        complete === null ? <Unknown why={UNPAIRED} /> : <span className={classes.share} data-some={complete < messages || undefined}>{formatCount(complete)}</span>,
    },
    {
      id: "operations",
      header: "Operations",
      width: 150,
      grow: 1,
      cell: (stream) =>
        OPERATIONS.filter(([key]) => stream[key] > 0)
          .map(([key, name]) => `${name} ${formatCount(stream[key])}`)
          .join(", ") || <span className="muted">answers alone</span>,
    },
    {
      id: "msn",
      header: "MSN",
      title: "Numbers of the first and the last message; the application gets them in this order",
      width: 96,
      mono: true,
      cell: ({ first_msn, last_msn }) => (first_msn === null || last_msn === null ? <Unknown why="no message began here" /> : `${first_msn} … ${last_msn}`),
    },
    { id: "packets", header: "Packets", width: 76, align: "right", sortable: true, cell: ({ packets }) => formatCount(packets) },
    { id: "payload_bytes", header: "Payload", title: "Resent bytes included", width: 78, align: "right", sortable: true, cell: ({ payload_bytes }) => formatBytes(payload_bytes) },
    { id: "goodput_bytes", header: "Goodput", title: "Payload without what had been captured before", width: 82, align: "right", sortable: true, cell: ({ goodput_bytes }) => formatBytes(goodput_bytes) },
    { id: "response_bytes", header: "Answers", title: "Of the goodput: answers to READs of the other direction", width: 78, align: "right", cell: ({ response_bytes }) => formatBytes(response_bytes) },
    { id: "retransmitted", header: "Resent", width: 68, align: "right", sortable: true, cell: ({ retransmitted }) => <Count value={retransmitted} why="" severity="bad" /> },
    { id: "naks", header: "NAK", width: 50, align: "right", sortable: true, cell: ({ naks }) => <Count value={naks} why="" severity="bad" /> },
    latency("min_ns", "Shortest", "Shortest completion latency"),
    latency("mean_ns", "Mean", "Mean completion latency"),
    latency("p50_ns", "Median", "Completion latency: from the first packet of a message to the ACK of its last byte"),
    latency("p90_ns", "p90", "Nine of ten messages took no longer"),
    latency("p99_ns", "p99", "99 of 100 messages took no longer"),
    latency("max_ns", "Longest", "Longest completion latency"),
    {
      id: "latency",
      header: "Completion latency",
      title: "From the shortest to the longest, median to p90 filled, p99 marked; logarithmic",
      width: 170,
      grow: 1,
      cell: ({ latency: of }) => <LatencyBar latency={of} shortest={shortest} longest={longest} />,
    },
  ];
}
