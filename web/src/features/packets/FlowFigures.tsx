import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Flow } from "../../api/types";
import { Unknown } from "../../components/Unknown";
import { countOf, formatBitRate, formatBytes, formatCount, formatDuration, formatHex } from "../../lib/format";
import { Count, operationsOf, QueuePair, UNPAIRED } from "../flows/flowColumns";
import classes from "./FlowFigures.module.css";

const NO_PSN = "packets of this flow carry no sequence that could tell";
const NO_IP = "there is no IP header that could carry the mark";

type FlowRoute = `/captures/$captureId/flows/$flowId${"" | "/sequence" | "/paths" | "/streams"}`;

interface Figure {
  header: string;
  title?: string;
  cell: (flow: Flow) => ReactNode;
}

function causes(flow: Flow): string | undefined {
  const parts = [
    [flow.retransmitted_after_nak, "after a NAK"],
    [flow.retransmitted_after_rnr, "after RNR"],
    [flow.retransmitted_after_timeout, "after a timeout"],
  ] as const;
  const known = parts.filter(([count]) => count !== null && count > 0);
  return known.length > 0 ? known.map(([count, why]) => `${formatCount(count ?? 0)} ${why}`).join(", ") : undefined;
}

function nakCodes(flow: Flow): string | undefined {
  const codes = Object.entries(flow.naks_by_code);
  return codes.length > 0 ? codes.map(([code, count]) => `${formatCount(count)} ${code}`).join(", ") : undefined;
}

const FIGURES: readonly Figure[] = [
  { header: "Packets", cell: (flow) => formatCount(flow.packets) },
  { header: "Bytes", cell: (flow) => formatBytes(flow.bytes) },
  { header: "Messages", cell: (flow) => <Count value={flow.messages} why={NO_PSN} /> },
  {
    header: "Throughput",
    title: "On the wire, from first to last packet",
    cell: (flow) =>
      flow.throughput_bps === null ? (
        <Unknown why="one packet, or packets without time, have no rate" />
      ) : (
        formatBitRate(flow.throughput_bps)
      ),
  },
  {
    header: "Goodput",
    title: "Payload that was delivered for the first time",
    cell: (flow) => (flow.goodput_bytes === null ? <Unknown why={NO_PSN} /> : formatBytes(flow.goodput_bytes)),
  },
  {
    header: "Retransmitted",
    cell: (flow) => (
      <span title={causes(flow)}>
        <Count value={flow.retransmitted} why={NO_PSN} severity="bad" />
      </span>
    ),
  },
  { header: "Missing", title: "PSNs that never came by", cell: (flow) => <Count value={flow.missing_psns} why={NO_PSN} severity="warn" /> },
  { header: "Out of order", cell: (flow) => <Count value={flow.out_of_order} why={NO_PSN} severity="warn" /> },
  { header: "Duplicates", cell: (flow) => <Count value={flow.duplicates} why={NO_PSN} severity="warn" /> },
  { header: "ACK", cell: (flow) => <Count value={flow.acks} why="" /> },
  {
    header: "NAK",
    cell: (flow) => (
      <span title={nakCodes(flow)}>
        <Count value={flow.naks} why="" severity="bad" />
      </span>
    ),
  },
  { header: "RNR", cell: (flow) => <Count value={flow.rnr_naks} why="" severity="bad" /> },
  { header: "CNP", cell: (flow) => <Count value={flow.cnps} why="" severity="warn" /> },
  { header: "CE", cell: (flow) => <Count value={flow.ce_marked} why={NO_IP} severity="warn" /> },
  { header: "ICRC bad", cell: (flow) => <Count value={flow.icrc_bad} why="" severity="bad" /> },
];

/** How a connection of MetaRoCE was set up and ended, and what its sender said of itself. */
function connectionFacts(of: NonNullable<Flow["metaroce"]>): [string, ReactNode][] {
  const list: [string, ReactNode][] = [];
  const accepted = of.accept_time_ns === null ? "" : ` after ${formatDuration(of.accept_time_ns)}`;
  const reason = of.reject_reason ? `, ${of.reject_reason.replaceAll("_", " ")}` : "";
  list.push(["Handshake", of.handshake === "unseen" ? "not seen" : `${of.handshake}${accepted}${reason}`]);
  if (of.path_count !== null && of.plane_count !== null) {
    list.push(["Declared", `${countOf(of.path_count, "path")} on ${countOf(of.plane_count, "plane")}${of.link_rate_mbps ? `, ${formatBitRate(of.link_rate_mbps * 1e6)}` : ""}${of.max_window === null ? "" : `, window ${formatCount(of.max_window)}`}`]);
  }
  if (of.disconnect_reason) list.push(["Ended", of.disconnect_reason.replaceAll("_", " ")]);
  return list;
}

