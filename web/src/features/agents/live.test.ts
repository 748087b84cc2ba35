import { expect, it } from "vitest";
import { liveStatus } from "./live";

it("says how a stream is", () => {
  expect(liveStatus(false, undefined, 1_000, 2_000)).toEqual({ status: "connecting", silence: 0 });
  expect(liveStatus(false, undefined, 1_000, 9_000)).toEqual({ status: "stale", silence: 8 });
  expect(liveStatus(false, 8_000, 1_000, 9_000)).toEqual({ status: "live", silence: 0 });
  expect(liveStatus(false, 1_000, 0, 9_900)).toEqual({ status: "stale", silence: 8 });
  expect(liveStatus(true, 1_000, 0, 9_900)).toEqual({ status: "paused", silence: 0 });
});
