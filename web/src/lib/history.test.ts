import { expect, it } from "vitest";
import { loadHistory, parseHistory, saveHistory, withEntry } from "./history";

it("keeps each statement once, newest first, and not without end", () => {
  let history = withEntry([], { sql: "SELECT 1", at: 1 });
  history = withEntry(history, { sql: "SELECT 2", at: 2 });
  history = withEntry(history, { sql: " SELECT 1\n", at: 3 });
  expect(history).toEqual([
    { sql: "SELECT 1", at: 3 },
    { sql: "SELECT 2", at: 2 },
  ]);
  for (let at = 0; at < 80; at++) history = withEntry(history, { sql: `SELECT ${at}`, at });
  expect(history).toHaveLength(50);
  expect(withEntry(history, { sql: "  ", at: 1 })).toHaveLength(50);
});

it("reads back what it saved, and nothing from damage", () => {
  const kept = new Map<string, string>();
  const storage = { getItem: (key: string) => kept.get(key) ?? null, setItem: (key: string, value: string) => void kept.set(key, value) };
  expect(loadHistory(storage)).toEqual([]);
  expect(saveHistory(storage, [{ sql: "SELECT 1", at: 1 }])).toBe(true);
  expect(loadHistory(storage)).toEqual([{ sql: "SELECT 1", at: 1 }]);
  expect(parseHistory("{broken")).toEqual([]);
  expect(parseHistory('[{"sql":1},{"sql":"SELECT 1","at":2}]')).toEqual([{ sql: "SELECT 1", at: 2 }]);
});

it("does without storage that is full", () => {
  const full = {
    setItem: () => {
      throw new Error("quota");
    },
  };
  expect(saveHistory(full, [])).toBe(false);
});
