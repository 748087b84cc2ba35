import type { PacketSummary } from "../../api/types";
import classes from "./packetFlags.module.css";

type Flag = PacketSummary["flags"][number];

interface Badge {
  text: string;
  title: string;
  tone: "bad" | "warn" | "retransmitted" | "ce" | "cnp" | "note";
}

const BADGES: Record<Exclude<Flag, "after_nak" | "after_rnr" | "after_timeout">, Badge> = {
  retransmitted: { text: "RETX", title: "Retransmitted: its PSN had already been passed", tone: "retransmitted" },
  out_of_order: { text: "OOO", title: "Out of order: came late without being resent", tone: "warn" },
  gap_before: { text: "GAP", title: "PSNs are missing before this packet", tone: "warn" },
  nak: { text: "NAK", title: "Negative acknowledgement", tone: "bad" },
  rnr: { text: "RNR", title: "Receiver not ready", tone: "bad" },
  cnp: { text: "CNP", title: "Congestion notification packet", tone: "cnp" },
  ce: { text: "CE", title: "Marked as having met congestion", tone: "ce" },
  duplicate: { text: "DUP", title: "Duplicate: the same PSN had been seen", tone: "warn" },
  mirror_copy: { text: "COPY", title: "The same packet, captured once more by a mirror", tone: "note" },
  ack_unseen: { text: "ACK?", title: "Acknowledges what this capture never saw", tone: "note" },
};

const CAUSES: Partial<Record<Flag, [string, string]>> = {
  after_nak: ["NAK", "after a NAK"],
  after_rnr: ["RNR", "after a receiver-not-ready NAK"],
  after_timeout: ["timeout", "after a timeout"],
};

const VERDICTS: Partial<Record<PacketSummary["verdict"], Badge>> = {
  truncated: { text: "CUT", title: "The capture kept only the beginning, and a header is missing", tone: "note" },
  malformed: { text: "MALFORMED", title: "Contradicts the format it claims to be", tone: "bad" },
  unsupported: { text: "UNSUPPORTED", title: "Of a kind that is recognised but not decoded", tone: "note" },
};

export function badgesOf(packet: PacketSummary): Badge[] {
  const badges: Badge[] = [];
  const cause = packet.flags.map((flag) => CAUSES[flag]).find((entry) => entry !== undefined);
  for (const flag of packet.flags) {
    if (flag === "after_nak" || flag === "after_rnr" || flag === "after_timeout") continue;
    const badge = BADGES[flag];
    if (flag === "retransmitted" && cause) {
      badges.push({ ...badge, text: `${badge.text} ${cause[0]}`, title: `${badge.title}, ${cause[1]}` });
    } else {
      badges.push(badge);
    }
  }
  if (packet.icrc === "bad") badges.push({ text: "ICRC", title: "The invariant CRC does not match the bytes", tone: "bad" });
  const verdict = VERDICTS[packet.verdict];
  if (verdict) badges.push(verdict);
  return badges;
}

export function PacketFlags({ packet }: { packet: PacketSummary }) {
  return badgesOf(packet).map((badge) => (
    <span key={badge.text} className={classes.badge} data-tone={badge.tone} title={badge.title}>
      {badge.text}
    </span>
  ));
}
