import "uplot/dist/uPlot.min.css";
import { Button, useComputedColorScheme } from "@mantine/core";
import { useEffect, useEffectEvent, useMemo, useRef, useState } from "react";
import uPlot from "uplot";
import { formatBitRate, formatCount, formatDuration } from "../lib/format";
import { formatClock, parseTime, toRFC3339 } from "../lib/time";
import type { Throughput } from "../api/types";
import { axisTime, toSeries, type Series } from "./series";
import classes from "./ThroughputChart.module.css";
import { useChartKeys } from "./useChartKeys";

const LANES = [
  { key: "retransmitted", label: "Retransmitted", color: "--rl-retransmitted" },
  { key: "ce", label: "CE marks", color: "--rl-ce" },
  { key: "cnps", label: "CNP", color: "--rl-cnp" },
] as const;

const LANE_HEIGHT = 7;
const LANE_GAP = 3;
const LANES_HEIGHT = LANES.length * (LANE_HEIGHT + LANE_GAP) + 3;
const AXIS_WIDTH = 78;
const FONT = "11px 'Inter Variable', sans-serif";

function colorOf(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Lanes of events above the plot: one mark a bucket, the fuller the more there were. */
function drawLanes(plot: uPlot, series: Series): void {
  const { ctx, bbox } = plot;
  const ratio = uPlot.pxRatio;
  const [min = 0, max = 0] = [plot.scales["x"]?.min, plot.scales["x"]?.max];
  ctx.save();
  for (const [lane, { key, color }] of LANES.entries()) {
    const top = bbox.top - (LANES_HEIGHT - lane * (LANE_HEIGHT + LANE_GAP)) * ratio;
    ctx.fillStyle = colorOf("--rl-raised");
    ctx.fillRect(bbox.left, top, bbox.width, LANE_HEIGHT * ratio);
    const counts = series[key];
    const most = Math.max(1, ...counts);
    ctx.fillStyle = colorOf(color);
    for (const [index, count] of counts.entries()) {
      const x = series.x[index] ?? 0;
      if (count === 0 || x + series.step < min || x > max) continue;
      const left = Math.max(bbox.left, plot.valToPos(x, "x", true));
      const right = Math.min(bbox.left + bbox.width, plot.valToPos(x + series.step, "x", true));
      ctx.globalAlpha = 0.45 + 0.55 * (count / most);
      ctx.fillRect(left, top, Math.max(2 * ratio, right - left), LANE_HEIGHT * ratio);
    }
    ctx.globalAlpha = 1;
  }
  ctx.restore();
}

interface Props {
  throughput: Throughput;
  /** Time of the first packet: what the axis counts from. */
  origin: string | undefined;
  zoomed: boolean;
  onZoom: (from: string, to: string) => void;
  onReset: () => void;
  height?: number;
  busy?: boolean;
}

export function NoTimes({ packets }: { packets: number }) {
  const why = packets > 0 ? "This capture has no time stamps" : "There are no packets";
  return <div className={classes.none}>{why}, so there is no throughput over time.</div>;
}

/** Bits a second over time, with lanes for retransmissions, CE marks and CNPs. Dragging zooms. */
export function ThroughputChart(props: Props) {
  // A canvas does not follow style sheets: it is drawn anew in the other scheme's colours.
  return <Chart key={useComputedColorScheme("light")} {...props} />;
}

function Chart({ throughput, origin, zoomed, onZoom, onReset, height = 170, busy = false }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const plotRef = useRef<uPlot>(null);
  const [index, setIndex] = useState<number>();
  const series = useMemo(() => toSeries(throughput, origin ? parseTime(origin) : undefined), [throughput, origin]);
  const zoomTo = (from: number, to: number): void => {
    if (!series) return;
    const at = (seconds: number): string => toRFC3339(series.base + BigInt(Math.round(seconds * 1e9)));
    onZoom(at(from), at(to));
  };
  const zoom = useEffectEvent(zoomTo);
  const reset = useEffectEvent(onReset);
  const keys = useChartKeys(plotRef, {
    onSpan: (from, to) => zoomTo(series?.x[from] ?? 0, (series?.x[to] ?? 0) + (series?.step ?? 0)),
    onReset: zoomed ? onReset : undefined,
  });

  useEffect(() => {
    const element = host.current;
    if (!element || !series) return;
    const grid = { stroke: colorOf("--rl-border"), width: 1 };
    const axis = { stroke: colorOf("--rl-muted"), font: FONT, grid, ticks: { ...grid, size: 4 } };
    const stepped = uPlot.paths.stepped?.({ align: 1 });
    const lastX = (series.x.at(-1) ?? 0) + series.step;
    const options: uPlot.Options = {
      width: element.clientWidth,
      height,
      padding: [LANES_HEIGHT, 28, 0, 0],
      legend: { show: false },
      cursor: {
        y: false,
        points: { size: 6 },
        drag: { x: true, y: false, setScale: false },
        bind: {
          dblclick: () => () => {
            reset();
            return null;
          },
        },
      },
      scales: {
        x: { time: false, range: [series.x[0] ?? 0, lastX] },
        y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.08 : 1] },
      },
      axes: [
        {
          ...axis,
          size: 24,
          space: 90,
          values: (_plot, ticks) => {
            const increment = (ticks[1] ?? 1) - (ticks[0] ?? 0);
            const most = Math.max(...ticks.map(Math.abs));
            return ticks.map((tick) => axisTime(tick, increment, most));
          },
        },
        { ...axis, size: AXIS_WIDTH, space: 28, values: (_plot, ticks) => ticks.map((tick) => (tick === 0 ? "0" : formatBitRate(tick))) },
      ],
      series: [
        {},
        {
          label: "Throughput",
          stroke: colorOf("--rl-accent"),
          fill: colorOf("--rl-fill"),
          width: 1.5,
          points: { show: false },
          ...(stepped && { paths: stepped }),
        },
      ],
      hooks: {
        draw: [(plot) => drawLanes(plot, series)],
        setCursor: [(plot) => setIndex(plot.cursor.idx ?? undefined)],
        setSelect: [
          (plot) => {
            const { left, width } = plot.select;
            if (width < 3) return;
            zoom(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
            plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          },
        ],
      },
    };
    const plot = new uPlot(options, [series.x, series.bitsPerSecond], element);
    plotRef.current = plot;
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plotRef.current = null;
      plot.destroy();
    };
  }, [series, height]);

  if (!series) {
    if (throughput.bucket_ns === "0") return <div className={classes.none}>There are no RDMA packets, so there is no throughput over time.</div>;
    return (
      <div className={classes.none} style={{ height: height + 28 }}>
        No packets in this span of time.
        {zoomed && (
          <Button variant="default" onClick={onReset}>
            Show the whole time
          </Button>
        )}
      </div>
    );
  }

  const start = index === undefined ? undefined : series.x[index];
  const rate = index === undefined ? Math.max(...series.bitsPerSecond) : series.bitsPerSecond[index];
  return (
    <figure className={classes.figure} aria-label="Throughput over time" aria-busy={busy}>
      <figcaption className={classes.legend}>
        <span className={classes.entry}>
          <span className={classes.swatch} style={{ background: "var(--rl-accent)" }} />
          Throughput
          <strong>{formatBitRate(rate ?? 0)}</strong>
          {index === undefined && <span className="muted">at most</span>}
        </span>
        {LANES.map(({ key, label, color }) => (
          <span key={key} className={classes.entry}>
            <span className={classes.swatch} style={{ background: `var(${color})` }} />
            {label}
            <strong>
              {formatCount(index === undefined ? series[key].reduce((sum, count) => sum + count, 0) : (series[key][index] ?? 0))}
            </strong>
          </span>
        ))}
        <span className={classes.when} role="status">
          {start === undefined ? (
            <>each step {formatDuration(series.step * 1e9)}</>
          ) : (
            <>
              {start < 0 ? "" : "+"}
              {formatDuration(Math.round(start * 1e9))} <span className="mono">{formatClock(series.base + BigInt(Math.round(start * 1e9)))}</span>
            </>
          )}
        </span>
        {zoomed ? (
          <Button size="compact-xs" variant="default" onClick={onReset}>
            Reset zoom
          </Button>
        ) : (
          <span className={`muted ${classes.hint}`}>Drag to zoom</span>
        )}
      </figcaption>
      <div
        ref={host}
        className={classes.plot}
        style={{ height }}
        role="application"
        aria-label="Steps of time. Arrow keys move from step to step, with Shift they mark a span; Enter zooms into it, Escape shows the whole"
        tabIndex={0}
        {...keys}
      />
    </figure>
  );
}
