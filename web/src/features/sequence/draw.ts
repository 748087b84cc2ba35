import { axisTime } from "../../charts/series";
import { formatCount } from "../../lib/format";
import { CE, firstAt, GAP, LATE, RETRANSMITTED, wirePSN, type Layer, type Rows } from "./rows";
import { ticks, type View } from "./view";

export const EDGE = { left: 84, right: 14, top: 24, bottom: 42 } as const;
const FONT = "11px 'Inter Variable', sans-serif";
const DOT = 3;
const MARK = 5;

export type Colors = Readonly<Record<Layer | "text" | "muted" | "grid" | "surface" | "wrap", string>> & { paths: readonly string[] };

export interface Flag {
  /** ns after the first packet. */
  at: number;
  diverges: boolean;
  id: string;
  text: string;
}

export interface Scene {
  rows: Rows;
  view: View;
  width: number;
  height: number;
  hidden: ReadonlySet<Layer>;
  flags: readonly Flag[];
  /** Row that is pointed at. */
  row: number | undefined;
  selection: [number, number] | undefined;
}

export interface Scales {
  x: (at: number) => number;
  y: (psn: number) => number;
  low: number;
  high: number;
  first: number;
  end: number;
}

/** Whether anything of a row is shown. */
function isShown(kind: string, marks: number, hidden: ReadonlySet<Layer>): boolean {
  if (kind === "cnp") return !hidden.has("cnp");
  if (kind === "nak" || kind === "rnr") return !hidden.has("nak");
  if (kind === "ack" || kind === "sack") return !hidden.has("ack") || (kind === "sack" && !hidden.has("sack"));
  if (marks & RETRANSMITTED && !hidden.has("retransmitted")) return true;
  if (marks & CE && !hidden.has("ce")) return true;
  if (marks & (GAP | LATE) && !hidden.has("late")) return true;
  return !hidden.has(kind === "response" ? "response" : "data");
}

/** Scales of a scene: time across, and the numbers of what is shown from bottom to top. */
export function scalesOf({ rows, view, width, height, hidden }: Scene): Scales {
  const first = firstAt(rows, view.from - rows.bin);
  const end = firstAt(rows, view.to);
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let row = first; row < end; row++) {
    if (!isShown(rows.kind[row] ?? "other", rows.marks[row] ?? 0, hidden)) continue;
    const [least, most] = [rows.low[row] ?? Number.NaN, rows.high[row] ?? Number.NaN];
    if (least < low) low = least;
    if (most > high) high = most;
  }
  if (low > high) [low, high] = [0, 1];
  const room = Math.max((high - low) * 0.05, 2);
  [low, high] = [low - room, high + room];
  const across = (width - EDGE.left - EDGE.right) / (view.to - view.from);
  const up = (height - EDGE.top - EDGE.bottom) / (high - low);
  return { x: (at) => EDGE.left + (at - view.from) * across, y: (psn) => height - EDGE.bottom - (psn - low) * up, low, high, first, end };
}

