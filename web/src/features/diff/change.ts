import type { DiffFigure, DiffRule } from "../../api/types";
import { formatBitRate, formatBytes, formatCount, formatDuration, formatPacketRate } from "../../lib/format";
import type { DiffState } from "../../lib/viewState";

/** Whether B is better than A; same: as good; apart: another, and neither is better; unknown: a side cannot tell. */
export type Judgement = "better" | "worse" | "same" | "apart" | "unknown";

/** What a judgement is called, so that it is not told by colour alone. */
export const WORDS: Record<Judgement, string> = { better: "better", worse: "worse", same: "no change", apart: "different", unknown: "unknown" };

export function formatFigure(value: number, unit: DiffFigure["unit"]): string {
  switch (unit) {
    case "count":
      return Number.isInteger(value) ? formatCount(value) : value.toLocaleString("en", { maximumSignificantDigits: 3 });
    case "bytes":
      return formatBytes(value);
    case "ns":
      return formatDuration(value);
    case "bit/s":
      return formatBitRate(value);
    case "1/s":
      return formatPacketRate(value);
    case "share":
      return `${(100 * value).toLocaleString("en", { maximumSignificantDigits: 3 })} %`;
  }
}

export function judge({ a, b, better }: Pick<DiffFigure, "a" | "b" | "better">): Judgement {
  if (a === null || b === null) return "unknown";
  if (a === b) return "same";
  if (better === "neither") return "apart";
  const more = b > a;
  return more === (better === "higher") ? "better" : "worse";
}

/** How much more or less B is: the difference, and its share of A where there is one. */
export function changeText({ change, change_share: share, unit }: Pick<DiffFigure, "change" | "change_share" | "unit">): string | undefined {
  if (change === null) return undefined;
  if (change === 0) return "0";
  const sign = change > 0 ? "+" : "−";
  const size = unit === "share" ? `${(100 * Math.abs(change)).toLocaleString("en", { maximumSignificantDigits: 3 })} points` : formatFigure(Math.abs(change), unit);
  const part = share === null || unit === "share" ? "" : ` (${sign}${(100 * Math.abs(share)).toLocaleString("en", { maximumSignificantDigits: 3 })} %)`;
  return `${sign}${size}${part}`;
}

/** Of rules fewer divergences are better, and with as many, fewer that are undetermined are another matter. */
export function judgeRule({ a, b }: Pick<DiffRule, "a" | "b">): Judgement {
  if (!a || !b) return "unknown";
  if (a.diverges !== b.diverges) return b.diverges < a.diverges ? "better" : "worse";
  return a.undetermined === b.undetermined ? "same" : "apart";
}

/** The same with B first. */
export function swapped({ a, b, flow_a, flow_b }: DiffState): DiffState {
  return { a: b, b: a, flow_a: flow_b, flow_b: flow_a };
}

/** Why the two sides cannot be compared, before anyone is asked. */
export function sameSides({ a, b, flow_a, flow_b }: DiffState): string | undefined {
  if (!a || a !== b) return undefined;
  if (!flow_a || !flow_b) return "Both sides are one capture: choose a connection of it on each side, or another capture.";
  return flow_a === flow_b ? "Both sides are one connection: choose another on one of them." : undefined;
}
