import { expect, it } from "vitest";
import type { AgentFlow } from "../../api/types";
import { sortFlows } from "./FlowsTable";

const flow = (id: string, retransmitted: number | null): AgentFlow => ({ id, retransmitted, source: id }) as AgentFlow;

it("sorts flows by a column and leaves what is unknown to the end", () => {
  const flows = [flow("1", 2), flow("2", null), flow("3", 7)];
  expect(sortFlows(flows, { id: "retransmitted", desc: true }).map(({ id }) => id)).toEqual(["3", "1", "2"]);
  expect(sortFlows(flows, { id: "retransmitted", desc: false }).map(({ id }) => id)).toEqual(["1", "3", "2"]);
  expect(sortFlows(flows, { id: "source", desc: false }).map(({ id }) => id)).toEqual(["1", "2", "3"]);
});
