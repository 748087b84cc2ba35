import { ActionIcon, Skeleton, Tooltip } from "@mantine/core";
import { IconX } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, type ReactNode } from "react";
import { pathSeriesQuery } from "../../api/queries";
import type { Capture, Path } from "../../api/types";
import { PathChart } from "../../charts/PathChart";
import { eventsOf, toLines } from "../../charts/pathSeries";
import { QueryError } from "../../components/QueryError";
import { Unknown } from "../../components/Unknown";
import { countOf, formatBitRate, formatCount, formatDuration } from "../../lib/format";
import { formatSeconds, parseTime } from "../../lib/time";
import { HintText, NO_ACKS, PathState } from "./pathColumns";
import classes from "./PathDetail.module.css";

interface Props {
  capture: Capture;
  path: Path;
  onClose: () => void;
}

function facts(path: Path): [string, ReactNode][] {
  const { rtt, rate_hint: hint } = path;
  const count = (value: number | null): ReactNode => (value === null ? <Unknown why={NO_ACKS} /> : formatCount(value));
  return [
    ["PSN", path.first_psn === null || path.last_psn === null ? <Unknown key="psn" why="no packet was captured" /> : <span key="psn" className="mono">{`${path.first_psn} … ${path.last_psn}`}</span>],
    ["ACKs", count(path.acks)],
    ["Received, by the receiver", count(path.received_packets)],
    ["of these CE", count(path.received_ce)],
    [
      "Round trip",
      rtt.smoothed_ns === null || rtt.min_ns === null || rtt.max_ns === null ? (
        <Unknown key="rtt" why={NO_ACKS} />
      ) : (
        `${formatDuration(rtt.smoothed_ns)} smoothed, ${formatDuration(rtt.min_ns)} to ${formatDuration(rtt.max_ns)} in ${countOf(rtt.samples, "sample")}`
      ),
    ],
    ["In flight", path.in_flight_max === null ? <Unknown key="flight" why={NO_ACKS} /> : `${formatCount(path.in_flight_max)} at most${path.in_flight_mean === null ? "" : `, ${formatCount(path.in_flight_mean)} on average`}`],
    [
      "Hint",
      hint.min_mbps === null || hint.max_mbps === null ? (
        <HintText key="hint" mbps={hint.last_mbps} unlimited={hint.unlimited} />
      ) : (
        `${formatBitRate(hint.min_mbps * 1e6)} to ${formatBitRate(hint.max_mbps * 1e6)}`
      ),
    ],
    ...(path.retransmitted > 0
      ? ([
          [
            "Resent",
            [
              `${formatCount(path.retransmitted)}`,
              path.retransmitted_after_gap ? `${formatCount(path.retransmitted_after_gap)} after a gap` : undefined,
              path.retransmitted_after_rnr ? `${formatCount(path.retransmitted_after_rnr)} for want of a buffer` : undefined,
              path.retransmitted_moved ? `${formatCount(path.retransmitted_moved)} from another path` : undefined,
              path.retransmitted_seen ? `the original of ${formatCount(path.retransmitted_seen)} was captured` : undefined,
            ]
              .filter(Boolean)
              .join(", "),
          ],
        ] as [string, ReactNode][])
      : []),
    ...(path.probes > 0 ? ([["PROBEs", formatCount(path.probes)]] as [string, ReactNode][]) : []),
  ];
}

/** The source ports in their order, each with when and where it came into use. */
function Ports({ capture, path }: { capture: Capture; path: Path }) {
  const origin = capture.first_packet_at === undefined ? undefined : parseTime(capture.first_packet_at);
  return (
    <ol className={classes.ports} aria-label="Source ports">
      {path.source_ports.map(({ port, packets, first_number, first_time }, index) => {
        const at = first_time === null ? undefined : parseTime(first_time);
        return (
          <li key={port}>
            <strong className="mono">{port}</strong> {countOf(packets, "packet")}
            {", from "}
            <Link to="/captures/$captureId/flows/$flowId" params={{ captureId: capture.id, flowId: path.flow_id }} search={{ packet: first_number }}>
              no. {formatCount(first_number)}
            </Link>
            {at !== undefined && origin !== undefined && <span className="muted"> at {formatSeconds(at - origin)} s</span>}
            {index > 0 && <span className={classes.moved}>moved</span>}
          </li>
        );
      })}
    </ol>
  );
}

