import { describe, expect, it } from "vitest";
import { axisTime, clockTick, toSeries } from "./series";

const answer = {
  bucket_ns: "1000",
  start_ns: ["1796194378123456000", "1796194378123457000", "1796194378123460000"],
  bytes: [125, 250, 500],
  packets: [1, 2, 4],
  retransmitted: [0, 1, 0],
  ce: [0, 0, 3],
  cnps: [0, 0, 0],
};

describe("series of a throughput answer", () => {
  it("keeps nanoseconds and turns bytes into bits a second", () => {
    const series = toSeries(answer);
    expect(series?.base).toBe(1796194378123456000n);
    expect(series?.x.map((x) => Math.round(x * 1e9))).toEqual([0, 1000, 2000, 3000, 4000]);
    expect(series?.bitsPerSecond[0]).toBeCloseTo(1e9);
  });
  it("shows what the answer leaves out as silence", () => {
    expect(toSeries(answer)?.packets).toEqual([1, 2, 0, 0, 4]);
    expect(toSeries(answer)?.ce).toEqual([0, 0, 0, 0, 3]);
  });
  it("does not grow without bound where silence is long", () => {
    const far = { ...answer, start_ns: ["0", "1000", "9000000000"] };
    expect(toSeries(far)?.packets).toEqual([1, 2, 0, 0, 4]);
  });
  it("is nothing without times", () => {
    expect(toSeries({ ...answer, bucket_ns: "0" })).toBeUndefined();
    expect(toSeries({ ...answer, start_ns: [], bytes: [] })).toBeUndefined();
  });
});

it("labels times with the decimals that tell ticks apart", () => {
  expect(axisTime(0.0000125, 0.0000025, 0.00002)).toBe("12.5 µs");
  expect(axisTime(0.00000025, 0.00000025, 0.000003)).toBe("0.25 µs");
  expect(axisTime(2, 0.5, 2)).toBe("2.0 s");
  expect(axisTime(120, 20, 200)).toBe("120 s");
  expect(axisTime(0, 0.001, 0.01)).toBe("0");
});

describe("clockTick", () => {
  it("shows UTC as precisely as ticks are apart, and days at midnight", () => {
    const noon = Date.UTC(2026, 0, 2, 12, 0, 30) / 1000;
    expect(clockTick(noon, 30)).toBe("12:00:30");
    expect(clockTick(noon - 30, 600)).toBe("12:00");
    expect(clockTick(Date.UTC(2026, 0, 2) / 1000, 3600)).toBe("01-02");
  });
});
