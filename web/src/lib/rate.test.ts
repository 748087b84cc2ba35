import { expect, it } from "vitest";
import { RateMeter } from "./rate";

it("tells nothing before there is enough to tell", () => {
  const meter = new RateMeter();
  expect(meter.rate).toBeUndefined();
  meter.add(0, 0);
  meter.add(100, 50);
  expect(meter.rate).toBeUndefined();
});

it("follows the last seconds, not the whole past", () => {
  const meter = new RateMeter();
  for (let at = 0; at <= 10_000; at += 500) meter.add(at, at < 5_000 ? at : 5_000 + (at - 5_000) * 10);
  expect(meter.rate).toBeCloseTo(10_000, 0);
});

it("begins anew when the count falls back", () => {
  const meter = new RateMeter();
  meter.add(0, 1_000);
  meter.add(1_000, 2_000);
  meter.add(1_500, 500);
  expect(meter.rate).toBeUndefined();
  meter.add(2_500, 1_500);
  expect(meter.rate).toBe(1_000);
});
