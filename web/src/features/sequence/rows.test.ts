import { describe, expect, it } from "vitest";
import type { Sequence } from "../../api/types";
import { CE, firstAt, GAP, LATE, layerOf, RETRANSMITTED, tally, toRows, wirePSN } from "./rows";

function answer(part: Partial<Sequence> = {}): Sequence {
  return {
    start_ns: "1764547200000000001",
    span_ns: 4000,
    packets: 4,
    bin_ns: 0,
    tracks: [{ path_id: null, psn_bits: 24, first_psn: 0xfffffe }],
    at_ns: [0, 1000, 1000, 4000],
    psn_min: [0xfffffe, 0x1000001, 0x1000000, null],
    psn_max: [0xfffffe, 0x1000001, 0x1000000, null],
    number: [1, 3, 4, 9],
    kind: ["data", "data", "nak", "cnp"],
    track: [0, 0, 0, 0],
    marks: [0, GAP, 0, 0],
    count: [1, 1, 1, 1],
    sack_row: [],
    sack_first: [],
    sack_last: [],
    ...part,
  } as Sequence;
}

const paths = { tracks: [{ path_id: 0, psn_bits: 32, first_psn: 100 }, { path_id: 3, psn_bits: 32, first_psn: 0xffffffff }], track: [0, 1, 1, 0] } as Partial<Sequence>;

describe("rows of a sequence", () => {
  it("keep the start to the nanosecond, and have no PSN where there is none", () => {
    const rows = toRows(answer());
    expect(rows.start).toBe(1_764_547_200_000_000_001n);
    expect([...rows.low]).toEqual([0xfffffe, 0x1000001, 0x1000000, Number.NaN]);
  });
  it("tell the PSN on the wire behind a turn of the counter", () => {
    const rows = toRows(answer());
    expect([0xfffffe, 0x1000001, 0x1000000].map((psn) => wirePSN(rows, 0, psn))).toEqual([0xfffffe, 1, 0]);
    expect(wirePSN(rows, 0, -1)).toBe(0xffffff);
  });
  it("count each path from its first, SACK runs too", () => {
    const rows = toRows(answer({ ...paths, psn_min: [100, 0xffffffff, 0x100000004, 103], psn_max: [100, 0xffffffff, 0x100000004, 103], kind: ["data", "data", "sack", "data"], sack_row: [2], sack_first: [0x100000006], sack_last: [0x100000008] }));
    expect([...rows.low]).toEqual([0, 0, 5, 3]);
    expect([rows.sackFirst, rows.sackLast]).toEqual([[7], [9]]);
    expect(wirePSN(rows, 1, 5)).toBe(4);
    expect(wirePSN(rows, 1, 0)).toBe(0xffffffff);
  });
  it("are found by their time", () => {
    const rows = toRows(answer());
    expect([-5, 0, 1, 1000, 1001, 4000, 4001].map((at) => firstAt(rows, at))).toEqual([0, 0, 1, 1, 3, 3, 4]);
  });
});

describe("layers", () => {
  it("are what matters most of a row", () => {
    expect(layerOf("data", 0)).toBe("data");
    expect(layerOf("response", CE)).toBe("ce");
    expect(layerOf("data", CE | RETRANSMITTED)).toBe("retransmitted");
    expect(layerOf("data", LATE | CE)).toBe("late");
    expect(layerOf("rnr", RETRANSMITTED)).toBe("nak");
    expect(layerOf("cnp", CE)).toBe("cnp");
  });
  it("are counted in packets, not in rows", () => {
    const counts = tally(toRows(answer({ bin_ns: 500, count: [7, 2, 1, 3] })));
    expect(Object.fromEntries(counts)).toEqual({ data: 7, late: 2, nak: 1, cnp: 3 });
  });
});
