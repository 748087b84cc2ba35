import { Button, Skeleton } from "@mantine/core";
import { useLocalStorage } from "@mantine/hooks";
import { IconChartHistogram } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { captureQuery, flowQuery } from "../../api/queries";
import { Page } from "../../components/Page";
import { QueryError } from "../../components/QueryError";
import type { PacketsState } from "../../lib/viewState";
import { Throughput } from "../flows/Throughput";
import { FlowFigures } from "./FlowFigures";
import { PacketWorkspace } from "./PacketWorkspace";

const route = getRouteApi("/captures/$captureId/flows/$flowId");
const CHART_HEIGHT = 112;

/** One flow with the other direction of its connection, down to the bytes. */
export function FlowPage() {
  const { captureId, flowId } = route.useParams();
  const state = route.useSearch();
  const navigate = route.useNavigate();
  const [chart, setChart] = useLocalStorage({ key: "rocelens-flow-chart", defaultValue: true, getInitialValueInEffect: false });
  const capture = useQuery(captureQuery(captureId));
  const flow = useQuery(flowQuery(captureId, flowId));
  const reverseId = flow.data?.reverse_flow_id;
  const reverse = useQuery({ ...flowQuery(captureId, reverseId ?? ""), enabled: reverseId !== undefined });
  const crumbs = [{ label: "Captures" }, { label: capture.data?.name ?? "Capture", captureId }];
  const change = (part: Partial<PacketsState>) =>
    void navigate({ search: (previous: PacketsState) => ({ ...previous, ...part }), replace: true });

  const failed = capture.error ? capture : flow.error ? flow : undefined;
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
  const { source, destination, service, protocol } = flow.data;
  const title = `${source} → ${destination}`;
  return (
    <Page
      documentTitle={`${title}, ${capture.data.name}`}
      title={<span className="mono">{title}</span>}
      crumbs={crumbs}
      aside={
        <span className="muted">
          {service}, {protocol}
        </span>
      }
      actions={
        <Button variant="default" leftSection={<IconChartHistogram size={14} />} aria-pressed={chart} onClick={() => setChart(!chart)}>
          {chart ? "Hide chart" : "Show chart"}
        </Button>
      }
    >
      <FlowFigures captureId={captureId} flow={flow.data} reverse={reverse.data} />
      {chart && (
        <Throughput
          capture={capture.data}
          flowId={flowId}
          from={state.from}
          to={state.to}
          height={CHART_HEIGHT}
          onSpan={(from, to) => change({ from, to })}
        />
      )}
      <PacketWorkspace
        key={flowId}
        capture={capture.data}
        flowId={flowId}
        paired={reverseId !== undefined}
        state={state}
        onState={change}
      />
    </Page>
  );
}
