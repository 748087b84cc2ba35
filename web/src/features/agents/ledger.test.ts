import { expect, it } from "vitest";
import type { AgentAccount } from "../../api/types";
import { byInterface, ledger, lossesOf } from "./ledger";

const account = (second: number, more: Partial<AgentAccount> = {}): AgentAccount => ({
  agent_id: "a",
  host: "h",
  interface: "eth0",
  start: `2026-01-01T00:00:0${second}Z`,
  end: `2026-01-01T00:00:0${second + 1}Z`,
  tier: "kernel",
  up: true,
  missed: 0,
  interface_packets: null,
  interface_dropped: null,
  source_in: 0,
  source_out: 0,
  source_held: 0,
  decode_out: 0,
  track_out: 0,
  spool_out: 0,
  drops: {},
  bytes: 0,
  rdma_bytes: 0,
  flow_rows: 0,
  path_rows: 0,
  spooled_rows: 0,
  ...more,
});

it("adds up what came in, went on, is held and was dropped at each stage", () => {
  const before = account(0, { source_held: 4 });
  const first = account(1, { source_in: 100, source_held: 6, source_out: 95, decode_out: 90, track_out: 88, spool_out: 80 });
  first.drops = { "source: ring full": 3, "decode: not RDMA": 5, "track: table full": 2, "spool: full": 5, "spool: disk": 3 };
  const second = account(2, { source_in: 10, source_held: 0, source_out: 16, decode_out: 16, track_out: 16, spool_out: 16 });
  const stages = ledger([second, first, before]);
  expect(stages.map(({ name, in: into, out, held, rest }) => [name, into, out, held, rest])).toEqual([
    ["source", 110, 111, -4, 0],
    ["decode", 111, 106, 0, 0],
    ["track", 106, 104, 0, 0],
    ["spool", 104, 96, 0, 0],
  ]);
  expect(stages[3]?.drops).toEqual([
    ["full", 5],
    ["disk", 3],
  ]);
});

it("says by how much sums do not agree", () => {
  const [source, decode] = ledger([account(1, { source_in: 10, source_out: 8, decode_out: 8 })]);
  expect([source?.rest, decode?.rest]).toEqual([2, 0]);
});

it("keeps each interval of each interface once, the newest of them", () => {
  const found = byInterface([account(1), account(3), account(1), account(2), account(2, { interface: "eth1" })], 2);
  expect(found.get("eth0")?.map(({ start }) => start.slice(-2))).toEqual(["3Z", "2Z"]);
  expect(found.get("eth1")).toHaveLength(1);
});

it("counts no packet as lost that carries no RDMA, or was only not judged", () => {
  expect(lossesOf({ "decode: not RDMA": 7, "replay: not judged": 3, "replay: beside a loss": 4, "source: ring full": 2, "spool: full": 5, "track: no flow": 0 })).toEqual([
    ["spool: full", 5],
    ["source: ring full", 2],
  ]);
});
