import type { AgentEvent } from "../../api/types";
import { countOf } from "../../lib/format";

export interface Fate {
  tone: "good" | "muted" | "warn" | "bad";
  text: string;
}

/** What has become of an event, in words. */
export function fateOf({ fate, why, packets, capture_id }: AgentEvent): Fate {
  const because = why ? `: ${why}` : "";
  switch (fate) {
    case "recording":
      return { tone: "muted", text: "is being recorded" };
    case "not recorded":
      return { tone: "muted", text: `not recorded${because}` };
    case "recorded":
      return { tone: "good", text: `${countOf(packets, "packet")} recorded, on the agent's disk` };
    case "uploaded":
      return { tone: "good", text: `${countOf(packets, "packet")} recorded${capture_id ? " and uploaded" : ""}` };
    case "lost":
      return { tone: "bad", text: `the record is lost${because}` };
  }
}
