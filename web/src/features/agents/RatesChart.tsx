import "uplot/dist/uPlot.min.css";
import { useComputedColorScheme } from "@mantine/core";
import { useEffect, useMemo, useRef } from "react";
import uPlot from "uplot";
import type { AgentAccount } from "../../api/types";
import { formatBitRate } from "../../lib/format";
import classes from "./agents.module.css";
import { lossesOf } from "./ledger";

const HEIGHT = 130;
const AXIS_WIDTH = 78;
const FONT = "11px 'Inter Variable', sans-serif";

function colorOf(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Columns of the chart: end of each interval, s, bits a second of all frames and of RDMA, and whether packets were lost. */
export function ratesOf(accounts: readonly AgentAccount[]): [number[], number[], number[], boolean[]] {
  const columns: [number[], number[], number[], boolean[]] = [[], [], [], []];
  for (const account of accounts.toReversed()) {
    const [start, end] = [Date.parse(account.start), Date.parse(account.end)];
    const seconds = (end - start) / 1000;
    if (!(seconds > 0)) continue;
    columns[0].push(end / 1000);
    columns[1].push((account.bytes * 8) / seconds);
    columns[2].push((account.rdma_bytes * 8) / seconds);
    columns[3].push(lossesOf(account.drops).length > 0);
  }
  return columns;
}

/** Bits a second of an interface over its newest intervals; those in which packets were lost are marked. */
export function RatesChart(props: { name: string; accounts: readonly AgentAccount[] }) {
  // A canvas does not follow style sheets: it is drawn anew in the other scheme's colours.
  return <Chart key={useComputedColorScheme("light")} {...props} />;
}

function Chart({ name, accounts }: { name: string; accounts: readonly AgentAccount[] }) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(null);
  const data = useMemo(() => ratesOf(accounts), [accounts]);
  const lost = useRef<boolean[]>([]);

  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const grid = { stroke: colorOf("--rl-border"), width: 1 };
    const axis = { stroke: colorOf("--rl-muted"), font: FONT, grid, ticks: { ...grid, size: 4 } };
    const made = new uPlot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        legend: { show: false },
        cursor: { show: false },
        tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "UTC"),
        scales: { y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.08 : 1] } },
        axes: [
          { ...axis, size: 24, space: 90 },
          { ...axis, size: AXIS_WIDTH, space: 28, values: (_plot, ticks) => ticks.map((tick) => (tick === 0 ? "0" : formatBitRate(tick))) },
        ],
        series: [
          {},
          { label: "All", stroke: colorOf("--rl-muted"), width: 1, points: { show: false } },
          { label: "RDMA", stroke: colorOf("--rl-accent"), fill: colorOf("--rl-fill"), width: 1.5, points: { show: false } },
        ],
        hooks: {
          draw: [
            ({ ctx, bbox, valToPos, data: [x] }) => {
              ctx.save();
              ctx.fillStyle = colorOf("--rl-bad");
              for (const [index, at] of x.entries()) {
                if (lost.current[index]) ctx.fillRect(valToPos(at, "x", true) - 2 * uPlot.pxRatio, bbox.top, 4 * uPlot.pxRatio, 6 * uPlot.pxRatio);
              }
              ctx.restore();
            },
          ],
        },
      },
      [[], [], []],
      element,
    );
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.current = null;
      made.destroy();
    };
  }, []);

  useEffect(() => {
    lost.current = data[3];
    plot.current?.setData([data[0], data[1], data[2]]);
  }, [data]);

  const anyLost = data[3].includes(true);
  return (
    <figure style={{ margin: 0 }} aria-label={`Rates of ${name}`}>
      <figcaption className={classes.legend}>
        <span>
          <span className={classes.swatch} style={{ background: "var(--rl-accent)" }} />
          RDMA <strong>{formatBitRate(data[2].at(-1) ?? 0)}</strong>
        </span>
        <span>
          <span className={classes.swatch} style={{ background: "var(--rl-muted)" }} />
          all frames <strong>{formatBitRate(data[1].at(-1) ?? 0)}</strong>
        </span>
        {anyLost && (
          <span>
            <span className={classes.swatch} style={{ background: "var(--rl-bad)" }} />
            packets were lost
          </span>
        )}
      </figcaption>
      <div ref={host} className={classes.plot} style={{ height: HEIGHT }} aria-hidden />
    </figure>
  );
}
