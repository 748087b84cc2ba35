import { expect, it } from "vitest";
import type { Capture, Flow } from "../../api/types";
import { areOfOneTime, byLikeness, wordsOf } from "./candidates";

const capture = (id: string, from?: string, to?: string) => ({ id, name: id, ...(from && { first_packet_at: from }), ...(to && { last_packet_at: to }) }) as Capture;

it("takes captures for those of one time whose clocks differ by a minute at most", () => {
  const one = capture("a", "2026-12-02T10:00:00Z", "2026-12-02T10:00:10Z");
  expect(areOfOneTime(one, capture("b", "2026-12-02T10:01:09Z", "2026-12-02T10:02:00Z"))).toBe(true);
  expect(areOfOneTime(one, capture("b", "2026-12-02T10:01:11Z", "2026-12-02T10:02:00Z"))).toBe(false);
  expect(areOfOneTime(one, capture("b", "2026-12-02T09:00:00Z", "2026-12-02T09:59:01Z"))).toBe(true);
  expect(areOfOneTime(one, capture("b"))).toBe(false);
});

it("lists the likeliest first and keeps the order of the others", () => {
  const likeness = { a: "other", b: "time", c: "connection", d: "time" } as const;
  const sorted = byLikeness([capture("a"), capture("b"), capture("c"), capture("d")], ({ id }) => likeness[id as keyof typeof likeness]);
  expect(sorted.map(({ capture: { id } }) => id)).toEqual(["c", "b", "d", "a"]);
});

it("finds a connection by its ends", () => {
  expect(wordsOf({ source: "10.0.0.1", destination: "10.0.0.2", destination_qp: 0x105 } as Flow)).toBe("10.0.0.1 10.0.0.2 0x105");
});
