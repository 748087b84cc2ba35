import { Skeleton } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useState } from "react";
import { streamsPageQuery } from "../../api/queries";
import { useCapture } from "../../api/useCapture";
import type { Stream } from "../../api/types";
import { Page } from "../../components/Page";
import { QueryError } from "../../components/QueryError";
import type { StreamsState } from "../../lib/viewState";
import classes from "./FlowPathsPage.module.css";
import { ListView } from "./ListView";
import { STREAMS } from "./listings";
import { ProfileNote } from "./ProfileNote";
import { streamColumns } from "./streamColumns";

const route = getRouteApi("/captures/$captureId/streams");

/** Streams of all MetaRoCE connections of a capture. */
export function StreamsPage() {
  const { captureId } = route.useParams();
  const state = route.useSearch();
  const navigate = route.useNavigate();
  const [active, setActive] = useState<string>();
  const { data: capture, error, refetch } = useCapture(captureId);
  const change = (part: Partial<StreamsState>) =>
    void navigate({ search: (previous: StreamsState) => ({ ...previous, ...part }), replace: true });
  const columnsOf = useCallback((rows: readonly Stream[]) => streamColumns(captureId, true, rows), [captureId]);
  const crumbs = [{ label: "Captures" }, { label: capture?.name ?? "Capture", captureId }];
  return (
    <Page
      documentTitle={capture ? `Streams, ${capture.name}` : "Streams"}
      title="Streams of all connections"
      crumbs={crumbs}
      aside={<ProfileNote profile="mr0" />}
    >
      {error && !capture && <QueryError error={error} what="This capture" onRetry={() => void refetch()} />}
      {capture ? (
        <div className={classes.root}>
          <ListView
            listing={STREAMS}
            columnsOf={columnsOf}
            state={state}
            onState={change}
            query={(params, page) => streamsPageQuery(captureId, params, page)}
            rowsOf={(page) => page.streams}
            activeKey={active}
            onActive={(row) => setActive(STREAMS.key(row))}
            onOpen={(row) =>
              void navigate({
                to: "/captures/$captureId/flows/$flowId/streams",
                params: { captureId, flowId: row.flow_id },
                search: { stream: row.stream_id },
              })
            }
          />
        </div>
      ) : (
        !error && <Skeleton style={{ flex: 1 }} />
      )}
    </Page>
  );
}
