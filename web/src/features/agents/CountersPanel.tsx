import { Checkbox } from "@mantine/core";
import { useState } from "react";
import type { PortCounter } from "../../api/types";
import { Unknown } from "../../components/Unknown";
import { countOf, formatCount } from "../../lib/format";
import type { ScopeState } from "../../lib/viewState";
import classes from "./agents.module.css";
import { absenceOf, groupCounters, placeOf } from "./counters";
import { SeriesCharts } from "./SeriesCharts";

/** As many as one answer has. */
const MOST_DRAWN = 8;

interface RowsProps {
  counters: readonly PortCounter[];
  drawn: ReadonlySet<string>;
  onDraw: (key: string) => void;
}

function Rows({ counters, drawn, onDraw }: RowsProps) {
  return counters.map((counter) => (
    <tr key={counter.key}>
      <td>
        <Checkbox
          size="xs"
          aria-label={`Draw ${counter.name} of ${placeOf(counter)}`}
          checked={drawn.has(counter.key)}
          disabled={!drawn.has(counter.key) && drawn.size >= MOST_DRAWN}
          onChange={() => onDraw(counter.key)}
        />
      </td>
      <th scope="row" className="mono">
        {counter.name}
      </th>
      <td>{placeOf(counter)}</td>
      <td className={classes.number}>
        {counter.delta === null ? <Unknown why="it was read for the first time, or went back" /> : formatCount(counter.delta)}
        {counter.unknown > 0 && counter.delta !== null && (
          <span className="muted" title={`Unknown in ${countOf(counter.unknown, "interval")}: the agent started, or the counter went back`}>
            {" "}
            or more
          </span>
        )}
      </td>
      <td className={classes.number}>{counter.value === null ? "" : formatCount(counter.value)}</td>
      <td className={classes.meaning}>{counter.meaning}</td>
    </tr>
  ));
}

function Settings({ settings }: { settings: readonly PortCounter[] }) {
  if (settings.length === 0) return <p className={classes.complete}>No setting of DCQCN, priorities or RoCE could be read here.</p>;
  return (
    <details className={classes.settings}>
      <summary>{countOf(settings.length, "setting")} of DCQCN, priorities and RoCE</summary>
      <dl className={classes.facts}>
        {settings.map((setting) => (
          <div key={setting.key}>
            <dt className="mono">
              {setting.name} {setting.device && <span className="muted">{placeOf(setting)}</span>}
            </dt>
            <dd>
              {setting.setting}
              {setting.changed_from !== null && <span className={classes.bad}> was {setting.changed_from} before</span>}
            </dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

interface Props {
  agentId: string;
  name: string;
  /** RDMA port behind the interface, in the agent's words. */
  rdma: string;
  counters: readonly PortCounter[];
  scope: ScopeState;
}

/** What the NIC, the driver and the kernel counted on one interface, over the packets that the agent saw there. */
export function CountersPanel({ agentId, name, rdma, counters, scope }: Props) {
  const [all, setAll] = useState(false);
  const [chosen, setChosen] = useState<ReadonlySet<string>>();
  const { changed, still, unknown, settings } = groupCounters(counters);
  // At first what the NIC says of RDMA is drawn.
  const drawn = chosen ?? new Set(changed.filter(({ source, meaning }) => source === "hardware" && meaning !== null).slice(0, 3).map(({ key }) => key));
  const absence = absenceOf(counters, rdma);
  const rest = still.length + unknown.length;
  const draw = (key: string) => {
    const next = new Set(drawn);
    if (!next.delete(key)) next.add(key);
    setChosen(next);
  };
  return (
    <div className={classes.counters}>
      {absence && <p className={classes.complete}>{absence}</p>}
      <SeriesCharts of={{ agentId, interface: name, counters: [...drawn] }} scope={scope} />
      {counters.length > 0 && (
        <>
          <div className={classes.scroll}>
            <table className={classes.ledger} aria-label={`Counters of ${name}`}>
              <thead>
                <tr>
                  <th scope="col">Draw</th>
                  <th scope="col">Counter</th>
                  <th scope="col">Of</th>
                  <th scope="col" className={classes.number}>
                    Counted
                  </th>
                  <th scope="col" className={classes.number}>
                    Stands at
                  </th>
                  <th scope="col">What it means</th>
                </tr>
              </thead>
              <tbody>
                {changed.length === 0 && (
                  <tr>
                    <td colSpan={6}>No counter is known to have counted anything in this time.</td>
                  </tr>
                )}
                <Rows counters={changed} drawn={drawn} onDraw={draw} />
                {all && <Rows counters={[...unknown, ...still]} drawn={drawn} onDraw={draw} />}
              </tbody>
            </table>
          </div>
          {rest > 0 && (
            <button type="button" className={classes.more} aria-expanded={all} onClick={() => setAll(!all)}>
              {all ? "Hide those that did not count" : `Show ${countOf(still.length, "counter")} that did not count${unknown.length > 0 ? ` and ${unknown.length} of which nobody knows` : ""}`}
            </button>
          )}
          <Settings settings={settings} />
        </>
      )}
    </div>
  );
}