/** One path: what it was, and its rate hint, packets in flight and round trip over time. */
export function PathDetail({ capture, path, onClose }: Props) {
  const origin = capture.first_packet_at === undefined ? undefined : parseTime(capture.first_packet_at);
  const { data, error, isPlaceholderData, refetch } = useQuery(pathSeriesQuery(capture.id, path.flow_id, path.path_id));
  const lines = useMemo(() => (data ? toLines(data, origin) : undefined), [data, origin]);
  const events = useMemo(() => (lines ? eventsOf(path, lines.base) : []), [lines, path]);
  const band = useMemo(() => (lines ? { low: lines.rttMin, high: lines.rttMax } : undefined), [lines]);
  const ticks = useMemo(
    () =>
      lines
        ? [
            { counts: lines.resent, color: "--rl-retransmitted" },
            { counts: lines.marked, color: "--rl-ce" },
          ]
        : [],
    [lines],
  );
  const sync = `path-${path.flow_id}-${path.path_id}`;
  const { rtt, rate_hint: hint } = path;
  return (
    <section className={classes.root} aria-label={`Path ${path.path_id}`} aria-busy={isPlaceholderData}>
      <div className={classes.bar}>
        <strong>Path {path.path_id}</strong>
        {path.plane_id !== null && <span className="muted">on plane {path.plane_id}</span>}
        <PathState path={path} />
        <span className={classes.legend}>
          <span data-kind="resent">sent again</span>
          <span data-kind="ce">CE</span>
          {events.length > 0 && <span data-kind="event">{events.map(({ label }) => label).join(", ")}</span>}
        </span>
        <Tooltip label="Close (Esc)">
          <ActionIcon size="sm" aria-label="Close the path" onClick={onClose}>
            <IconX size={16} />
          </ActionIcon>
        </Tooltip>
      </div>
      <div className={classes.scroll}>
        {error ? (
          <QueryError error={error} what="The path over time" onRetry={() => void refetch()} />
        ) : data === undefined ? (
          <Skeleton height={120} />
        ) : lines === undefined ? (
          <p className="muted">The capture has no time stamps, so nothing can be shown over time.</p>
        ) : (
          <div className={classes.charts}>
            <PathChart
              label="Rate hint"
              x={lines.x}
              values={lines.hint}
              stepped
              format={formatBitRate}
              events={events}
              ticks={ticks}
              sync={sync}
              note={hint.last_mbps === null ? (hint.unlimited > 0 ? "the receiver set no limit" : NO_ACKS) : `${formatBitRate(hint.last_mbps * 1e6)} at the end`}
            />
            <PathChart
              label="In flight"
              x={lines.x}
              values={lines.inFlight}
              stepped
              format={(value) => formatCount(Math.round(value))}
              events={events}
              ticks={ticks}
              sync={sync}
              note={path.in_flight_max === null ? NO_ACKS : `${formatCount(path.in_flight_max)} packets at most`}
            />
            <PathChart
              label="Round trip"
              x={lines.x}
              values={lines.rtt}
              {...(band && { band })}
              format={formatDuration}
              events={events}
              ticks={ticks}
              sync={sync}
              note={rtt.smoothed_ns === null ? NO_ACKS : `${formatDuration(rtt.smoothed_ns)} smoothed`}
            />
          </div>
        )}
        <dl className={classes.facts}>
          {facts(path).map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
        <h3 className={classes.heading}>Source ports</h3>
        <Ports capture={capture} path={path} />
      </div>
    </section>
  );
}
