import { parseTime, toRFC3339 } from "../../lib/time";
import type { ScopeState, SpanLength } from "../../lib/viewState";

const SECONDS: Record<SpanLength, number> = { "10m": 600, "1h": 3_600, "6h": 21_600, "24h": 86_400, "7d": 604_800 };

export interface Span {
  from: string;
  to: string;
}

type Times = Pick<ScopeState, "last" | "from" | "to">;

/** Whether a view ends now, and so moves on. */
export function endsNow({ to }: Times): boolean {
  return to === undefined;
}

/** The span of time that a view is about. A begin without an end lasts until now, an end without a begin has ten minutes. */
export function spanOf({ last, from, to }: Times, nowMs: number): Span {
  const end = (to && parseTime(to)) || BigInt(nowMs) * 1_000_000n;
  const begin = from && parseTime(from);
  return { from: toRFC3339(begin && begin < end ? begin : end - BigInt(SECONDS[last ?? "10m"]) * 1_000_000_000n), to: toRFC3339(end) };
}

/** What an input of local date and time holds for a moment of UTC. */
export function toInput(moment: string | undefined): string {
  return moment ? moment.slice(0, 19) : "";
}

/** The moment of UTC that somebody has typed; undefined while it is none. */
export function fromInput(typed: string): string | undefined {
  const full = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}$/.test(typed) ? `${typed}:00` : typed;
  return /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}$/.test(full) && parseTime(`${full}Z`) !== undefined ? `${full}Z` : undefined;
}

/** A time of an answer as addresses keep it: UTC, with as many decimals as it has. */
export function toMoment(time: string): string | undefined {
  const ns = parseTime(time);
  return ns === undefined ? undefined : toRFC3339(ns).replace(/\.0{9}Z$/, "Z");
}

/** Five minutes to each side of a time. */
export function aroundMoment(time: string): Partial<Span> {
  const ns = parseTime(time);
  return ns === undefined ? {} : { from: toRFC3339(ns - 300_000_000_000n), to: toRFC3339(ns + 300_000_000_000n) };
}
