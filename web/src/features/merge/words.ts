import type { ClockPiece, Merge, MergeDirection } from "../../api/types";
import { formatCount, formatDuration } from "../../lib/format";

/** Names of the two captures in short, as on the command line. */
export const POINTS = ["A", "B"] as const;

/** 2, or 0 to 1; undefined when it cannot be told. */
export function lostText(min: number | null, max: number | null): string | undefined {
  if (min === null || max === null) return undefined;
  return min === max ? formatCount(min) : `${formatCount(min)} to ${formatCount(max)}`;
}

const signed = (value: number, digits: number): string => value.toLocaleString("en", { maximumFractionDigits: digits, minimumFractionDigits: digits });

/** How the second clock stands to the first, with the doubt. */
export function clockText({ offset_ns, offset_doubt_ns, drift_ppm, drift_doubt_ppm }: ClockPiece): { offset: string; drift: string | undefined } {
  const ns = Number(offset_ns);
  const place = ns < 0 ? "behind" : "ahead of";
  const size = formatDuration(Math.abs(ns));
  if (offset_doubt_ns === null) return { offset: `B's clock is about ${size} ${place} A's: a bound only, since all packets went one way`, drift: undefined };
  const offset = ns === 0 ? "B's clock shows the same as A's" : `B's clock is ${size} ${place} A's`;
  return {
    offset: `${offset}, ± ${formatDuration(Number(offset_doubt_ns))}`,
    drift: drift_ppm === null ? undefined : `${drift_ppm < 0 ? "loses" : "gains"} ${signed(Math.abs(drift_ppm), 1)}${drift_doubt_ppm === null ? "" : ` ± ${signed(drift_doubt_ppm, 1)}`} ppm`,
  };
}

/** Capture, 0 or 1, whose point comes first on the way; undefined when unknown, or when both are one point. */
export function upstreamOf(order: MergeDirection["order"]): 0 | 1 | undefined {
  if (order === "first, then second") return 0;
  if (order === "second, then first") return 1;
  return undefined;
}

export function orderText(order: MergeDirection["order"]): string {
  const up = upstreamOf(order);
  if (up !== undefined) return `${POINTS[up]}, then ${POINTS[1 - up]}`;
  return order === "the same point" ? "the same point" : "unknown";
}

/** Key of a direction among those of a merge. */
export const directionKey = ({ flow_id, path, cnps }: Pick<MergeDirection, "flow_id" | "path" | "cnps">): string => `${flow_id} ${path ?? ""} ${cnps ? "cnps" : ""}`;

/** Where two flows are listed one after the other, of which things a name tells. */
export function directionName({ source, destination, path, cnps }: MergeDirection): string {
  const parts = [`${source} → ${destination.address}`];
  if (path !== null) parts.push(`path ${path}`);
  if (cnps) parts.push("CNPs");
  return parts.join(", ");
}

const PHASES = { queued: "Waiting for its turn", aligning: "Relating the clocks", pairing: "Pairing packets", judging: "Judging both together" } as const;

export function progressText(merge: Merge): { phase: string; share: number } {
  const { progress } = merge;
  if (!progress || merge.status === "queued") return { phase: PHASES.queued, share: 0 };
  return { phase: PHASES[progress.phase], share: progress.packets_total > 0 ? progress.packets / progress.packets_total : 0 };
}
