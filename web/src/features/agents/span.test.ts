import { expect, it } from "vitest";
import { aroundMoment, endsNow, fromInput, spanOf, toInput, toMoment } from "./span";

const NOW = Date.UTC(2026, 0, 1, 12, 0, 0);

it("is about the last ten minutes unless told otherwise", () => {
  expect(spanOf({}, NOW)).toEqual({ from: "2026-01-01T11:50:00.000000000Z", to: "2026-01-01T12:00:00.000000000Z" });
  expect(spanOf({ last: "1h" }, NOW).from).toBe("2026-01-01T11:00:00.000000000Z");
  expect(spanOf({ from: "2026-01-01T02:00:00Z", to: "2026-01-01T02:10:00Z" }, NOW)).toEqual({ from: "2026-01-01T02:00:00.000000000Z", to: "2026-01-01T02:10:00.000000000Z" });
  expect(spanOf({ from: "2026-01-01T11:59:00Z" }, NOW).to).toBe("2026-01-01T12:00:00.000000000Z");
});

it("has ten minutes before an end that comes before its begin", () => {
  expect(spanOf({ from: "2026-01-01T03:00:00Z", to: "2026-01-01T02:00:00Z" }, NOW).from).toBe("2026-01-01T01:50:00.000000000Z");
});

it("moves on while it ends now", () => {
  expect(endsNow({ last: "6h" })).toBe(true);
  expect(endsNow({ to: "2026-01-01T02:10:00Z" })).toBe(false);
});

it("reads what is typed as UTC", () => {
  expect(fromInput("2026-01-01T02:00")).toBe("2026-01-01T02:00:00Z");
  expect(fromInput("2026-01-01T02:00:05")).toBe("2026-01-01T02:00:05Z");
  expect(fromInput("")).toBeUndefined();
  expect(toInput("2026-01-01T02:00:05.5Z")).toBe("2026-01-01T02:00:05");
});

it("writes times of answers as addresses keep them", () => {
  expect(toMoment("2026-01-01T02:00:00+01:00")).toBe("2026-01-01T01:00:00Z");
  expect(toMoment("2026-01-01T02:00:00.5Z")).toBe("2026-01-01T02:00:00.500000000Z");
  expect(toMoment("yesterday")).toBeUndefined();
});

it("looks to both sides of an event", () => {
  expect(aroundMoment("2026-01-01T02:00:00Z")).toEqual({ from: "2026-01-01T01:55:00.000000000Z", to: "2026-01-01T02:05:00.000000000Z" });
  expect(aroundMoment("never")).toEqual({});
});
