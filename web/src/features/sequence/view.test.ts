import { describe, expect, it } from "vitest";
import { around, panned, serves, ticks, whole, within, zoomed } from "./view";

const SPAN = 1_000_000;

describe("a window on a flow", () => {
  it("holds what is pointed at while it zooms, and comes back", () => {
    const all = { from: 200_000, to: 600_000 };
    const near = zoomed(all, 0.5, 0.25, SPAN);
    expect(near).toEqual({ from: 250_000, to: 450_000 });
    expect(near.from + (near.to - near.from) * 0.25).toBe(300_000);
    expect(zoomed(near, 2, 0.25, SPAN)).toEqual(all);
  });
  it("never leaves the flow, nor shows less than can be told apart", () => {
    expect(zoomed(whole(SPAN), 10, 0.5, SPAN)).toEqual(whole(SPAN));
    const right = panned({ from: 900_000, to: 1_000_000 }, 5, SPAN);
    expect(right.to).toBe(whole(SPAN).to);
    expect(right.to - right.from).toBe(100_000);
    expect(panned({ from: 0, to: 100_000 }, -5, SPAN).from).toBe(whole(SPAN).from);
    const least = zoomed({ from: 500, to: 520 }, 0.001, 0.5, SPAN);
    expect(least.to - least.from).toBe(20);
    expect(within({ from: 7, to: 7 }, SPAN).to).toBeGreaterThan(7);
  });
  it("has a width even of a flow of one packet", () => {
    const only = whole(0);
    expect(only.to - only.from).toBe(20);
    expect(zoomed(only, 0.5, 0.5, 0)).toEqual(only);
  });
});

describe("what is asked for", () => {
  it("is the window with its width beside it, and serves until the window nears its edge", () => {
    const view = { from: 400_000, to: 500_000 };
    const asked = around(view, SPAN);
    expect(asked).toEqual({ from: 300_000, to: 600_000 });
    expect(serves(asked, false, view, SPAN)).toBe(true);
    expect(serves(asked, false, panned(view, 0.7, SPAN), SPAN)).toBe(true);
    expect(serves(asked, false, panned(view, 0.8, SPAN), SPAN)).toBe(false);
  });
  it("serves up to the ends of the flow, where there is nothing beyond", () => {
    const view = within({ from: -50, to: 100_000 }, SPAN);
    expect(serves(around(view, SPAN), false, view, SPAN)).toBe(true);
  });
  it("is too coarse for a window far smaller, unless each row is a packet", () => {
    const view = { from: 400_000, to: 410_000 };
    expect(serves(whole(SPAN), false, view, SPAN)).toBe(false);
    expect(serves(whole(SPAN), true, view, SPAN)).toBe(true);
  });
});

describe("ticks", () => {
  it("stand at round values in the window, about as many as there is room for", () => {
    expect(ticks(-3, 41, 5)).toEqual([0, 10, 20, 30, 40]);
    expect(ticks(0, 1000, 8)).toEqual([0, 200, 400, 600, 800, 1000]);
    expect(ticks(123_456, 123_999, 4)).toEqual([123_600, 123_800]);
  });
  it("never part what cannot be parted", () => {
    expect(ticks(5, 7, 100)).toEqual([5, 6, 7]);
    expect(ticks(5, 5, 0)).toEqual([5]);
  });
});
