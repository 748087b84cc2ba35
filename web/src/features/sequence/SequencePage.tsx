import { getRouteApi } from "@tanstack/react-router";
import { FlowFrame } from "../packets/FlowFrame";
import { SequenceView } from "./SequenceView";

const route = getRouteApi("/captures/$captureId/flows/$flowId/sequence");

/** The PSNs of a flow over time. */
export function SequencePage() {
  const { captureId, flowId } = route.useParams();
  return (
    <FlowFrame captureId={captureId} flowId={flowId} tab="sequence">
      {(_, flow) => <SequenceView key={flowId} captureId={captureId} flow={flow} />}
    </FlowFrame>
  );
}
