import { describe, expect, it } from "vitest";
import { formatAgo, formatClock, formatDateTime, formatSeconds, parseTime, toRFC3339 } from "./time";

describe("RFC 3339 with nanoseconds", () => {
  it("reads what it writes, to the nanosecond", () => {
    const text = "2026-12-02T06:52:58.123456789Z";
    const ns = parseTime(text);
    expect(ns).toBe(1796194378123456789n);
    expect(toRFC3339(ns ?? 0n)).toBe(text);
  });
  it("fills a short fraction on the right and applies offsets", () => {
    expect(parseTime("1970-01-01T00:00:00.5Z")).toBe(500_000_000n);
    expect(parseTime("1970-01-01T01:00:00+01:00")).toBe(0n);
    expect(parseTime("1969-12-31T23:00:00-01:00")).toBe(0n);
  });
  it("handles times before the epoch", () => {
    expect(toRFC3339(-1n)).toBe("1969-12-31T23:59:59.999999999Z");
  });
  it.each(["", "yesterday", "2026-12-02", "2026-12-02T06:52:58", "2026-12-02T06:52:58.1234567890Z"])(
    "refuses %j",
    (text) => {
      expect(parseTime(text)).toBeUndefined();
    },
  );
});

it("formats for people", () => {
  expect(formatDateTime("2026-12-02T06:52:58.9Z")).toBe("2026-12-02 06:52:58");
  expect(formatClock(1796194378123456789n)).toBe("06:52:58.123456789");
  expect(formatSeconds(12_500n)).toBe("0.000012500");
  expect(formatSeconds(-1n)).toBe("-0.000000001");
});

it("tells how long ago", () => {
  const now = Date.UTC(2026, 11, 2, 12, 0, 0);
  expect(formatAgo("2026-12-02T11:59:40Z", now)).toBe("just now");
  expect(formatAgo("2026-12-02T11:55:00Z", now)).toBe("5 min ago");
  expect(formatAgo("2026-12-02T09:00:00Z", now)).toBe("3 h ago");
  expect(formatAgo("2026-11-30T09:00:00Z", now)).toBe("2026-11-30 09:00");
  expect(formatAgo("2026-12-02T12:00:05Z", now)).toBe("just now");
});
