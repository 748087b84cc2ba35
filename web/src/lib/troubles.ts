import type { Totals } from "../api/types";
import { formatCount } from "./format";
import type { Finding } from "./viewState";

export interface Trouble {
  key: keyof Totals;
  /** Filter of the packet list that shows them. */
  only: Finding;
  label: string;
  /** Lower case, for sentences: "3 retransmitted". */
  short: string;
  explain: string;
  severity: "bad" | "warn" | "note";
}

/** What a capture is looked at for, worst first. The definitions are those of the service's totals. */
export const TROUBLES: readonly Trouble[] = [
  {
    key: "retransmitted_packets",
    only: "retransmitted",
    label: "Retransmitted",
    short: "retransmitted",
    explain: "Packets whose PSN had already been passed: the original was seen, or is known to be lost.",
    severity: "bad",
  },
  {
    key: "missing_psns",
    only: "gap",
    label: "Missing PSNs",
    short: "missing",
    explain: "PSNs that never came by: lost before this point, or missed by the capture.",
    severity: "warn",
  },
  {
    key: "out_of_order_packets",
    only: "out_of_order",
    label: "Out of order",
    short: "out of order",
    explain: "Packets that came late without being resent.",
    severity: "warn",
  },
  {
    key: "nak_packets",
    only: "nak",
    label: "NAK",
    short: "NAK",
    explain: "Negative acknowledgements other than receiver-not-ready.",
    severity: "bad",
  },
  {
    key: "rnr_nak_packets",
    only: "rnr",
    label: "RNR NAK",
    short: "RNR",
    explain: "Receiver not ready: the responder had no receive buffer posted.",
    severity: "bad",
  },
  {
    key: "cnp_packets",
    only: "cnp",
    label: "CNP",
    short: "CNP",
    explain: "Congestion notification packets: a receiver asked its sender to slow down.",
    severity: "warn",
  },
  {
    key: "ce_packets",
    only: "ce",
    label: "CE marks",
    short: "CE",
    explain: "Packets that a switch marked as having met congestion (ECN).",
    severity: "warn",
  },
  {
    key: "icrc_errors",
    only: "icrc_bad",
    label: "ICRC errors",
    short: "ICRC errors",
    explain: "Packets whose invariant CRC does not match their bytes.",
    severity: "bad",
  },
  {
    key: "malformed_packets",
    only: "malformed",
    label: "Malformed",
    short: "malformed",
    explain: "Packets that contradict the format they claim to be.",
    severity: "bad",
  },
];

/** What of a trouble is explained already and accuses nobody; absent where nothing is. */
export function excuseOf(totals: Totals, { key }: Trouble): { short: string; explain: string } | undefined {
  if (key === "missing_psns" && totals.missing_psns_acknowledged > 0) {
    const count = formatCount(totals.missing_psns_acknowledged);
    return { short: `${count} acked`, explain: `${count} of them were acknowledged all the same, so the capture missed them, not the receiver.` };
  }
  if (key === "icrc_errors" && totals.icrc_errors_port_rewritten > 0) {
    const count = formatCount(totals.icrc_errors_port_rewritten);
    return { short: `${count} port`, explain: `${count} of them are right with another UDP source port: a device rewrote the port, and nothing is corrupt.` };
  }
  return undefined;
}

/** Other packets that were not taken into account, and why. */
export const ASIDES: readonly Trouble[] = [
  {
    key: "pause_frames",
    only: "pause",
    label: "Pause frames",
    short: "pause frames",
    explain: "802.3x pause and priority flow control frames: a neighbour asked for the link, or a priority of it, to stop or to go on.",
    severity: "warn",
  },
  {
    key: "truncated_packets",
    only: "truncated",
    label: "Cut short",
    short: "cut short",
    explain: "Packets of which the capture kept only the beginning, so that a header is missing.",
    severity: "note",
  },
  {
    key: "unsupported_packets",
    only: "unsupported",
    label: "Unsupported",
    short: "unsupported",
    explain: "Packets of a kind that is recognised but not decoded.",
    severity: "note",
  },
  {
    key: "not_rdma_packets",
    only: "not_rdma",
    label: "Not RDMA",
    short: "not RDMA",
    explain: "Packets of other protocols.",
    severity: "note",
  },
];

export const FINDING_LABELS: Record<Finding, string> = Object.fromEntries(
  [...TROUBLES, ...ASIDES].map((trouble) => [trouble.only, trouble.label]),
) as Record<Finding, string>;

/** Troubles that are there, worst first. */
export function troublesOf(totals: Totals): { trouble: Trouble; count: number }[] {
  return [...TROUBLES, ...ASIDES.filter(({ severity }) => severity !== "note")].map((trouble) => ({ trouble, count: totals[trouble.key] })).filter(({ count }) => count > 0);
}
