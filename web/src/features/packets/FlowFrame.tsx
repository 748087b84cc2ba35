import { Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { flowQuery } from "../../api/queries";
import type { Capture, Flow } from "../../api/types";
import { useCapture } from "../../api/useCapture";
import { Page } from "../../components/Page";
import { QueryError } from "../../components/QueryError";
import { formatCount } from "../../lib/format";
import { ProfileNote } from "../metaroce/ProfileNote";
import { ConnectionReplay } from "../replay/ConnectionReplay";
import { FlowFigures } from "./FlowFigures";
import classes from "./FlowFrame.module.css";

export type FlowTab = "packets" | "sequence" | "paths" | "streams";

const TABS = {
  packets: "/captures/$captureId/flows/$flowId",
  sequence: "/captures/$captureId/flows/$flowId/sequence",
  paths: "/captures/$captureId/flows/$flowId/paths",
  streams: "/captures/$captureId/flows/$flowId/streams",
} as const;

/** Views of a flow: its packets, the graph of its PSNs and, of MetaRoCE, its paths and streams. */
function Tabs({ captureId, flow }: { captureId: string; flow: Flow }) {
  const { metaroce } = flow;
  const counts = { packets: undefined, sequence: undefined, paths: metaroce?.paths, streams: metaroce?.streams };
  const names = metaroce ? (["packets", "sequence", "paths", "streams"] as const) : (["packets", "sequence"] as const);
  return (
    <nav className={classes.tabs} aria-label="Views of the flow">
      {names.map((name) => (
        <Link key={name} to={TABS[name]} params={{ captureId, flowId: flow.id }} search={{}} activeOptions={{ exact: true, includeSearch: false }} className={classes.tab}>
          {name.charAt(0).toUpperCase() + name.slice(1)}
          {counts[name] !== undefined && <span className={classes.count}>{formatCount(counts[name])}</span>}
        </Link>
      ))}
    </nav>
  );
}

interface Props {
  captureId: string;
  flowId: string;
  tab: FlowTab;
  actions?: ReactNode;
  children: (capture: Capture, flow: Flow) => ReactNode;
}

/** What all views of a flow have in common: its name, its figures, and the other direction's. */
export function FlowFrame({ captureId, flowId, tab, actions, children }: Props) {
  const capture = useCapture(captureId);
  const flow = useQuery(flowQuery(captureId, flowId));
  const reverseId = flow.data?.reverse_flow_id;
  const reverse = useQuery({ ...flowQuery(captureId, reverseId ?? ""), enabled: reverseId !== undefined });
  const crumbs = [{ label: "Captures" }, { label: capture.data?.name ?? "Capture", captureId }];
  const failed = capture.error ? capture : flow.error && !flow.data ? flow : undefined;
  if (failed) {
    return (
      <Page documentTitle="Flow" title="Flow" crumbs={crumbs}>
        <QueryError error={failed.error} what={failed === capture ? "This capture" : "This flow"} onRetry={() => void failed.refetch()} />
      </Page>
    );
  }
  if (!capture.data || !flow.data || (reverseId !== undefined && reverse.isPending)) {
    return (
      <Page documentTitle="Flow" title={<Skeleton height={18} width={320} />} crumbs={crumbs}>
        <Skeleton height={122} style={{ flex: "none" }} />
        <Skeleton height={134} style={{ flex: "none" }} />
        <Skeleton style={{ flex: 1 }} />
      </Page>
    );
  }
  const { source, destination, service, protocol, metaroce } = flow.data;
  const title = `${source} → ${destination}`;
  const view = tab === "packets" ? "" : `${tab.charAt(0).toUpperCase()}${tab.slice(1)} of `;
  return (
    <Page
      documentTitle={`${view}${title}, ${capture.data.name}`}
      title={<span className="mono">{title}</span>}
      crumbs={crumbs}
      aside={
        metaroce ? (
          <ProfileNote profile={metaroce.profile} />
        ) : (
          <span className="muted">
            {service}, {protocol}
          </span>
        )
      }
      actions={
        <>
          <Link to="/captures/$captureId/merge" params={{ captureId }} search={{ flow: flow.data.id }} title="Merge with a capture of another point of its path">
            Seen at another point …
          </Link>
          <Link to="/diff" search={{ a: captureId, flow_a: flow.data.id }} title="Side by side with another connection">
            Diff with …
          </Link>
          {actions}
        </>
      }
    >
      <FlowFigures captureId={captureId} flow={flow.data} reverse={reverse.data} to={TABS[tab]} />
      <ConnectionReplay captureId={captureId} flowId={flow.data.id} />
      <Tabs captureId={captureId} flow={flow.data} />
      {children(capture.data, flow.data)}
    </Page>
  );
}
