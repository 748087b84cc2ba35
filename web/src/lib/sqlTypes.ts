/** How a ClickHouse type is shown. */
export type Kind = "number" | "time" | "text" | "structure";

/** The type without Nullable(...) and LowCardinality(...) around it. */
export function bareType(type: string): string {
  const match = /^(?:Nullable|LowCardinality)\((.*)\)$/s.exec(type.trim());
  return match?.[1] === undefined ? type.trim() : bareType(match[1]);
}

export function kindOf(type: string): Kind {
  const bare = bareType(type);
  if (/^(U?Int\d+|Float\d+|BFloat16|Decimal\d*\b|Bool$|Interval)/.test(bare)) return "number";
  if (/^(Date|DateTime|Time)/.test(bare)) return "time";
  if (/^(Array|Map|Tuple|Nested|JSON|Object|Variant|Dynamic|AggregateFunction)/.test(bare)) return "structure";
  return "text";
}

/** Text of a value of an answer; undefined for NULL. */
export function cellText(value: unknown): string | undefined {
  if (value === null || value === undefined) return undefined;
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return JSON.stringify(value);
}

const CHAR_WIDTH = 7.6;
const PADDING = 26;
const SAMPLE = 200;

/** Width of a column that shows its header and most of its values, px. */
export function columnWidth(header: string, values: readonly unknown[]): number {
  let longest = Math.max(header.length, 4);
  for (const value of values.slice(0, SAMPLE)) longest = Math.max(longest, Math.min(64, (cellText(value) ?? "NULL").length));
  return Math.round(Math.min(480, longest * CHAR_WIDTH + PADDING));
}
