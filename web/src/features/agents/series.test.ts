import { expect, it } from "vitest";
import type { AgentSeries } from "../../api/types";
import { counterLinesOf, rateOf, timesOf, troublesOf } from "./series";

const none = [null, null, null];
const series: AgentSeries = {
  bucket_ns: "2000000000",
  start_ns: ["1767225600000000000", "1767225602000000000", "1767225604000000000"],
  packets: [1, null, 3],
  bytes: [1000, null, 2000],
  retransmitted: [0, null, 2],
  out_of_order: [0, null, 0],
  missing_psns: none,
  naks: [0, null, -1],
  rnr_naks: [0, null, 0],
  cnps: [0, null, 0],
  ce_marked: [0, null, 0],
  missed: [0, null, 0],
  counters: [{ key: "setting/mlx5_0/1/ecn/roce_np", delta: [1, null, 4] }],
  ledger: { intervals: 2, down: 0, from: null, to: null, missed: 0, interface_dropped: null, packets: 4, drops: {}, judged: null, untold: 0 },
};

it("keeps what is unknown apart from nothing", () => {
  expect(timesOf(series)).toEqual({ x: [1767225600, 1767225602, 1767225604], step: 2 });
  expect(rateOf(series)).toMatchObject({ values: [4000, null, 8000], total: 3000 });
  const [lines, absent] = troublesOf(series);
  expect(lines.map(({ label, total }) => [label, total])).toEqual([
    ["Resent", 2],
    ["NAK", -1],
  ]);
  expect(absent).not.toContain("Missing PSNs");
  expect(absent).toContain("CNP");
});

it("names counters as the NIC does", () => {
  expect(counterLinesOf(series)).toMatchObject([{ label: "ecn/roce_np", total: 5 }]);
});