function axes(ctx: CanvasRenderingContext2D, { rows, view, width, height }: Scene, { x, y, low, high }: Scales, colors: Colors): void {
  ctx.font = FONT;
  ctx.lineWidth = 1;
  ctx.strokeStyle = colors.grid;
  ctx.fillStyle = colors.muted;
  const times = ticks(view.from, view.to, (width - EDGE.left) / 110);
  const step = ((times[1] ?? 1) - (times[0] ?? 0)) / 1e9;
  const most = Math.max(...times.map(Math.abs)) / 1e9;
  ctx.beginPath();
  ctx.textAlign = "center";
  for (const time of times) {
    const at = Math.round(x(time)) + 0.5;
    ctx.moveTo(at, EDGE.top);
    ctx.lineTo(at, height - EDGE.bottom);
    ctx.fillText(axisTime(time / 1e9, step, most), at, height - 8);
  }
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  const several = rows.tracks.length > 1;
  for (const psn of ticks(low, high, (height - EDGE.top - EDGE.bottom) / 44)) {
    const at = Math.round(y(psn)) + 0.5;
    ctx.moveTo(EDGE.left, at);
    ctx.lineTo(width - EDGE.right, at);
    ctx.fillText(several ? `${psn > 0 ? "+" : ""}${formatCount(psn)}` : formatCount(wirePSN(rows, 0, psn)), EDGE.left - 8, at);
  }
  ctx.stroke();
  ctx.textAlign = "left";
  ctx.textBaseline = "alphabetic";
  ctx.fillText(several ? "PSN after the path's first" : "PSN", 8, 15);
  const size = 2 ** (rows.tracks[0]?.psn_bits ?? 24);
  if (several) return;
  ctx.strokeStyle = colors.wrap;
  ctx.setLineDash([5, 4]);
  for (let turn = Math.ceil(low / size); turn * size <= high && turn < Math.ceil(low / size) + 20; turn++) {
    if (turn === 0) continue;
    const at = Math.round(y(turn * size)) + 0.5;
    ctx.beginPath();
    ctx.moveTo(EDGE.left, at);
    ctx.lineTo(width - EDGE.right, at);
    ctx.stroke();
    ctx.fillText("starts again from 0", EDGE.left + 6, at - 4);
  }
  ctx.setLineDash([]);
}

/** Draws a row as a dot, or of a bin as the box that its packets lie in. */
function box(ctx: CanvasRenderingContext2D, rows: Rows, row: number, { x, y }: Scales, size: number, outlined: boolean): void {
  const low = rows.low[row] ?? Number.NaN;
  if (Number.isNaN(low)) return;
  const at = rows.at[row] ?? 0;
  let [left, top, wide, high] = [x(at), y(rows.high[row] ?? low), size, size];
  if (rows.bin === 0) {
    left -= size / 2;
    top -= size / 2;
  } else {
    wide = Math.max(x(at + rows.bin) - left, size / 2);
    high = Math.max(y(low) - top, 0) + size / 2;
    top -= size / 4;
  }
  ctx.fillRect(left, top, wide, high);
  if (outlined) ctx.strokeRect(left - 0.5, top - 0.5, wide + 1, high + 1);
}

type Predicate = (kind: string, marks: number) => boolean;

function boxes(ctx: CanvasRenderingContext2D, rows: Rows, scales: Scales, size: number, color: (track: number) => string, wanted: Predicate, outline?: string): void {
  let last = "";
  if (outline) [ctx.strokeStyle, ctx.lineWidth] = [outline, 1.2];
  for (let row = scales.first; row < scales.end; row++) {
    if (!wanted(rows.kind[row] ?? "other", rows.marks[row] ?? 0)) continue;
    const next = color(rows.track[row] ?? 0);
    if (next !== last) ctx.fillStyle = last = next;
    box(ctx, rows, row, scales, size, outline !== undefined);
  }
}

/** The line of what is acknowledged: each track from answer to answer, in steps. */
function ackLines(ctx: CanvasRenderingContext2D, rows: Rows, { x, y, first, end }: Scales, color: (track: number) => string): void {
  const paths = rows.tracks.map(() => ({ line: new Path2D(), y: Number.NaN }));
  const tail = Math.max(0, first - 400); // the step that leads into the view
  for (let row = tail; row < Math.min(rows.at.length, end + 200); row++) {
    const kind = rows.kind[row];
    if (kind !== "ack" && kind !== "sack") continue;
    const path = paths[rows.track[row] ?? 0];
    if (!path) continue;
    const left = x(rows.at[row] ?? 0);
    const [from, to] = [y(rows.low[row] ?? 0), y(rows.high[row] ?? 0)];
    if (Number.isNaN(path.y)) path.line.moveTo(left, from);
    else path.line.lineTo(left, path.y);
    path.line.lineTo(left, from);
    path.line.lineTo(left, to);
    path.y = to;
  }
  ctx.lineWidth = 1.4;
  for (const [track, { line }] of paths.entries()) {
    ctx.strokeStyle = color(track);
    ctx.stroke(line);
  }
}

