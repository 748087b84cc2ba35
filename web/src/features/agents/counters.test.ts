import { expect, it } from "vitest";
import type { PortCounter } from "../../api/types";
import { absenceOf, groupCounters, placeOf } from "./counters";

const counter = (name: string, more: Partial<PortCounter> = {}): PortCounter => ({
  key: `hardware/mlx5_0/1/${name}`,
  interface: "eth0",
  source: "hardware",
  device: "mlx5_0",
  port: 1,
  name,
  value: 10,
  delta: 0,
  unknown: 0,
  setting: null,
  changed_from: null,
  meaning: "explained",
  read_at: "2026-01-01T00:00:00Z",
  ...more,
});

it("puts what counted first, and of that what the NIC says of RDMA", () => {
  const found = groupCounters([
    counter("rx_bytes", { source: "interface", device: "", delta: 1_000_000 }),
    counter("np_cnp_sent", { delta: 3 }),
    counter("packet_seq_err"),
    counter("out_of_sequence", { delta: 9 }),
    counter("lifespan", { delta: 100, meaning: null }),
    counter("reset", { delta: null }),
    counter("qos/trust", { source: "setting", delta: null, setting: "dscp" }),
  ]);
  expect(found.changed.map(({ name }) => name)).toEqual(["out_of_sequence", "np_cnp_sent", "lifespan", "rx_bytes"]);
  expect(found.still.map(({ name }) => name)).toEqual(["packet_seq_err"]);
  expect(found.unknown.map(({ name }) => name)).toEqual(["reset"]);
  expect(found.settings.map(({ name }) => name)).toEqual(["qos/trust"]);
});

it("says what is absent, and why", () => {
  expect(absenceOf([], "mlx5_0/1")).toContain("read no counters");
  expect(absenceOf([counter("rx_bytes", { source: "interface", device: "" })], "no RDMA device")).toContain("no RDMA device");
  expect(absenceOf([counter("rx_bytes", { source: "interface", device: "" })], "mlx5_0/1")).toContain("could be read");
  expect(absenceOf([counter("np_cnp_sent")], "mlx5_0/1")).toBeUndefined();
});

it("names the port of a counter", () => {
  expect(placeOf(counter("a"))).toBe("mlx5_0/1");
  expect(placeOf(counter("a", { port: 0 }))).toBe("mlx5_0");
  expect(placeOf(counter("a", { device: "", source: "driver" }))).toBe("driver");
});
