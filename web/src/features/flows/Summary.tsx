import { Tooltip } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { Capture } from "../../api/types";
import { Unknown } from "../../components/Unknown";
import { formatBytes, formatCount, formatShare } from "../../lib/format";
import { ASIDES, excuseOf, TROUBLES, type Trouble } from "../../lib/troubles";
import classes from "./Summary.module.css";

function TroubleTile({ capture, trouble }: { capture: Capture; trouble: Trouble }) {
  const count = capture.totals?.[trouble.key];
  const excuse = capture.totals && excuseOf(capture.totals, trouble);
  const body = (
    <>
      <span className={classes.label}>{trouble.label}</span>
      <span className={classes.value}>
        {count === undefined ? <Unknown why="the capture has not been analysed" /> : formatCount(count)}
        {excuse && <span className={classes.note}>{excuse.short}</span>}
      </span>
    </>
  );
  return (
    <Tooltip label={excuse ? `${trouble.explain} ${excuse.explain}` : trouble.explain}>
      {count ? (
        <Link
          to="/captures/$captureId/packets"
          params={{ captureId: capture.id }}
          search={{ only: trouble.only }}
          className={classes.tile}
          data-severity={trouble.severity}
        >
          {body}
        </Link>
      ) : (
        <div className={classes.tile} data-quiet={count === 0 || undefined}>
          {body}
        </div>
      )}
    </Tooltip>
  );
}

function Tile({ label, value, note }: { label: string; value: string | undefined; note?: string | undefined }) {
  return (
    <div className={classes.tile} data-wide>
      <span className={classes.label}>{label}</span>
      <span className={classes.value}>
        {value ?? <Unknown why="the capture has not been analysed" />}
        {note && <span className={classes.note}>{note}</span>}
      </span>
    </div>
  );
}

/** Figures of a whole capture. One with trouble leads to its packets. */
export function Summary({ capture }: { capture: Capture }) {
  const { totals } = capture;
  const asides: readonly Trouble[] = totals ? ASIDES.filter(({ key }) => totals[key] > 0) : [];
  return (
    <section className={classes.root} aria-label="Summary">
      <div className={classes.group} data-facts>
        <Tile label="Packets" value={totals && formatCount(totals.packets)} note={totals && formatBytes(totals.bytes)} />
        <Tile
          label="RDMA"
          value={totals && formatCount(totals.rdma_packets)}
          note={totals && formatShare(totals.rdma_packets, totals.packets)}
        />
        <Tile label="Messages" value={totals && formatCount(totals.messages)} />
        <Tile
          label="Flows"
          value={totals && formatCount(totals.flows)}
          note={totals && `${formatCount(totals.connections)} conn.`}
        />
      </div>
      <div className={classes.group}>
        {TROUBLES.map((trouble) => (
          <TroubleTile key={trouble.key} capture={capture} trouble={trouble} />
        ))}
        {asides.map((trouble) => (
          <TroubleTile key={trouble.key} capture={capture} trouble={trouble} />
        ))}
      </div>
    </section>
  );
}
