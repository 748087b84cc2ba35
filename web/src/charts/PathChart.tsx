import "uplot/dist/uPlot.min.css";
import { useComputedColorScheme } from "@mantine/core";
import { useEffect, useEffectEvent, useRef, useState, type ReactNode } from "react";
import uPlot from "uplot";
import type { PathEvent, Values } from "./pathSeries";
import { axisTime, clockTick } from "./series";
import classes from "./PathChart.module.css";
import { useChartKeys } from "./useChartKeys";

const FONT = "11px 'Inter Variable', sans-serif";
const AXIS_WIDTH = 74;

function colorOf(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Dashed lines where the path was moved or probed. */
function drawEvents(plot: uPlot, events: readonly PathEvent[]): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = colorOf("--rl-order");
  ctx.lineWidth = uPlot.pxRatio;
  ctx.setLineDash([4 * uPlot.pxRatio, 3 * uPlot.pxRatio]);
  for (const { x } of events) {
    const left = Math.round(plot.valToPos(x, "x", true));
    if (left < bbox.left || left > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(left, bbox.top);
    ctx.lineTo(left, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

/** Ticks below the plot where counts are above 0. */
function drawTicks(plot: uPlot, x: readonly number[], counts: readonly number[], color: string, row: number): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.fillStyle = colorOf(color);
  for (const [index, count] of counts.entries()) {
    if (count === 0) continue;
    const left = plot.valToPos(x[index] ?? 0, "x", true);
    ctx.fillRect(left - uPlot.pxRatio, bbox.top - (row + 1) * 6 * uPlot.pxRatio, 2.5 * uPlot.pxRatio, 5 * uPlot.pxRatio);
  }
  ctx.restore();
}

interface Props {
  label: string;
  x: number[];
  values: Values;
  /** Least and most around the values. */
  band?: { low: Values; high: Values };
  /** A value holds until the next one. */
  stepped?: boolean;
  /** Times are seconds since the Unix epoch, shown as UTC, and what is unknown parts the line. */
  absolute?: boolean;
  /** Of the line, a variable of the style sheet. */
  lineColor?: string;
  format: (value: number) => string;
  events: readonly PathEvent[];
  ticks: readonly { counts: readonly number[]; color: string }[];
  /** Beside the name: what the figure is at rest. */
  note?: ReactNode;
  /** Charts of one name share their cursor. */
  sync: string;
  height?: number;
}

export function PathChart(props: Props) {
  // A canvas does not follow style sheets: it is drawn anew in the other scheme's colours.
  return <Chart key={useComputedColorScheme("light")} {...props} />;
}

function Chart({ label, x, values, band, stepped = false, absolute = false, lineColor = "--rl-accent", format, events, ticks, note, sync, height = 96 }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const plotRef = useRef<uPlot>(null);
  const keys = useChartKeys(plotRef, {});
  const [index, setIndex] = useState<number>();
  const known = values.some((value) => value !== null);
  const tickText = useEffectEvent(format);
  const draw = useEffectEvent((plot: uPlot) => {
    drawEvents(plot, events);
    for (const [row, { counts, color }] of ticks.entries()) drawTicks(plot, x, counts, color, row);
  });

  useEffect(() => {
    const element = host.current;
    if (!element || !known) return;
    const grid = { stroke: colorOf("--rl-border"), width: 1 };
    const axis = { stroke: colorOf("--rl-muted"), font: FONT, grid, ticks: { ...grid, size: 4 } };
    const paths = stepped ? uPlot.paths.stepped?.({ align: 1 }) : uPlot.paths.linear?.();
    const line = { stroke: colorOf(lineColor), width: 1.5, spanGaps: !absolute, points: { show: true, size: 4 }, ...(paths && { paths }) };
    const edge = { stroke: "transparent", width: 0, spanGaps: true, points: { show: false } };
    const from = x[0] ?? 0;
    const to = Math.max(x.at(-1) ?? 0, from + 1e-9);
    const margin = (to - from) * 0.01;
    const options: uPlot.Options = {
      width: element.clientWidth,
      height,
      padding: [14, 12, 0, 0],
      legend: { show: false },
      ...(absolute && { tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "UTC") }),
      cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false }, sync: { key: sync } },
      scales: {
        x: { time: absolute, range: [from - margin, to + margin] },
        y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.12 : 1] },
      },
      axes: [
        {
          ...axis,
          size: 22,
          space: 80,
          values: (_plot, marks) => {
            const increment = (marks[1] ?? 1) - (marks[0] ?? 0);
            const most = Math.max(...marks.map(Math.abs));
            return marks.map((mark) => (absolute ? clockTick(mark, increment) : axisTime(mark, increment, most)));
          },
        },
        { ...axis, size: AXIS_WIDTH, space: 24, values: (_plot, marks) => marks.map((mark) => (mark === 0 ? "0" : tickText(mark))) },
      ],
      series: [{}, line, ...(band ? [edge, edge] : [])],
      ...(band && { bands: [{ series: [3, 2] as [number, number], fill: colorOf("--rl-fill") }] }),
      hooks: {
        draw: [(plot) => draw(plot)],
        setCursor: [(plot) => setIndex(plot.cursor.idx ?? undefined)],
      },
    };
    const data = [x, values, ...(band ? [band.low, band.high] : [])] as uPlot.AlignedData;
    const plot = new uPlot(options, data, element);
    plotRef.current = plot;
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plotRef.current = null;
      plot.destroy();
    };
  }, [x, values, band, stepped, absolute, lineColor, known, sync, height]);

  const value = index === undefined ? undefined : values[index];
  return (
    <figure className={classes.figure} aria-label={`${label} over time`}>
      <figcaption className={classes.legend}>
        <span>{label}</span>
        <strong role="status">{typeof value === "number" ? format(value) : note}</strong>
      </figcaption>
      {known ? (
        <div
          ref={host}
          className={classes.plot}
          style={{ height }}
          role="application"
          aria-label={`${label}. Arrow keys move from one value to the next`}
          tabIndex={0}
          {...keys}
        />
      ) : (
        <div className={classes.none} style={{ height }}>{note}</div>
      )}
    </figure>
  );
}
