import { getRouteApi } from "@tanstack/react-router";
import { useCallback } from "react";
import { streamsPageQuery } from "../../api/queries";
import type { Capture, Stream } from "../../api/types";
import { EmptyState } from "../../components/EmptyState";
import type { StreamsState } from "../../lib/viewState";
import { FlowFrame } from "../packets/FlowFrame";
import classes from "./FlowPathsPage.module.css";
import { ListView } from "./ListView";
import { STREAMS } from "./listings";
import { streamColumns } from "./streamColumns";

const route = getRouteApi("/captures/$captureId/flows/$flowId/streams");

/** Streams of one direction of a MetaRoCE connection. */
export function FlowStreamsPage() {
  const { captureId, flowId } = route.useParams();
  return (
    <FlowFrame captureId={captureId} flowId={flowId} tab="streams">
      {(capture, flow) =>
        flow.metaroce ? (
          <Streams key={flowId} capture={capture} flowId={flowId} />
        ) : (
          <EmptyState title="No streams">
            <p>Only connections of MetaRoCE have streams; this flow is {flow.protocol}.</p>
          </EmptyState>
        )
      }
    </FlowFrame>
  );
}

function Streams({ capture, flowId }: { capture: Capture; flowId: string }) {
  const state = route.useSearch();
  const navigate = route.useNavigate();
  const change = (part: Partial<StreamsState>) =>
    void navigate({ search: (previous: StreamsState) => ({ ...previous, ...part }), replace: true });
  const columnsOf = useCallback((rows: readonly Stream[]) => streamColumns(capture.id, false, rows), [capture.id]);
  return (
    <div className={classes.root}>
      <ListView
        listing={STREAMS}
        columnsOf={columnsOf}
        flowId={flowId}
        state={state}
        onState={change}
        query={(params, page) => streamsPageQuery(capture.id, params, page)}
        rowsOf={(page) => page.streams}
        activeKey={state.stream === undefined ? undefined : `${flowId}/${state.stream}`}
        onActive={(row) => change({ stream: row.stream_id })}
      />
    </div>
  );
}
