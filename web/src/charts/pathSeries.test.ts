import { describe, expect, it } from "vitest";
import type { Path } from "../api/types";
import { eventsOf, toLines } from "./pathSeries";

const answer = {
  bucket_ns: "1000",
  start_ns: ["1796194378123456000", "1796194378123459000"],
  packets: [3, 0],
  bytes: [3000, 0],
  retransmitted: [1, 0],
  ce: [0, 0],
  acks: [0, 2],
  rate_hint_mbps: [null, 400],
  in_flight: [null, 7],
  rtt_min_ns: [null, 900],
  rtt_mean_ns: [null, 1000],
  rtt_max_ns: [null, 1200],
};

describe("lines of a path", () => {
  it("keeps what is unknown unknown, and rates in bits a second", () => {
    const lines = toLines(answer);
    expect(lines?.hint).toEqual([null, 400e6]);
    expect(lines?.inFlight).toEqual([null, 7]);
    expect(lines?.x.map((x) => Math.round(x * 1e9))).toEqual([0, 3000]);
  });
  it("is nothing without times", () => {
    expect(toLines({ ...answer, bucket_ns: "0", start_ns: [] })).toBeUndefined();
  });
  it("marks moves and the first PROBE in their order", () => {
    const port = (number: number, time: string | null) => ({ port: number, packets: 1, first_number: 1, first_time: time });
    const path = {
      first_probe_time: "1970-01-01T00:00:03Z",
      source_ports: [port(1, "1970-01-01T00:00:01Z"), port(2, "1970-01-01T00:00:02Z"), port(3, null)],
    } as Path;
    expect(eventsOf(path, 1_000_000_000n)).toEqual([
      { x: 1, label: "to port 2" },
      { x: 2, label: "PROBE" },
    ]);
  });
});