function sackBars(ctx: CanvasRenderingContext2D, rows: Rows, { x, y, first, end }: Scales, color: (track: number) => string): void {
  const wide = rows.bin === 0 ? 2 : Math.max(2, x(rows.bin) - x(0));
  for (let run = 0; run < rows.sackRow.length; run++) {
    const row = rows.sackRow[run] ?? 0;
    if (row < first || row >= end) continue;
    const top = y(rows.sackLast[run] ?? 0);
    ctx.fillStyle = color(rows.track[row] ?? 0);
    ctx.fillRect(x(rows.at[row] ?? 0), top - 1, wide, Math.max(2, y(rows.sackFirst[run] ?? 0) - top + 2));
  }
}

function crosses(ctx: CanvasRenderingContext2D, rows: Rows, { x, y, first, end }: Scales, color: string): void {
  const arm = MARK;
  ctx.beginPath();
  for (let row = first; row < end; row++) {
    if (rows.kind[row] !== "nak" && rows.kind[row] !== "rnr") continue;
    const [left, top] = [x((rows.at[row] ?? 0) + rows.bin / 2), y(rows.high[row] ?? 0)];
    ctx.moveTo(left - arm, top - arm);
    ctx.lineTo(left + arm, top + arm);
    ctx.moveTo(left - arm, top + arm);
    ctx.lineTo(left + arm, top - arm);
  }
  ctx.strokeStyle = color;
  ctx.lineWidth = 2;
  ctx.stroke();
}

/** CNPs name no PSN: they stand in a lane of their own below. */
function notifications(ctx: CanvasRenderingContext2D, { rows, height }: Scene, { x, first, end }: Scales, color: string): void {
  const middle = height - EDGE.bottom + 9;
  ctx.fillStyle = color;
  for (let row = first; row < end; row++) {
    if (rows.kind[row] !== "cnp") continue;
    const left = x((rows.at[row] ?? 0) + rows.bin / 2);
    ctx.beginPath();
    ctx.moveTo(left, middle - 5);
    ctx.lineTo(left + 4, middle);
    ctx.lineTo(left, middle + 5);
    ctx.lineTo(left - 4, middle);
    ctx.fill();
  }
}

function flagMarks(ctx: CanvasRenderingContext2D, { flags, height }: Scene, { x }: Scales, colors: Colors): void {
  for (const flag of flags) {
    const left = Math.round(x(flag.at)) + 0.5;
    ctx.fillStyle = ctx.strokeStyle = flag.diverges ? colors.divergences : colors.wrap;
    ctx.globalAlpha = 0.35;
    ctx.lineWidth = 1;
    ctx.beginPath();
    ctx.moveTo(left, EDGE.top);
    ctx.lineTo(left, height - EDGE.bottom);
    ctx.stroke();
    ctx.globalAlpha = 1;
    ctx.beginPath();
    ctx.moveTo(left - 6, EDGE.top - 12);
    ctx.lineTo(left + 6, EDGE.top - 12);
    ctx.lineTo(left, EDGE.top - 1);
    ctx.fill();
  }
}

function pointedAt(ctx: CanvasRenderingContext2D, { rows, row, height }: Scene, { x, y }: Scales, colors: Colors): void {
  if (row === undefined) return;
  const psn = rows.high[row] ?? Number.NaN;
  ctx.strokeStyle = colors.text;
  ctx.lineWidth = 1.5;
  ctx.beginPath();
  ctx.arc(x((rows.at[row] ?? 0) + rows.bin / 2), Number.isNaN(psn) ? height - EDGE.bottom + 9 : y(psn), 7, 0, 2 * Math.PI);
  ctx.stroke();
}

