/** Statements that were run, newest first, each once. */
export interface HistoryEntry {
  sql: string;
  /** ms since the epoch. */
  at: number;
}

const KEY = "rocelens-sql-history";
const MOST = 50;
const LONGEST = 20_000;

export function withEntry(history: readonly HistoryEntry[], entry: HistoryEntry): HistoryEntry[] {
  const sql = entry.sql.trim();
  if (sql === "" || sql.length > LONGEST) return [...history];
  return [{ ...entry, sql }, ...history.filter((old) => old.sql !== sql)].slice(0, MOST);
}

export function parseHistory(text: string | null): HistoryEntry[] {
  if (text === null) return [];
  try {
    const value: unknown = JSON.parse(text);
    if (!Array.isArray(value)) return [];
    return value.filter(
      (entry): entry is HistoryEntry =>
        typeof entry === "object" && entry !== null && typeof entry.sql === "string" && typeof entry.at === "number",
    );
  } catch {
    return [];
  }
}

export function loadHistory(storage: Pick<Storage, "getItem">): HistoryEntry[] {
  return parseHistory(storage.getItem(KEY));
}

/** Storage may be full or forbidden; the history is then of this visit only. */
export function saveHistory(storage: Pick<Storage, "setItem">, history: readonly HistoryEntry[]): boolean {
  try {
    storage.setItem(KEY, JSON.stringify(history));
    return true;
  } catch {
    return false;
  }
}
