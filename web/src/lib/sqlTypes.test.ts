import { expect, it } from "vitest";
import { bareType, cellText, columnWidth, kindOf } from "./sqlTypes";

it.each([
  ["UInt64", "number"],
  ["Nullable(UInt32)", "number"],
  ["LowCardinality(Nullable(String))", "text"],
  ["Decimal(18, 4)", "number"],
  ["Decimal64(3)", "number"],
  ["DateTime64(9, 'UTC')", "time"],
  ["Date", "time"],
  ["IPv6", "text"],
  ["Enum8('a' = 1)", "text"],
  ["Array(UInt64)", "structure"],
  ["Map(String, UInt64)", "structure"],
  ["UUID", "text"],
])("shows %s as %s", (type, kind) => {
  expect(kindOf(type)).toBe(kind);
});

it("takes wrappers off", () => {
  expect(bareType("LowCardinality(Nullable(FixedString(16)))")).toBe("FixedString(16)");
});

it("tells NULL from an empty text", () => {
  expect(cellText(null)).toBeUndefined();
  expect(cellText("")).toBe("");
  expect(cellText(["a", 1])).toBe('["a",1]');
  expect(cellText(false)).toBe("false");
});

it("bounds widths", () => {
  expect(columnWidth("n", [1, 2])).toBeLessThan(70);
  expect(columnWidth("n", ["x".repeat(5_000)])).toBe(480);
});
