import { Button } from "@mantine/core";
import { useLocalStorage } from "@mantine/hooks";
import { IconChartHistogram } from "@tabler/icons-react";
import { getRouteApi } from "@tanstack/react-router";
import type { PacketsState } from "../../lib/viewState";
import { Throughput } from "../flows/Throughput";
import { FlowFrame } from "./FlowFrame";
import { PacketWorkspace } from "./PacketWorkspace";

const route = getRouteApi("/captures/$captureId/flows/$flowId");
const CHART_HEIGHT = 112;

/** One flow with the other direction of its connection, down to the bytes. */
export function FlowPage() {
  const { captureId, flowId } = route.useParams();
  const state = route.useSearch();
  const navigate = route.useNavigate();
  const [chart, setChart] = useLocalStorage({ key: "rocelens-flow-chart", defaultValue: true, getInitialValueInEffect: false });
  const change = (part: Partial<PacketsState>) =>
    void navigate({ search: (previous: PacketsState) => ({ ...previous, ...part }), replace: true });
  return (
    <FlowFrame
      captureId={captureId}
      flowId={flowId}
      tab="packets"
      actions={
        <Button variant="default" leftSection={<IconChartHistogram size={14} />} aria-pressed={chart} onClick={() => setChart(!chart)}>
          {chart ? "Hide chart" : "Show chart"}
        </Button>
      }
    >
      {(capture, flow) => (
        <>
          {chart && (
            <Throughput
              capture={capture}
              flowId={flowId}
              from={state.from}
              to={state.to}
              height={CHART_HEIGHT}
              onSpan={(from, to) => change({ from, to })}
            />
          )}
          <PacketWorkspace
            key={flowId}
            capture={capture}
            flowId={flowId}
            paired={flow.reverse_flow_id !== undefined}
            state={state}
            onState={change}
          />
        </>
      )}
    </FlowFrame>
  );
}
