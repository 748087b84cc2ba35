import type { PacketKind, Sequence } from "../../api/types";

/** What can be shown and hidden, in the order in which it is drawn. */
export const LAYERS = ["sack", "ack", "data", "response", "ce", "late", "retransmitted", "nak", "cnp", "divergences"] as const;
export type Layer = (typeof LAYERS)[number];

export const RETRANSMITTED = 1;
export const CE = 2;
export const GAP = 4;
export const LATE = 8;
export const ANSWER = 16;

/** Columns of an answer, ready to be drawn. PSNs are NaN where there is none. */
export interface Rows {
  /** ns since the epoch that times count from. */
  start: bigint;
  span: number;
  packets: number;
  /** ns; 0: each row is a packet. */
  bin: number;
  tracks: Sequence["tracks"];
  at: Float64Array;
  low: Float64Array;
  high: Float64Array;
  number: number[];
  kind: PacketKind[];
  track: number[];
  marks: number[];
  count: number[];
  sackRow: number[];
  sackFirst: number[];
  sackLast: number[];
}

/** Reads an answer. With several tracks numbers count from the first of each, so that paths can be held against each other. */
export function toRows(answer: Sequence): Rows {
  const tracks = answer.tracks;
  const base = tracks.map(({ first_psn }) => (tracks.length > 1 ? (first_psn ?? 0) : 0));
  const of = (row: number): number => base[answer.track[row] ?? 0] ?? 0;
  const numbers = (psns: readonly (number | null)[]): Float64Array => Float64Array.from(psns, (psn, row) => (psn === null ? Number.NaN : psn - of(row)));
  const rows: Rows = {
    start: BigInt(answer.start_ns),
    span: answer.span_ns,
    packets: answer.packets,
    bin: answer.bin_ns,
    tracks,
    at: Float64Array.from(answer.at_ns),
    low: numbers(answer.psn_min),
    high: numbers(answer.psn_max),
    number: answer.number,
    kind: answer.kind,
    track: answer.track,
    marks: answer.marks,
    count: answer.count,
    sackRow: answer.sack_row,
    sackFirst: answer.sack_first.map((psn, run) => psn - of(answer.sack_row[run] ?? 0)),
    sackLast: answer.sack_last.map((psn, run) => psn - of(answer.sack_row[run] ?? 0)),
  };
  return rows;
}

/** The layer that a row is foremost of. */
export function layerOf(kind: PacketKind, marks: number): Layer {
  if (kind === "cnp") return "cnp";
  if (kind === "nak" || kind === "rnr") return "nak";
  if (marks & RETRANSMITTED) return "retransmitted";
  if (marks & (GAP | LATE)) return "late";
  if (kind === "ack") return "ack";
  if (kind === "sack") return "sack";
  if (marks & CE) return "ce";
  return kind === "response" ? "response" : "data";
}

/** PSN on the wire of a number that is drawn. */
export function wirePSN(rows: Rows, track: number, n: number): number {
  const of = rows.tracks[track];
  const size = 2 ** (of?.psn_bits ?? 24);
  const unwrapped = rows.tracks.length > 1 ? n + (of?.first_psn ?? 0) : n;
  return ((unwrapped % size) + size) % size;
}

/** Index of the first row at or after a time. */
export function firstAt(rows: Rows, at: number): number {
  let [low, high] = [0, rows.at.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((rows.at[middle] ?? 0) < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Packets by layer, for a summary in words. */
export function tally(rows: Rows): Map<Layer, number> {
  const counts = new Map<Layer, number>();
  for (let row = 0; row < rows.at.length; row++) {
    const layer = layerOf(rows.kind[row] ?? "other", rows.marks[row] ?? 0);
    counts.set(layer, (counts.get(layer) ?? 0) + (rows.count[row] ?? 0));
  }
  return counts;
}
