import { countOf, formatCount, formatDuration } from "../../lib/format";
import { formatClock, formatSeconds } from "../../lib/time";
import type { Flag } from "./draw";
import { ANSWER, CE, GAP, LATE, RETRANSMITTED, wirePSN, type Rows } from "./rows";
import classes from "./SequenceGraph.module.css";

const KINDS = {
  data: "request",
  response: "response",
  ack: "ACK",
  sack: "ACK with SACK",
  nak: "NAK",
  rnr: "RNR NAK",
  cnp: "CNP",
  control: "control packet",
  other: "other packet",
} as const;

const MARKS = [
  [RETRANSMITTED, "retransmitted"],
  [CE, "marked CE"],
  [GAP, "PSNs missing before it"],
  [LATE, "came late"],
] as const;

function described({ rows, row }: { rows: Rows; row: number }): string[] {
  const [kind, marks, track, count] = [rows.kind[row] ?? "other", rows.marks[row] ?? 0, rows.track[row] ?? 0, rows.count[row] ?? 1];
  const at = rows.at[row] ?? 0;
  const [low, high] = [rows.low[row] ?? Number.NaN, rows.high[row] ?? Number.NaN];
  const parts = [
    rows.bin === 0 ? `Packet ${formatCount(rows.number[row] ?? 0)}, ${KINDS[kind]}` : `${countOf(count, "packet")} from ${formatCount(rows.number[row] ?? 0)} on, ${KINDS[kind]}`,
    `${formatSeconds(BigInt(Math.round(at)))} s${rows.bin > 0 ? ` and ${formatDuration(rows.bin)} on` : ""} (${formatClock(rows.start + BigInt(Math.round(at)))})`,
  ];
  if (!Number.isNaN(low)) {
    const name = kind === "ack" || kind === "sack" ? (rows.tracks[track]?.path_id === null ? "acknowledges PSN" : "expects PSN") : "PSN";
    const [from, to] = [formatCount(wirePSN(rows, track, low)), formatCount(wirePSN(rows, track, high))];
    parts.push(`${name} ${from}${from === to ? "" : ` to ${to}`}`);
  }
  const path = rows.tracks[track]?.path_id;
  if (path !== null && path !== undefined) parts.push(`path ${path}`);
  const runs = rows.sackRow.flatMap((of, run) => (of === row ? [run] : []));
  if (runs.length > 0) parts.push(`SACK ${runs.map((run) => `${formatCount(wirePSN(rows, track, rows.sackFirst[run] ?? 0))}–${formatCount(wirePSN(rows, track, rows.sackLast[run] ?? 0))}`).join(", ")}`);
  for (const [bit, text] of MARKS) if (marks & bit) parts.push(text);
  if (kind === "cnp") parts.push(marks & ANSWER ? "from the receiver" : "from the sender");
  return parts;
}

/** Exact values of what is pointed at. */
export function Readout({ of, flag }: { of: { rows: Rows; row: number } | undefined; flag: Flag | undefined }) {
  const parts = flag ? [flag.text] : of ? described(of) : undefined;
  return (
    <p className={classes.readout} role="status">
      {parts ? (
        parts.map((part) => <span key={part}>{part}</span>)
      ) : (
        <span className="muted">Wheel or + and − zoom, dragging moves, Shift and dragging zooms into a span, 0 shows all. A click on a packet opens it.</span>
      )}
    </p>
  );
}
