import { expect, it } from "vitest";
import type { AgentLedger } from "../../api/types";
import { missingOf } from "./missing";

const ledger = (more: Partial<AgentLedger>): AgentLedger => ({
  intervals: 10,
  down: 0,
  from: "2026-01-01T00:00:00Z",
  to: "2026-01-01T00:00:10Z",
  missed: 0,
  interface_dropped: null,
  packets: 1000,
  drops: {},
  judged: null,
  untold: 0,
  ...more,
});

it("says nothing of what is complete", () => {
  expect(missingOf(ledger({ drops: { "decode: not RDMA": 900, "source: ring full": 0 }, interface_dropped: 0 }))).toEqual([]);
});

it("names each loss by its reason", () => {
  const said = missingOf(ledger({ drops: { "source: ring full": 2, "spool: full": 40 }, interface_dropped: 1, down: 3 }));
  expect(said[0]).toBe("Missing are 40 packets by spool: full, 2 packets by source: ring full, of 1,000: gaps and losses may be the capture's.");
  expect(said).toHaveLength(3);
});

it("does not call silence nothing", () => {
  expect(missingOf(ledger({ intervals: 0 }))[0]).toContain("unknown");
});
