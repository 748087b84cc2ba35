import { expect, it } from "vitest";
import type { AgentEvent } from "../../api/types";
import { fateOf } from "./fate";

const event = (more: Partial<AgentEvent>): AgentEvent => ({ fate: "recording", why: null, packets: 0, capture_id: null, ...more }) as AgentEvent;

it("says what became of an event, and why", () => {
  expect(fateOf(event({})).text).toBe("is being recorded");
  expect(fateOf(event({ fate: "not recorded", why: "another record began 3 s before" })).text).toBe("not recorded: another record began 3 s before");
  expect(fateOf(event({ fate: "recorded", packets: 1 })).text).toBe("1 packet recorded, on the agent's disk");
  expect(fateOf(event({ fate: "uploaded", packets: 1200, capture_id: "x" }))).toEqual({ tone: "good", text: "1,200 packets recorded and uploaded" });
  expect(fateOf(event({ fate: "lost", why: "the disk is full" }))).toEqual({ tone: "bad", text: "the record is lost: the disk is full" });
});
