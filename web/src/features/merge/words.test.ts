import { describe, expect, it } from "vitest";
import type { ClockPiece, Merge } from "../../api/types";
import { clockText, lostText, orderText, progressText, upstreamOf } from "./words";

const piece = (part: Partial<ClockPiece>): ClockPiece => ({
  time: "2026-12-02T00:00:00Z",
  offset_ns: "38234579",
  offset_doubt_ns: "5080",
  drift_ppm: 22.9,
  drift_doubt_ppm: 322.94,
  packets: 430,
  contradicting_packets: 0,
  ...part,
});

describe("clocks", () => {
  it("are told with their doubt", () => {
    expect(clockText(piece({}))).toEqual({ offset: "B's clock is 38.2 ms ahead of A's, ± 5.08 µs", drift: "gains 22.9 ± 322.9 ppm" });
    expect(clockText(piece({ offset_ns: "-1500", drift_ppm: -3 }))).toEqual({ offset: "B's clock is 1.50 µs behind A's, ± 5.08 µs", drift: "loses 3.0 ± 322.9 ppm" });
  });
  it("are bounds when all packets went one way", () => {
    expect(clockText(piece({ offset_doubt_ns: null, drift_ppm: null, drift_doubt_ppm: null }))).toEqual({
      offset: "B's clock is about 38.2 ms ahead of A's: a bound only, since all packets went one way",
      drift: undefined,
    });
  });
});

it("tells losses as bounds, and what is unknown not at all", () => {
  expect([lostText(2, 2), lostText(0, 1), lostText(1000, 2000), lostText(null, null)]).toEqual(["2", "0 to 1", "1,000 to 2,000", undefined]);
});

it("names the order of the points", () => {
  expect([orderText("first, then second"), orderText("second, then first"), orderText("the same point"), orderText("unknown")]).toEqual(["A, then B", "B, then A", "the same point", "unknown"]);
  expect([upstreamOf("second, then first"), upstreamOf("the same point"), upstreamOf("unknown")]).toEqual([1, undefined, undefined]);
});

it("tells how far a merge is", () => {
  const merge = { status: "running", progress: { phase: "pairing", packets: 500, packets_total: 1000, packets_per_second: 10, seconds_left: 50 } } as Merge;
  expect(progressText(merge)).toEqual({ phase: "Pairing packets", share: 0.5 });
  expect(progressText({ ...merge, status: "queued" })).toEqual({ phase: "Waiting for its turn", share: 0 });
});
