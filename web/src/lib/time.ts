/**
 * Times with nanoseconds. A Date holds milliseconds only, so times of packets are bigint nanoseconds since the Unix epoch.
 */

const RFC3339 = /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;

/** Nanoseconds since the epoch of an RFC 3339 time; undefined when it is none. */
export function parseTime(text: string): bigint | undefined {
  const match = RFC3339.exec(text);
  if (!match) return undefined;
  const [, year, month, day, hour, minute, second, fraction, sign, offsetHour, offsetMinute] = match;
  const ms = Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second));
  if (Number.isNaN(ms)) return undefined;
  let ns = BigInt(ms) * 1_000_000n + BigInt((fraction ?? "").padEnd(9, "0"));
  if (sign) {
    const offset = BigInt(Number(offsetHour) * 60 + Number(offsetMinute)) * 60_000_000_000n;
    ns += sign === "+" ? -offset : offset;
  }
  return ns;
}

/** RFC 3339 in UTC with nine decimals. */
export function toRFC3339(ns: bigint): string {
  const second = floorDiv(ns, 1_000_000_000n);
  const fraction = ns - second * 1_000_000_000n;
  const head = new Date(Number(second) * 1000).toISOString().slice(0, 19);
  return `${head}.${fraction.toString().padStart(9, "0")}Z`;
}

function floorDiv(a: bigint, b: bigint): bigint {
  const quotient = a / b;
  return a % b < 0n ? quotient - 1n : quotient;
}

/** 2026-12-02 06:52:58 UTC, without a fraction. */
export function formatDateTime(text: string): string {
  const ns = parseTime(text);
  if (ns === undefined) return text;
  const full = toRFC3339(ns);
  return `${full.slice(0, 10)} ${full.slice(11, 19)}`;
}

/** Time of day with all nine decimals: 06:52:58.123456789. */
export function formatClock(ns: bigint): string {
  return toRFC3339(ns).slice(11, 29);
}

/** Seconds with nine decimals and a sign only when negative: 0.000012500. */
export function formatSeconds(ns: bigint): string {
  const negative = ns < 0n;
  const size = negative ? -ns : ns;
  const text = `${size / 1_000_000_000n}.${(size % 1_000_000_000n).toString().padStart(9, "0")}`;
  return negative ? `-${text}` : text;
}

/** "just now", "5 min ago", "3 h ago", else the date. */
export function formatAgo(text: string, nowMs: number): string {
  const ns = parseTime(text);
  if (ns === undefined) return text;
  const seconds = Math.floor((nowMs - Number(ns / 1_000_000n)) / 1000);
  if (seconds < 45) return "just now";
  if (seconds < 3600) return `${Math.max(1, Math.round(seconds / 60))} min ago`;
  if (seconds < 86400) return `${Math.round(seconds / 3600)} h ago`;
  return formatDateTime(text).slice(0, 16);
}
