import { useRef, type KeyboardEvent, type RefObject } from "react";
import type uPlot from "uplot";

interface Keys {
  /** What the chart may be asked for beside reading it; without it Shift and Enter do nothing. */
  onSpan?: (fromIndex: number, toIndex: number) => void;
  /** Back to the whole; undefined while the whole is shown. */
  onReset?: (() => void) | undefined;
}

/**
 * Keys of a chart that has the focus: arrows move the cursor from step to step, PgUp and PgDn by a tenth, Home and End
 * to the ends; Shift with them marks a span, Enter asks for it, Escape takes back the span, then the zoom.
 */
export function useChartKeys(plotRef: RefObject<uPlot | null>, { onSpan, onReset }: Keys) {
  const at = useRef<number>(undefined);
  const anchor = useRef<number>(undefined);

  const unmark = (plot: uPlot): void => {
    anchor.current = undefined;
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const plot = plotRef.current;
    if (!plot || event.ctrlKey || event.metaKey || event.altKey) return;
    const x = plot.data[0];
    const last = x.length - 1;
    const page = Math.max(1, Math.round(last / 10));
    // What the mouse points at is where the keys go on.
    const from = plot.cursor.idx ?? at.current;
    const targets: Record<string, number> = {
      ArrowRight: from === undefined ? 0 : from + 1,
      ArrowLeft: from === undefined ? last : from - 1,
      PageDown: (from ?? 0) + page,
      PageUp: (from ?? 0) - page,
      Home: 0,
      End: last,
    };
    const target = targets[event.key];
    if (target !== undefined) {
      const index = Math.max(0, Math.min(last, target));
      if (event.shiftKey && onSpan) anchor.current ??= from ?? index;
      else unmark(plot);
      at.current = index;
      plot.setCursor({ left: plot.valToPos(x[index] ?? 0, "x"), top: 0 });
      if (anchor.current !== undefined) {
        const [low, high] = [Math.min(anchor.current, index), Math.max(anchor.current, index)];
        const left = plot.valToPos(x[low] ?? 0, "x");
        const right = high === last ? plot.over.clientWidth : plot.valToPos(x[high + 1] ?? 0, "x");
        plot.setSelect({ left, top: 0, width: right - left, height: plot.over.clientHeight }, false);
      }
    } else if (event.key === "Enter" && onSpan && anchor.current !== undefined && at.current !== undefined) {
      const [low, high] = [Math.min(anchor.current, at.current), Math.max(anchor.current, at.current)];
      unmark(plot);
      at.current = undefined;
      onSpan(low, high);
    } else if (event.key === "Escape" && anchor.current !== undefined) {
      unmark(plot);
    } else if (event.key === "Escape" && onReset) {
      onReset();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };
  const onBlur = (): void => {
    const plot = plotRef.current;
    at.current = undefined;
    if (!plot) return;
    unmark(plot);
    plot.setCursor({ left: -10, top: -10 });
  };
  return { onKeyDown, onBlur };
}
