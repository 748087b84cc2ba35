import { Skeleton } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useState } from "react";
import { pathsPageQuery } from "../../api/queries";
import { useCapture } from "../../api/useCapture";
import { Page } from "../../components/Page";
import { QueryError } from "../../components/QueryError";
import type { PathsState } from "../../lib/viewState";
import classes from "./FlowPathsPage.module.css";
import { ListView } from "./ListView";
import { PATHS } from "./listings";
import { ProfileNote } from "./ProfileNote";
import { pathColumns } from "./pathColumns";

const route = getRouteApi("/captures/$captureId/paths");

/** Paths of all MetaRoCE connections of a capture. */
export function PathsPage() {
  const { captureId } = route.useParams();
  const state = route.useSearch();
  const navigate = route.useNavigate();
  const [active, setActive] = useState<string>();
  const { data: capture, error, refetch } = useCapture(captureId);
  const change = (part: Partial<PathsState>) =>
    void navigate({ search: (previous: PathsState) => ({ ...previous, ...part }), replace: true });
  const columnsOf = useCallback(() => pathColumns(captureId, true), [captureId]);
  const crumbs = [{ label: "Captures" }, { label: capture?.name ?? "Capture", captureId }];
  return (
    <Page
      documentTitle={capture ? `Paths, ${capture.name}` : "Paths"}
      title="Paths of all connections"
      crumbs={crumbs}
      aside={<ProfileNote profile="mr0" />}
    >
      {error && !capture && <QueryError error={error} what="This capture" onRetry={() => void refetch()} />}
      {capture ? (
        <div className={classes.root}>
          <ListView
            listing={PATHS}
            columnsOf={columnsOf}
            state={state}
            onState={change}
            query={(params, page) => pathsPageQuery(captureId, params, page)}
            rowsOf={(page) => page.paths}
            activeKey={active}
            onActive={(row) => setActive(PATHS.key(row))}
            onOpen={(row) =>
              void navigate({
                to: "/captures/$captureId/flows/$flowId/paths",
                params: { captureId, flowId: row.flow_id },
                search: { path: row.path_id },
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
