import type { Capture, Flow } from "../../api/types";
import { parseTime } from "../../lib/time";

/** Why a capture is likely meant, the likeliest first. */
export const LIKENESS = ["connection", "time", "other"] as const;
export type Likeness = (typeof LIKENESS)[number];

function spanOf({ first_packet_at: first, last_packet_at: last }: Capture): [bigint, bigint] | undefined {
  const [from, to] = [first && parseTime(first), last && parseTime(last)];
  return from && to ? [from, to] : undefined;
}

/** Clocks of two points may differ by so much and still be taken for about the same time, ns. */
const APART = 60_000_000_000n;

/** Whether two captures were taken at about the same time. */
export function areOfOneTime(a: Capture, b: Capture): boolean {
  const [one, other] = [spanOf(a), spanOf(b)];
  if (!one || !other) return false;
  return one[0] <= other[1] + APART && other[0] <= one[1] + APART;
}

/** Words that find the connection of a flow among the flows of another capture. */
export function wordsOf({ source, destination, destination_qp }: Flow): string {
  return `${source} ${destination} 0x${destination_qp.toString(16)}`;
}

/** Captures by likeness, the order within it kept. */
export function byLikeness(captures: readonly Capture[], likeness: (capture: Capture) => Likeness): { capture: Capture; likeness: Likeness }[] {
  return captures
    .map((capture) => ({ capture, likeness: likeness(capture) }))
    .toSorted((a, b) => LIKENESS.indexOf(a.likeness) - LIKENESS.indexOf(b.likeness));
}
