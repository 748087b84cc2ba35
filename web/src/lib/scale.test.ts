import { expect, it } from "vitest";
import { placeOnLog } from "./scale";

it("puts decades at equal distances and stays between the ends", () => {
  expect(placeOnLog(10, 1, 100)).toBeCloseTo(0.5);
  expect(placeOnLog(100, 1, 100)).toBe(1);
  expect(placeOnLog(1, 1, 100)).toBe(0);
  expect(placeOnLog(1000, 1, 100)).toBe(1);
  expect(placeOnLog(0, 0, 100)).toBe(0);
  expect(placeOnLog(5, 5, 5)).toBe(0.5);
});
