import { describe, expect, it } from "vitest";
import type { DiffTally } from "../../api/types";
import { changeText, formatFigure, judge, judgeRule, sameSides, swapped } from "./change";

describe("a figure", () => {
  it("is better or worse by what it is", () => {
    expect(judge({ a: 1, b: 2, better: "higher" })).toBe("better");
    expect(judge({ a: 2, b: 1, better: "higher" })).toBe("worse");
    expect(judge({ a: 1, b: 2, better: "lower" })).toBe("worse");
    expect(judge({ a: 2, b: 1, better: "lower" })).toBe("better");
    expect(judge({ a: 2, b: 1, better: "neither" })).toBe("apart");
    expect(judge({ a: 0, b: 0, better: "lower" })).toBe("same");
  });
  it("that a side cannot tell is unknown, and never 0", () => {
    expect(judge({ a: null, b: 0, better: "lower" })).toBe("unknown");
    expect(changeText({ change: null, change_share: null, unit: "ns" })).toBeUndefined();
  });
  it("has its unit, and its change a sign", () => {
    expect([formatFigure(1500, "ns"), formatFigure(2.5e9, "bit/s"), formatFigure(0.0123, "share"), formatFigure(1234, "count"), formatFigure(950, "1/s")]).toEqual(["1.50 µs", "2.50 Gbit/s", "1.23 %", "1,234", "950/s"]);
    expect(changeText({ change: 500, change_share: 0.5, unit: "ns" })).toBe("+500 ns (+50 %)");
    expect(changeText({ change: -3, change_share: -0.25, unit: "count" })).toBe("−3 (−25 %)");
    expect(changeText({ change: 7, change_share: null, unit: "count" })).toBe("+7");
    expect(changeText({ change: -0.01, change_share: -0.5, unit: "share" })).toBe("−1 points");
    expect(changeText({ change: 0, change_share: 0, unit: "bytes" })).toBe("0");
  });
});

it("judges rules by their divergences", () => {
  const tally = (diverges: number, undetermined: number): DiffTally => ({ diverges, undetermined, conforms: 5, connections: 1, diverging_connections: diverges > 0 ? 1 : 0 });
  expect(judgeRule({ a: tally(3, 0), b: tally(1, 9) })).toBe("better");
  expect(judgeRule({ a: tally(0, 0), b: tally(1, 0) })).toBe("worse");
  expect(judgeRule({ a: tally(1, 0), b: tally(1, 2) })).toBe("apart");
  expect(judgeRule({ a: tally(1, 2), b: tally(1, 2) })).toBe("same");
  expect(judgeRule({ a: null, b: tally(1, 2) })).toBe("unknown");
});

it("swaps sides with their connections", () => {
  expect(swapped({ a: "x", b: "y", flow_a: "1" })).toEqual({ a: "y", b: "x", flow_a: undefined, flow_b: "1" });
});

it("knows sides that are the same", () => {
  expect(sameSides({ a: "x", b: "y" })).toBeUndefined();
  expect(sameSides({ a: "x", b: "x", flow_a: "1", flow_b: "2" })).toBeUndefined();
  expect(sameSides({ a: "x", b: "x", flow_a: "1" })).toContain("one capture");
  expect(sameSides({ a: "x", b: "x", flow_a: "1", flow_b: "1" })).toContain("one connection");
  expect(sameSides({})).toBeUndefined();
});
