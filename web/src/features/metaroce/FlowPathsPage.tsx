import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useEffect, useEffectEvent } from "react";
import { useQuery } from "@tanstack/react-query";
import { isOverlayOpen } from "../../app/keyboard";
import { pathsPageQuery } from "../../api/queries";
import type { Capture } from "../../api/types";
import { EmptyState } from "../../components/EmptyState";
import { Split } from "../../components/Split";
import { useNarrow } from "../../components/useNarrow";
import type { PathsState } from "../../lib/viewState";
import { FlowFrame } from "../packets/FlowFrame";
import classes from "./FlowPathsPage.module.css";
import { ListView } from "./ListView";
import { PATHS } from "./listings";
import { pathColumns } from "./pathColumns";
import { PathDetail } from "./PathDetail";

const route = getRouteApi("/captures/$captureId/flows/$flowId/paths");

/** Paths of one direction of a MetaRoCE connection. */
export function FlowPathsPage() {
  const { captureId, flowId } = route.useParams();
  return (
    <FlowFrame captureId={captureId} flowId={flowId} tab="paths">
      {(capture, flow) =>
        flow.metaroce ? (
          <Paths key={flowId} capture={capture} flowId={flowId} />
        ) : (
          <EmptyState title="No paths">
            <p>Only connections of MetaRoCE have paths; this flow is {flow.protocol}.</p>
          </EmptyState>
        )
      }
    </FlowFrame>
  );
}

function Paths({ capture, flowId }: { capture: Capture; flowId: string }) {
  const state = route.useSearch();
  const navigate = route.useNavigate();
  const narrow = useNarrow();
  const change = (part: Partial<PathsState>) =>
    void navigate({ search: (previous: PathsState) => ({ ...previous, ...part }), replace: true });
  const open = state.path;
  // The one that a link opens may not be among the rows in view, or be left out by the filter.
  const one = useQuery({
    ...pathsPageQuery(capture.id, { flowId, sort: "path_id", order: "asc", filter: `path${open ?? ""}` }, 0),
    enabled: open !== undefined,
  });
  const path = open === undefined ? undefined : one.data?.paths[0];
  const columnsOf = useCallback(() => pathColumns(capture.id, false), [capture.id]);
  const close = useEffectEvent(() => change({ path: undefined }));
  const isOpen = open !== undefined;
  useEffect(() => {
    if (!isOpen) return;
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || event.defaultPrevented || isOverlayOpen() || event.target instanceof HTMLInputElement) return;
      close();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [isOpen]);
  const list = (
    <ListView
      listing={PATHS}
      columnsOf={columnsOf}
      flowId={flowId}
      state={state}
      onState={change}
      query={(params, page) => pathsPageQuery(capture.id, params, page)}
      rowsOf={(page) => page.paths}
      activeKey={open === undefined ? undefined : `${flowId}/${open}`}
      onActive={(row) => change({ path: row.path_id })}
    />
  );
  if (!path) return <div className={classes.root}>{list}</div>;
  const detail = <PathDetail capture={capture} path={path} onClose={() => change({ path: undefined })} />;
  if (narrow) {
    return (
      <div className={classes.root}>
        {list}
        {detail}
      </div>
    );
  }
  return (
    <div className={classes.root}>
      <Split name="path" direction="column" initial={45} label="Size of the list and the path" first={list} second={detail} />
    </div>
  );
}
