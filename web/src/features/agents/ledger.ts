import type { AgentAccount } from "../../api/types";

/** A stage of the ledger: what came in went on, is held, or was dropped for a reason. */
export interface Stage {
  name: string;
  /** What the stage does, in a few words. */
  what: string;
  in: number;
  out: number;
  /** Packets that it holds more than at the begin; only the ring does. */
  held: number;
  drops: [reason: string, packets: number][];
  /** in less out, held and drops: 0 when the sums agree. */
  rest: number;
}

const STAGES = [
  { name: "source", what: "Ring of the capture", in: "source_in", out: "source_out" },
  { name: "decode", what: "Packets of RDMA", in: "source_out", out: "decode_out" },
  { name: "track", what: "Counted by rows", in: "decode_out", out: "track_out" },
  { name: "spool", what: "Rows on disk", in: "track_out", out: "spool_out" },
] as const;

/**
 * The ledger of one interface over accounts that follow each other, the newest first. What the ring held before the first of them
 * is told by the account before it: with more than one, the oldest serves for that alone.
 */
export function ledger(accounts: readonly AgentAccount[]): Stage[] {
  const counted = accounts.length > 1 ? accounts.slice(0, -1) : accounts;
  const heldBefore = accounts.length > 1 ? (accounts.at(-1)?.source_held ?? 0) : 0;
  return STAGES.map(({ name, what, ...columns }) => {
    const sum = (column: (typeof columns)["in" | "out"]): number => counted.reduce((total, account) => total + account[column], 0);
    const reasons = new Map<string, number>();
    for (const { drops } of counted) {
      for (const [key, packets] of Object.entries(drops)) {
        const [stage, reason = ""] = key.split(": ", 2);
        if (stage === name && packets > 0) reasons.set(reason, (reasons.get(reason) ?? 0) + packets);
      }
    }
    const drops = [...reasons].toSorted(([a, m], [b, n]) => n - m || a.localeCompare(b));
    const held = name === "source" ? (counted[0]?.source_held ?? 0) - heldBefore : 0;
    const [into, out] = [sum(columns.in), sum(columns.out)];
    const rest = into - out - held - drops.reduce((total, [, packets]) => total + packets, 0);
    return { name, what, in: into, out, held, drops, rest };
  });
}

/** Accounts by interface, the newest first, each once; at most so many of each. */
export function byInterface(accounts: readonly AgentAccount[], most: number): Map<string, AgentAccount[]> {
  const sorted = accounts.toSorted((a, b) => (a.end < b.end ? 1 : a.end > b.end ? -1 : a.interface.localeCompare(b.interface)));
  const found = new Map<string, AgentAccount[]>();
  for (const account of sorted) {
    const list = found.get(account.interface);
    if (!list) found.set(account.interface, [account]);
    else if (list.length < most && list.at(-1)?.end !== account.end) list.push(account);
  }
  return found;
}

/** Whether a drop lost something: what is no RDMA, and what replay did not judge, are not lost. */
export function isLoss(reason: string): boolean {
  return !reason.startsWith("replay: ") && !["decode: not RDMA", "decode: pause frame"].includes(reason);
}

/** Packets lost, by reason, the most first. */
export function lossesOf(drops: Readonly<Record<string, number>>): [string, number][] {
  return Object.entries(drops)
    .filter(([reason, packets]) => packets > 0 && isLoss(reason))
    .toSorted(([, a], [, b]) => b - a);
}