/** Facts that are the same for all packets of the flow, or nearly. */
function facts(flow: Flow): [string, ReactNode][] {
  const list: [string, ReactNode][] = [
    ["Operations", operationsOf(flow).map(({ name, count }) => `${name} ${formatCount(count)}`).join(", ") || UNPAIRED],
    ["MAC", <span key="mac" className="mono">{`${flow.source_mac} → ${flow.destination_mac}`}</span>],
  ];
  if (flow.tunnel) {
    list.push(["Tunnel", `${flow.tunnel}${flow.outer_source ? `, ${flow.outer_source} → ${flow.outer_destination ?? ""}` : ""}`]);
  }
  if (flow.vlan !== null) list.push(["VLAN", flow.vlan]);
  if (flow.dscp !== null) list.push(["DSCP", flow.dscp]);
  if (flow.source_port !== null) {
    const others = flow.source_ports !== null && flow.source_ports > 1 ? ` and ${formatCount(flow.source_ports - 1)} more` : "";
    const rewritten = flow.port_rewritten_from === null ? "" : `, rewritten from ${flow.port_rewritten_from} on the way`;
    list.push(["UDP source port", `${flow.source_port}${others}${rewritten}`]);
  }
  if (flow.path_mtu !== null) list.push(["Path MTU", `${formatCount(flow.path_mtu)} B`]);
  if (flow.first_psn !== null && flow.last_psn !== null) {
    list.push(["PSN", <span key="psn" className="mono">{`${formatHex(flow.first_psn, 6)} … ${formatHex(flow.last_psn, 6)}`}</span>]);
  }
  if (flow.metaroce) list.push(...connectionFacts(flow.metaroce));
  if (flow.duration_ns !== undefined && flow.first_time) list.push(["Duration", formatDuration(BigInt(flow.duration_ns))]);
  return list;
}

interface EndpointProps {
  flow: Flow;
  captureId: string;
  current: boolean;
  to: FlowRoute;
}

function Endpoint({ flow, captureId, current, to }: EndpointProps) {
  const text = (
    <>
      {flow.source} <QueuePair number={flow.source_qp} why={UNPAIRED} /> → {flow.destination}{" "}
      <QueuePair number={flow.destination_qp} why="" />
    </>
  );
  if (current) return <span className="mono">{text}</span>;
  return (
    <Link className="mono" to={to} params={{ captureId, flowId: flow.id }} title="Make this the main direction">
      {text}
    </Link>
  );
}

interface Props {
  captureId: string;
  flow: Flow;
  reverse: Flow | undefined;
  /** View that the other direction is shown in. */
  to: FlowRoute;
}

/** Both directions of a connection, figure below figure. */
export function FlowFigures({ captureId, flow, reverse, to }: Props) {
  const rows = reverse ? [flow, reverse] : [flow];
  return (
    <section className={classes.root} aria-label="Figures of both directions">
      <div className={classes.scroll}>
        <table className={classes.table}>
          <thead>
            <tr>
              <th scope="col">Direction</th>
              {FIGURES.map(({ header, title }) => (
                <th key={header} scope="col" title={title}>
                  {header}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.id}>
                <th scope="row">
                  <span className={classes.arrow} data-main={row === flow || undefined}>
                    {row === flow ? "→" : "←"}
                  </span>
                  <Endpoint flow={row} captureId={captureId} current={row === flow} to={to} />
                </th>
                {FIGURES.map(({ header, cell }) => (
                  <td key={header}>{cell(row)}</td>
                ))}
              </tr>
            ))}
            {!reverse && (
              <tr>
                <th scope="row" colSpan={FIGURES.length + 1} className={classes.alone}>
                  The other direction is unknown: {UNPAIRED}.
                </th>
              </tr>
            )}
          </tbody>
        </table>
      </div>
      <dl className={classes.facts}>
        {facts(flow).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
