/** A span of time, ns after the first packet of the flow. */
export interface View {
  from: number;
  to: number;
}

/** Less than this many ns cannot be told apart. */
const NARROWEST = 20;

const clamp = (value: number, least: number, most: number): number => Math.min(Math.max(value, least), Math.max(least, most));

/** All of it with a little room at both ends. */
export function whole(span: number): View {
  const margin = Math.max(span * 0.01, NARROWEST / 2);
  return { from: -margin, to: span + margin };
}

/** Keeps a view within the whole, its width kept where that is possible. */
export function within(view: View, span: number): View {
  const all = whole(span);
  const width = clamp(view.to - view.from, NARROWEST, all.to - all.from);
  const from = clamp(view.from, all.from, all.to - width);
  return { from, to: from + width };
}

/** Zooms by a factor, below 1 in; at, 0 to 1, is the place that stays. */
export function zoomed(view: View, factor: number, at: number, span: number): View {
  const width = view.to - view.from;
  const still = view.from + width * at;
  const next = clamp(width * factor, NARROWEST, Number.POSITIVE_INFINITY);
  return within({ from: still - next * at, to: still + next * (1 - at) }, span);
}

/** Moves a view by a part of its width. */
export function panned(view: View, part: number, span: number): View {
  const by = (view.to - view.from) * part;
  return within({ from: view.from + by, to: view.to + by }, span);
}

/** What is asked for when a view is to be shown: itself with one more of its width at each side. */
export function around(view: View, span: number): View {
  const width = view.to - view.from;
  const all = whole(span);
  return { from: Math.floor(Math.max(all.from, view.from - width)), to: Math.ceil(Math.min(all.to, view.to + width)) };
}

/** Whether what was asked for still serves: it reaches beyond the view, and is not much coarser than it. */
export function serves(loaded: View, exact: boolean, view: View, span: number): boolean {
  const width = view.to - view.from;
  const all = whole(span);
  const spare = width / 4;
  const left = loaded.from <= Math.max(all.from + 1, view.from - spare);
  const right = loaded.to >= Math.min(all.to - 1, view.to + spare);
  return left && right && (exact || loaded.to - loaded.from <= width * 5.5);
}

/** Steps of 1, 2 or 5 times a power of ten, about count of them between two values. */
export function ticks(from: number, to: number, count: number): number[] {
  const raw = Math.max((to - from) / Math.max(1, count), 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= raw) ?? 10) * power;
  const marks: number[] = [];
  for (let mark = Math.ceil(from / step) * step; mark <= to; mark += step) marks.push(mark + 0); // not -0, which would be written so
  return marks;
}
