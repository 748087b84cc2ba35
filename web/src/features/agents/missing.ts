import type { AgentLedger } from "../../api/types";
import { countOf, formatCount } from "../../lib/format";
import { lossesOf } from "./ledger";

/** What is known to be missing from an answer, a sentence each; none when nothing is. */
export function missingOf(ledger: AgentLedger): string[] {
  if (ledger.intervals === 0) return ["No agent has reported in this time: what passed then is unknown."];
  const found: string[] = [];
  const losses = lossesOf(ledger.drops);
  if (losses.length > 0) {
    found.push(`Missing are ${losses.map(([reason, packets]) => `${formatCount(packets)} packets by ${reason}`).join(", ")}, of ${formatCount(ledger.packets)}: gaps and losses may be the capture's.`);
  }
  if (ledger.interface_dropped) found.push(`The interface itself dropped ${countOf(ledger.interface_dropped, "packet")} before anybody could capture them.`);
  if (ledger.down > 0) found.push(`At the end of ${formatCount(ledger.down)} of ${countOf(ledger.intervals, "interval")} the interface was down or gone.`);
  return found;
}
