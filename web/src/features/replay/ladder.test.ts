import { describe, expect, it } from "vitest";
import type { ConnectionPacket } from "../../api/types";
import { labelOf, layOut, nameOf } from "./ladder";

function packet(number: number, ns: number | undefined, part: Partial<ConnectionPacket> = {}): ConnectionPacket {
  const time = ns === undefined ? {} : { time: `2026-12-02T00:00:00.${String(ns).padStart(9, "0")}Z` };
  return {
    kind: "data",
    end: 0,
    proof: null,
    packet: { number, captured_length: 1, original_length: 1, protocol: "", source: "", destination: "", info: "x", verdict: "ok", flags: [], psn: number, opcode: "RC SEND Only", ...time },
    ...part,
  };
}

describe("layout of a ladder", () => {
  it("runs time down, cuts long gaps and says how long they were", () => {
    const packets = [packet(1, 0), packet(2, 1000), packet(3, 2000), packet(4, 900_002_000)];
    const { rungs, breaks, height } = layOut({ packets, gaps: [] }, 0.5);
    expect(rungs.map(({ y }) => y - (rungs[0]?.y ?? 0))).toEqual([0, 24, 48, 114]);
    expect(breaks.map(({ text }) => text)).toEqual(["900 ms"]);
    expect(height).toBeGreaterThan(rungs[3]?.y ?? 0);
  });
  it("says what was left out", () => {
    const { breaks } = layOut({ packets: [packet(1, 0), packet(99, 5000)], gaps: [{ after: 1, packets: 1234 }] }, 0.5);
    expect(breaks.map(({ text }) => text)).toEqual(["1,234 packets of the connection not shown, 5.00 µs"]);
  });
  it("lets arrows fall from their sender, through the vantage at their time", () => {
    const { rungs } = layOut({ packets: [packet(1, 0), packet(2, 1000, { end: 1 })], gaps: [] }, 0);
    expect(rungs[0]?.ends[0]).toBe(rungs[0]?.y);
    expect(rungs[0]?.ends[1]).toBeGreaterThan(rungs[0]?.y ?? 0);
    expect(rungs[1]?.ends[0]).toBe(rungs[1]?.y);
    expect(rungs[1]?.ends[1]).toBeLessThan(rungs[1]?.y ?? 0);
  });
  it("does without times", () => {
    const { rungs, breaks } = layOut({ packets: [packet(1, undefined), packet(2, undefined)], gaps: [] }, 0.5);
    expect(rungs.map(({ since }) => since)).toEqual([undefined, undefined]);
    expect(breaks).toEqual([]);
  });
});

it("labels arrows with what they say", () => {
  expect(labelOf(packet(7, 0), false)).toBe("RC SEND Only PSN 7");
  expect(labelOf(packet(7, 0, { kind: "nak", acknowledges: 9 }), false)).toBe("NAK 9");
});

it("names an arrow by what stands on it, and what only its looks say", () => {
  const resent = packet(7, 1500, { proof: 2 });
  resent.packet = { ...resent.packet, source: "10.0.0.1", destination: "10.0.0.2", flags: ["retransmitted", "ce"] };
  const [, rung] = layOut({ packets: [packet(6, 0), resent], gaps: [] }, 0.5).rungs;
  if (!rung) throw new Error("no rung");
  expect(nameOf(rung, false)).toBe("Packet 7, +1.50 µs, RC SEND Only PSN 7, request, 10.0.0.1 to 10.0.0.2, sent again, marked CE, proof 2");
  // A narrow drawing leaves out the time, and so does the name.
  expect(nameOf(rung, true)).toBe("Packet 7, RC SEND Only 7, request, 10.0.0.1 to 10.0.0.2, sent again, marked CE, proof 2");
  for (const short of [false, true]) expect(nameOf(rung, short)).toContain(labelOf(rung.packet, short));
});

it("says the kind once", () => {
  const [nak] = layOut({ packets: [packet(8, undefined, { kind: "nak", acknowledges: 9 })], gaps: [] }, 0.5).rungs;
  if (!nak) throw new Error("no rung");
  expect(nameOf(nak, false)).toBe("Packet 8, NAK 9,  to ");
});
