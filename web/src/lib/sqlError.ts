/**
 * Where in a statement ClickHouse saw an error: "… (line 2, col 8): …", or "failed at position 9 (line 1, col 9)".
 */
export interface SqlPosition {
  /** From 1. */
  line: number;
  /** From 1. */
  column: number;
}

export function positionOf(message: string): SqlPosition | undefined {
  const both = /line (\d+), col(?:umn)? (\d+)/i.exec(message);
  if (both) return { line: Number(both[1]), column: Number(both[2]) };
  const first = /failed at position (\d+)/i.exec(message);
  if (first) return { line: 1, column: Number(first[1]) };
  return undefined;
}
