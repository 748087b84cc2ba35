import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { replayQuery } from "../../api/queries";
import type { Replay, ReplayDirection } from "../../api/types";
import { Unknown } from "../../components/Unknown";
import { countOf, formatCount, formatDuration } from "../../lib/format";
import classes from "./ConnectionReplay.module.css";
import { FlowDivergences } from "./FlowDivergences";

const VERDICTS = {
  conforms: "Does what the reference would",
  diverges: "Diverges from the reference",
  undetermined: "Undetermined: the capture cannot tell",
} as const;

const VANTAGES = {
  unknown: "at an unknown point",
  "near the requester": "near the requester",
  "between the two": "between the two",
  "near the responder": "near the responder",
} as const;

type Trip = NonNullable<ReplayDirection["to_receiver"]>;

const spread = ({ min_ns, max_ns }: Trip) => `${formatDuration(min_ns)} to ${formatDuration(max_ns)}`;

function share(value: number): string {
  return `${(100 * value).toLocaleString("en", { maximumSignificantDigits: 2 })} %`;
}

function waits(of: ReplayDirection["waits"]): ReactNode {
  if (of === null) return <Unknown why="only of requesters of RoCE, whose packets have a time" />;
  const still = [
    [of.timers, of.timer_ns, "for the timer"],
    [of.rnrs, of.rnr_ns, "as RNR NAKs asked"],
  ] as const;
  const parts = still.filter(([times]) => times > 0).map(([times, ns, why]) => `${formatDuration(ns)} ${why} (${countOf(times, "time")})`);
  return parts.length > 0 ? `${parts.join(", ")} of ${formatDuration(of.lasting_ns)}` : `none in ${formatDuration(of.lasting_ns)}`;
}

interface Figure {
  header: string;
  title: string;
  cell: (direction: ReplayDirection) => ReactNode;
}

const FIGURES: readonly Figure[] = [
  {
    header: "Missed by the capture",
    title: "Packets that the receiver had and the capture has not, as far as the answers tell",
    cell: (d) => (d.missed_share === null ? <Unknown why="the answers do not tell" /> : `${formatCount(d.missed)}, ${share(d.missed_share)}`),
  },
  { header: "Lost before it", title: "Between the sender and the capture", cell: (d) => formatCount(d.lost_before) },
  { header: "Lost behind it", title: "Between the capture and the receiver", cell: (d) => formatCount(d.lost_after) },
  { header: "Resent, reason unknown", title: "Nothing tells what was lost, or where", cell: (d) => formatCount(d.resent_unknown) },
  {
    header: "Round trip to the receiver",
    title: "From the capture to the receiver and back",
    cell: (d) => (d.to_receiver ? spread(d.to_receiver) : <Unknown why="no packet was answered alone" />),
  },
  {
    header: "To the sender",
    title: "From the capture to the sender and back",
    cell: (d) => (d.to_sender ? spread(d.to_sender) : <Unknown why="no NAK was followed by what it asked for" />),
  },
  { header: "Stood still", title: "Waits for the retransmission timer, and those that RNR NAKs asked for", cell: (d) => waits(d.waits) },
];

const spelled = (name: string) => (name.charAt(0).toUpperCase() + name.slice(1)).replaceAll("_", " ").replace("Cnp", "CNP").replace("Mtu", "MTU");

function Directions({ replay }: { replay: Replay }) {
  return (
    <div className={classes.scroll}>
      <table className={classes.table}>
        <thead>
          <tr>
            <th scope="col">Sender</th>
            {FIGURES.map(({ header, title }) => (
              <th key={header} scope="col" title={title}>
                {header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {replay.directions.map((direction) => (
            <tr key={`${direction.sender.address} ${direction.sender.qp ?? ""}`}>
              <th scope="row" className="mono">
                {direction.sender.address}
              </th>
              {FIGURES.map(({ header, cell }) => (
                <td key={header}>{cell(direction)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface Props {
  captureId: string;
  flowId: string;
}

/** What came of a connection held against the reference transport. Datagrams are held against none, and show nothing. */
export function ConnectionReplay({ captureId, flowId }: Props) {
  const { data: replay } = useQuery(replayQuery(captureId, flowId));
  if (!replay) return null;
  return (
    <details className={classes.root}>
      <summary className={classes.summary}>
        <span className={classes.verdict} data-verdict={replay.verdict}>
          {VERDICTS[replay.verdict]}
        </span>
        <span className="muted">
          captured {replay.one_way ? "in one direction only" : VANTAGES[replay.vantage]}: what was lost where, round trips, waits, and
          habits of its ends
        </span>
      </summary>
      <FlowDivergences captureId={captureId} connectionId={replay.connection_id} />
      <Directions replay={replay} />
      {Object.keys(replay.properties).length > 0 && (
        <dl className={classes.properties}>
          {Object.entries(replay.properties).map(([name, value]) => (
            <div key={name}>
              <dt>{spelled(name)}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      )}
    </details>
  );
}