/** Draws a scene; what lies outside of the plot is cut off. */
export function draw(ctx: CanvasRenderingContext2D, scene: Scene, colors: Colors): Scales {
  const { rows, width, height, hidden } = scene;
  const scales = scalesOf(scene);
  ctx.clearRect(0, 0, width, height);
  axes(ctx, scene, scales, colors);
  ctx.save();
  ctx.beginPath();
  ctx.rect(EDGE.left, 0, width - EDGE.left - EDGE.right, height - EDGE.bottom + 16);
  ctx.clip();
  const several = rows.tracks.length > 1;
  const own = (layer: Layer) => (track: number) => (several ? (colors.paths[(rows.tracks[track]?.path_id ?? track) % colors.paths.length] ?? "") : colors[layer]);
  // Few packets have room to be seen.
  const more = scales.end - scales.first < width / 2 ? 2 : 0;
  const [dot, mark] = [DOT + more, MARK + more];
  const shows = (layer: Layer): boolean => !hidden.has(layer);
  const plain = (layer: Layer) => () => colors[layer];
  if (shows("sack")) sackBars(ctx, rows, scales, own("sack"));
  if (shows("data")) boxes(ctx, rows, scales, dot, own("data"), (kind) => kind === "data" || kind === "control" || kind === "other");
  if (shows("response")) boxes(ctx, rows, scales, dot, own("response"), (kind) => kind === "response");
  if (shows("ack")) ackLines(ctx, rows, scales, own("ack"));
  if (shows("ce")) boxes(ctx, rows, scales, mark, plain("ce"), (_, marks) => (marks & CE) !== 0);
  if (shows("late")) boxes(ctx, rows, scales, mark, plain("late"), (_, marks) => (marks & (GAP | LATE)) !== 0);
  // Paths take all colours, so a rim tells what was sent again.
  if (shows("retransmitted")) boxes(ctx, rows, scales, mark, own("retransmitted"), (_, marks) => (marks & RETRANSMITTED) !== 0, several ? colors.text : undefined);
  if (shows("nak")) crosses(ctx, rows, scales, colors.nak);
  if (shows("cnp")) notifications(ctx, scene, scales, colors.cnp);
  if (shows("divergences")) flagMarks(ctx, scene, scales, colors);
  pointedAt(ctx, scene, scales, colors);
  if (scene.selection) {
    ctx.fillStyle = colors.text;
    ctx.globalAlpha = 0.12;
    ctx.fillRect(Math.min(...scene.selection), EDGE.top, Math.abs(scene.selection[1] - scene.selection[0]), height - EDGE.top - EDGE.bottom);
    ctx.globalAlpha = 1;
  }
  ctx.restore();
  return scales;
}

/** The shown row nearest to a point of the drawing, within reach. */
export function nearest(scene: Scene, { x, y, first, end }: Scales, left: number, top: number, reach: number): number | undefined {
  let [best, found] = [reach, undefined as number | undefined];
  for (let row = first; row < end; row++) {
    if (!isShown(scene.rows.kind[row] ?? "other", scene.rows.marks[row] ?? 0, scene.hidden)) continue;
    const dx = x((scene.rows.at[row] ?? 0) + scene.rows.bin / 2) - left;
    if (Math.abs(dx) > best) continue;
    const low = scene.rows.low[row] ?? Number.NaN;
    const lane = Number.isNaN(low);
    const bottom = lane ? scene.height - EDGE.bottom + 9 : y(low);
    const above = lane ? bottom : y(scene.rows.high[row] ?? low);
    const dy = top < above ? above - top : top > bottom ? top - bottom : 0;
    // Of rows at one place the one with marks is meant.
    const distance = Math.hypot(dx, dy) - ((scene.rows.marks[row] ?? 0) & 15 ? 2 : 0);
    if (distance < best) [best, found] = [distance, row];
  }
  return found;
}
