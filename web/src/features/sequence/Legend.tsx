import { countOf } from "../../lib/format";
import { LAYERS, type Layer, type Rows } from "./rows";
import classes from "./SequenceGraph.module.css";

const NAMES: Record<Layer, { label: string; color: string; shape: "dot" | "line" | "bar" | "cross" | "diamond" | "flag" }> = {
  data: { label: "Requests", color: "--rl-accent", shape: "dot" },
  response: { label: "Responses", color: "--rl-response", shape: "dot" },
  ack: { label: "ACK line", color: "--rl-good", shape: "line" },
  sack: { label: "SACK", color: "--rl-order", shape: "bar" },
  retransmitted: { label: "Retransmitted", color: "--rl-retransmitted", shape: "dot" },
  late: { label: "Late, or a gap before", color: "--rl-warn", shape: "dot" },
  ce: { label: "CE", color: "--rl-ce", shape: "dot" },
  nak: { label: "NAK", color: "--rl-bad", shape: "cross" },
  cnp: { label: "CNP", color: "--rl-cnp", shape: "diamond" },
  divergences: { label: "Divergences", color: "--rl-bad", shape: "flag" },
};

const ORDER: readonly Layer[] = ["data", "response", "ack", "sack", "retransmitted", "late", "ce", "nak", "cnp", "divergences"];

/** Layers that have the colours of their paths where there are several. */
const OF_PATHS: ReadonlySet<Layer> = new Set(["data", "response", "ack", "sack", "retransmitted"]);

interface Props {
  rows: Rows;
  counts: ReadonlyMap<Layer, number>;
  hidden: ReadonlySet<Layer>;
  onHidden: (hidden: ReadonlySet<Layer>) => void;
}

/** Names what is drawn; each entry shows and hides it. What the span has none of is faint. */
export function Legend({ rows, counts, hidden, onHidden }: Props) {
  const toggle = (layer: Layer): void => {
    const next = new Set(hidden);
    if (!next.delete(layer)) next.add(layer);
    onHidden(next);
  };
  const several = rows.tracks.length > 1;
  return (
    <div className={classes.legend} role="group" aria-label="What is drawn">
      {ORDER.filter((layer) => layer !== "sack" || rows.tracks.some(({ path_id }) => path_id !== null)).map((layer) => {
        const { label, color, shape } = NAMES[layer];
        const count = counts.get(layer) ?? 0;
        return (
          <button key={layer} type="button" className={classes.entry} aria-pressed={!hidden.has(layer)} data-none={count === 0 || undefined} title={`${countOf(count, layer === "divergences" ? "divergence" : "packet")} in and around what is shown`} onClick={() => toggle(layer)}>
            <span className={classes.swatch} data-shape={shape} data-rim={(several && layer === "retransmitted") || undefined} style={{ color: `var(${several && OF_PATHS.has(layer) ? "--rl-muted" : color})` }} />
            {label}
          </button>
        );
      })}
    </div>
  );
}

/** Layers of a list in an address, and the list again; undefined for none. */
export const hiddenOf = (text: string | undefined): ReadonlySet<Layer> => new Set(LAYERS.filter((layer) => text?.split(",").includes(layer)));
export const hiddenText = (hidden: ReadonlySet<Layer>): string | undefined => LAYERS.filter((layer) => hidden.has(layer)).join(",") || undefined;
