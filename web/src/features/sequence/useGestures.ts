import { useEffect, useEffectEvent, type RefObject } from "react";
import { EDGE } from "./draw";
import { panned, zoomed, type View } from "./view";

/** Less than this many pixels is a click, not a drag. */
const STILL = 4;

export interface Gestures {
  view: View;
  span: number;
  onView: (view: View) => void;
  onSelection: (selection: [number, number] | undefined) => void;
  onPoint: (left: number, top: number) => void;
  onLeave: () => void;
  onClick: (left: number, top: number) => void;
}

/** Wheel, pinch and drag on the drawing: zoom where the pointer is, pan, and with Shift choose a span. */
export function useGestures(target: RefObject<HTMLCanvasElement | null>, gestures: Gestures): void {
  const on = useEffectEvent((part: (gestures: Gestures) => void) => part(gestures));
  useEffect(() => {
    const element = target.current;
    if (!element) return;
    const pointers = new Map<number, { x: number; y: number }>();
    let began: { x: number; y: number; moved: boolean; select: boolean } | undefined;
    const width = (): number => element.clientWidth - EDGE.left - EDGE.right;
    const place = (x: number): number => Math.min(1, Math.max(0, (x - EDGE.left) / width()));
    const where = (event: PointerEvent | WheelEvent): { x: number; y: number } => {
      const box = element.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    const onWheel = (event: WheelEvent): void => {
      event.preventDefault();
      const { x } = where(event);
      const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
      on(({ view, span, onView }) => {
        if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) onView(panned(view, sideways / width(), span));
        else onView(zoomed(view, Math.exp(Math.max(-400, Math.min(400, event.deltaY)) / 500), place(x), span));
      });
    };
    const onDown = (event: PointerEvent): void => {
      if (event.button !== 0) return;
      element.setPointerCapture(event.pointerId);
      const at = where(event);
      pointers.set(event.pointerId, at);
      began = { ...at, moved: pointers.size > 1, select: event.shiftKey };
    };
    const onMove = (event: PointerEvent): void => {
      const now = where(event);
      const before = pointers.get(event.pointerId);
      if (!before || !began) return on(({ onPoint }) => onPoint(now.x, now.y));
      const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
      pointers.set(event.pointerId, now);
      if (!began.moved && Math.hypot(now.x - began.x, now.y - began.y) < STILL) return;
      began.moved = true;
      const from = began;
      on(({ view, span, onView, onSelection }) => {
        if (other) {
          const apart = (point: { x: number; y: number }): number => Math.max(8, Math.abs(point.x - other.x));
          onView(zoomed(view, apart(before) / apart(now), place((now.x + other.x) / 2), span));
        } else if (from.select) onSelection([from.x, now.x]);
        else onView(panned(view, (before.x - now.x) / width(), span));
      });
    };
    const onUp = (event: PointerEvent): void => {
      const held = pointers.delete(event.pointerId);
      const ended = began;
      if (pointers.size > 0 || !held || !ended) return;
      began = undefined;
      const { x, y } = where(event);
      on(({ view, onView, onSelection, onClick }) => {
        onSelection(undefined);
        if (event.type === "pointercancel") return;
        if (!ended.moved) return onClick(x, y);
        if (!ended.select) return;
        const [left, right] = [place(Math.min(x, ended.x)), place(Math.max(x, ended.x))];
        const wide = view.to - view.from;
        onView({ from: view.from + left * wide, to: view.from + right * wide });
      });
    };
    const onLeave = (): void => on((all) => all.onLeave());
    element.addEventListener("wheel", onWheel, { passive: false });
    element.addEventListener("pointerdown", onDown);
    element.addEventListener("pointermove", onMove);
    element.addEventListener("pointerup", onUp);
    element.addEventListener("pointercancel", onUp);
    element.addEventListener("pointerleave", onLeave);
    return () => {
      element.removeEventListener("wheel", onWheel);
      element.removeEventListener("pointerdown", onDown);
      element.removeEventListener("pointermove", onMove);
      element.removeEventListener("pointerup", onUp);
      element.removeEventListener("pointercancel", onUp);
      element.removeEventListener("pointerleave", onLeave);
    };
  }, [target]);
}
