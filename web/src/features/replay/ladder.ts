import type { ConnectionPacket, PacketGap, Surroundings } from "../../api/types";
import { formatDuration } from "../../lib/format";
import { parseTime } from "../../lib/time";
import { ARROWS } from "./arrows";

/** Least and most height between two packets. */
const STEP_MIN = 24;
const STEP_MAX = 66;
const TOP = 34;
const BOTTOM = 30;
/** Height that what was left out takes. */
const LEFT_OUT = 46;
/** How far an arrow falls on its way from end to end. */
const FALL = 12;

export interface Rung {
  packet: ConnectionPacket;
  /** Height at which the capture saw it. */
  y: number;
  /** Heights at the first and the second end; the arrow runs down from its sender. */
  ends: [number, number];
  /** ns since the first one that is shown; undefined without times. */
  since: bigint | undefined;
}

/** A stretch between two rungs that does not follow the scale. */
export interface Break {
  y: number;
  text: string;
}

export interface Ladder {
  rungs: Rung[];
  breaks: Break[];
  height: number;
}

function medianOf(values: readonly bigint[]): bigint {
  const sorted = values.toSorted((a, b) => (a < b ? -1 : 1));
  return sorted[Math.floor(sorted.length / 2)] ?? 0n;
}

/**
 * Heights of packets, time down. The scale is such that the middle one of the gaps has the least height; a gap that would
 * be too high is cut and labelled with its time, and so is what was left out. vantage is where the packets were captured
 * between the first end, 0, and the second, 1.
 */
export function layOut({ packets, gaps }: Surroundings, vantage: number): Ladder {
  const times = packets.map(({ packet }) => (packet.time ? parseTime(packet.time) : undefined));
  const first = times.find((time) => time !== undefined);
  const waits = packets.map((_, index) => {
    const [before, now] = [times[index - 1], times[index]];
    return before === undefined || now === undefined ? undefined : now > before ? now - before : 0n;
  });
  const leftOut = new Map<number, PacketGap>(gaps.map((gap) => [gap.after, gap]));
  const unit = medianOf(waits.filter((wait) => wait !== undefined && wait > 0n) as bigint[]);
  const ladder: Ladder = { rungs: [], breaks: [], height: 0 };
  let y = TOP;
  for (const [index, packet] of packets.entries()) {
    const wait = waits[index];
    const before = packets[index - 1];
    const gap = before && leftOut.get(before.packet.number);
    if (gap) {
      const later = wait === undefined ? "" : `, ${formatDuration(wait)}`;
      ladder.breaks.push({ y: y + LEFT_OUT / 2, text: `${gap.packets.toLocaleString("en")} packets of the connection not shown${later}` });
      y += LEFT_OUT;
    } else if (before) {
      const height = unit > 0n && wait !== undefined ? (STEP_MIN * Number(wait)) / Number(unit) : STEP_MIN;
      if (height > STEP_MAX && wait !== undefined) ladder.breaks.push({ y: y + STEP_MAX / 2, text: formatDuration(wait) });
      y += Math.min(STEP_MAX, Math.max(STEP_MIN, height));
    }
    const at = packet.end === 1 ? 1 - vantage : vantage; // from the sender
    const [sent, arrived] = [y - FALL * at, y + FALL * (1 - at)];
    const time = times[index];
    ladder.rungs.push({
      packet,
      y,
      ends: packet.end === 1 ? [arrived, sent] : [sent, arrived],
      since: time === undefined || first === undefined ? undefined : time - first,
    });
  }
  ladder.height = y + BOTTOM;
  return ladder;
}

/** What stands on an arrow. */
export function labelOf({ packet, kind, acknowledges }: ConnectionPacket, short: boolean): string {
  const meta = packet.metaroce;
  const name = meta?.type ?? packet.opcode ?? packet.info;
  const path = meta?.path_id === undefined ? "" : ` path ${meta.path_id}`;
  if (kind === "sack" && meta?.sack) return `${name}${path} ${acknowledges ?? ""}${short ? "" : ` SACK ${meta.sack}`}`;
  if (acknowledges !== undefined) return `${kind === "nak" ? "NAK" : kind === "rnr" ? "RNR NAK" : name}${path} ${acknowledges}`;
  if (packet.psn === undefined || kind === "cnp") return name;
  return short ? `${name} ${packet.psn}` : `${name}${path} PSN ${packet.psn}`;
}

/** Name of an arrow for who cannot see it: what stands beside and on it, in the same words, and what its looks say. */
export function nameOf({ packet: of, since }: Rung, short: boolean): string {
  const { packet, kind, proof } = of;
  const parts = [`Packet ${packet.number}`];
  if (since !== undefined && !short) parts.push(`+${formatDuration(since)}`);
  const label = labelOf(of, short);
  parts.push(label);
  if (kind !== "other" && !label.startsWith(ARROWS[kind].label)) parts.push(ARROWS[kind].label);
  parts.push(`${packet.source} to ${packet.destination}`);
  if (packet.flags.includes("retransmitted")) parts.push("sent again");
  if (packet.flags.includes("ce")) parts.push("marked CE");
  if (proof !== null) parts.push(`proof ${proof}`);
  return parts.join(", ");
}
