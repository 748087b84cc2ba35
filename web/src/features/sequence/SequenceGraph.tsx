import { useComputedColorScheme } from "@mantine/core";
import { useElementSize, useMergedRef } from "@mantine/hooks";
import { useEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { draw, EDGE, nearest, type Colors, type Flag, type Scales, type Scene } from "./draw";
import { Readout } from "./Readout";
import type { Layer, Rows } from "./rows";
import classes from "./SequenceGraph.module.css";
import { useGestures } from "./useGestures";
import { panned, whole, within, zoomed, type View } from "./view";

const REACH = 14;

/** A canvas does not resolve variables and light-dark(): the browser does, as colours of an element. */
function colorsOf(element: Element): Colors {
  const probe = document.createElement("span");
  element.append(probe);
  const of = (name: string): string => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const colors: Colors = {
    text: of("--rl-text"),
    muted: of("--rl-muted"),
    grid: of("--rl-border"),
    surface: of("--rl-surface"),
    wrap: of("--rl-border-strong"),
    data: of("--rl-accent"),
    response: of("--rl-response"),
    ack: of("--rl-good"),
    sack: of("--rl-order"),
    retransmitted: of("--rl-retransmitted"),
    ce: of("--rl-ce"),
    late: of("--rl-warn"),
    nak: of("--rl-bad"),
    cnp: of("--rl-cnp"),
    divergences: of("--rl-bad"),
    paths: Array.from({ length: 8 }, (_, path) => of(`--rl-path-${path}`)),
  };
  probe.remove();
  return colors;
}

interface Props {
  rows: Rows;
  view: View;
  hidden: ReadonlySet<Layer>;
  flags: readonly Flag[];
  busy: boolean;
  label: string;
  onView: (view: View) => void;
  /** A packet was chosen. */
  onOpen: (number: number) => void;
  onFlag: (id: string) => void;
}

/** The drawing, and what a mouse, fingers and keys do on it. */
export function SequenceGraph({ rows, view, hidden, flags, busy, label, onView, onOpen, onFlag }: Props) {
  const scheme = useComputedColorScheme("light");
  const { ref: sized, width, height } = useElementSize<HTMLDivElement>();
  const host = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const scales = useRef<Scales | undefined>(undefined);
  // A row is one of its own answer: with the next answer nothing is pointed at.
  const [pointed, setPointed] = useState<{ rows: Rows; row: number }>();
  const [flag, setFlag] = useState<Flag>();
  const [selection, setSelection] = useState<[number, number]>();
  const row = pointed?.rows === rows ? pointed.row : undefined;
  const scene: Scene = { rows, view, width, height, hidden, flags, row, selection };
  const merged = useMergedRef(sized, host);
  const colors = useRef<{ scheme: string; of: Colors } | undefined>(undefined);

  useEffect(() => {
    const frame = requestAnimationFrame(() => {
      const [element, parent] = [canvas.current, host.current];
      const ctx = element?.getContext("2d");
      if (!element || !parent || !ctx || width === 0) return;
      const ratio = window.devicePixelRatio;
      const [across, down] = [Math.round(width * ratio), Math.round(height * ratio)];
      if (element.width !== across || element.height !== down) [element.width, element.height] = [across, down];
      ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
      if (colors.current?.scheme !== scheme) colors.current = { scheme, of: colorsOf(parent) };
      scales.current = draw(ctx, { rows, view, width, height, hidden, flags, row, selection }, colors.current.of);
    });
    return () => cancelAnimationFrame(frame);
  }, [rows, view, width, height, hidden, flags, row, selection, scheme]);

  const flagAt = (left: number, top: number): Flag | undefined => {
    const to = scales.current;
    if (!to || top > EDGE.top || hidden.has("divergences")) return undefined;
    return flags.find(({ at }) => Math.abs(to.x(at) - left) <= 7);
  };
  const find = (left: number, top: number): number | undefined => scales.current && nearest(scene, scales.current, left, top, REACH);
  const point = (found: number | undefined): void => setPointed(found === undefined ? undefined : { rows, row: found });

  useGestures(canvas, {
    view,
    span: rows.span,
    onView: (next) => onView(within(next, rows.span)),
    onSelection: setSelection,
    onPoint: (left, top) => {
      setFlag(flagAt(left, top));
      point(find(left, top));
    },
    onLeave: () => {
      setFlag(undefined);
      point(undefined);
    },
    onClick: (left, top) => {
      const hit = flagAt(left, top);
      if (hit) return onFlag(hit.id);
      const found = find(left, top);
      const number = found === undefined ? undefined : rows.number[found];
      if (number !== undefined) onOpen(number);
    },
  });

  const step = (by: number): void => {
    const { first, end } = scales.current ?? { first: 0, end: 0 };
    if (end > first) point(Math.min(end - 1, Math.max(first, row === undefined ? (by > 0 ? first : end - 1) : row + by)));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { span } = rows;
    const keys: Record<string, () => void> = {
      "+": () => onView(zoomed(view, 0.6, 0.5, span)),
      "=": () => onView(zoomed(view, 0.6, 0.5, span)),
      "-": () => onView(zoomed(view, 1 / 0.6, 0.5, span)),
      ArrowLeft: () => onView(panned(view, -0.15, span)),
      ArrowRight: () => onView(panned(view, 0.15, span)),
      ArrowUp: () => onView(zoomed(view, 0.8, 0.5, span)),
      ArrowDown: () => onView(zoomed(view, 1.25, 0.5, span)),
      PageUp: () => onView(panned(view, -0.9, span)),
      PageDown: () => onView(panned(view, 0.9, span)),
      "0": () => onView(whole(span)),
      ".": () => step(1),
      ",": () => step(-1),
      Enter: () => {
        const number = row === undefined ? undefined : rows.number[row];
        if (number !== undefined) onOpen(number);
      },
    };
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  };
  const shown = useMemo(() => (row === undefined ? undefined : { rows, row }), [rows, row]);
  return (
    <>
      <div
        ref={merged}
        className={classes.plot}
        tabIndex={0}
        role="application"
        aria-roledescription="time-sequence graph"
        aria-label={`${label}. Plus and minus zoom, arrows move, 0 shows all, comma and period go from packet to packet, Enter opens one.`}
        aria-busy={busy}
        onKeyDown={onKeyDown}
      >
        <canvas ref={canvas} className={classes.canvas} data-pointing={row !== undefined || flag !== undefined || undefined} aria-hidden />
      </div>
      <Readout of={shown} flag={flag} />
    </>
  );
}
