import type { PacketKind } from "../../api/types";

type Shape = "filled" | "hollow" | "chevron" | "double" | "cross" | "circle" | "diamond" | "square";

export interface ArrowStyle {
  label: string;
  color: string;
  width: number;
  dash?: string;
  head: Shape;
}

/** How kinds of packets are told apart: by line and head, not by colour alone. */
export const ARROWS: Record<PacketKind, ArrowStyle> = {
  data: { label: "request", color: "var(--rl-accent)", width: 1.6, head: "filled" },
  response: { label: "response", color: "var(--rl-accent)", width: 1.6, head: "hollow" },
  ack: { label: "ACK", color: "var(--rl-good)", width: 1.2, dash: "5 3", head: "chevron" },
  sack: { label: "ACK with SACK", color: "var(--rl-order)", width: 1.2, dash: "5 3", head: "double" },
  nak: { label: "NAK", color: "var(--rl-bad)", width: 1.8, dash: "8 3 2 3", head: "cross" },
  rnr: { label: "RNR NAK", color: "var(--rl-bad)", width: 1.6, dash: "8 3 2 3", head: "circle" },
  cnp: { label: "CNP", color: "var(--rl-cnp)", width: 1.6, dash: "1.5 3", head: "diamond" },
  control: { label: "control", color: "var(--rl-muted)", width: 1.2, head: "square" },
  other: { label: "other", color: "var(--rl-muted)", width: 1, dash: "2 2", head: "chevron" },
};

const PATHS = ["--rl-path-0", "--rl-path-1", "--rl-path-2", "--rl-path-3", "--rl-path-4", "--rl-path-5", "--rl-path-6", "--rl-path-7"];

/** Colour of a path of MetaRoCE. */
export const pathColor = (path: number): string => `var(${PATHS[path % PATHS.length]})`;

/** Head of an arrow that points right, its tip at 0, 0. */
export function Head({ shape, color }: { shape: Shape; color: string }) {
  const line = { fill: "none", stroke: color, strokeWidth: 1.8, strokeLinecap: "round" as const };
  switch (shape) {
    case "filled":
      return <path d="M0 0 L-10 -4.5 L-10 4.5 Z" fill={color} />;
    case "hollow":
      return <path d="M0 0 L-10 -4.5 L-10 4.5 Z" fill="var(--rl-surface)" stroke={color} strokeWidth={1.4} />;
    case "chevron":
      return <path d="M-7 -4.5 L0 0 L-7 4.5" {...line} />;
    case "double":
      return <path d="M-7 -4.5 L0 0 L-7 4.5 M-13 -4.5 L-6 0 L-13 4.5" {...line} />;
    case "cross":
      return <path d="M-9 -4.5 L0 4.5 M-9 4.5 L0 -4.5" {...line} strokeWidth={2.2} />;
    case "circle":
      return <circle cx={-5} r={4.5} fill="var(--rl-surface)" stroke={color} strokeWidth={1.8} />;
    case "diamond":
      return <path d="M0 0 L-6 -5 L-12 0 L-6 5 Z" fill={color} />;
    case "square":
      return <rect x={-8} y={-4} width={8} height={8} fill={color} />;
  }
}
