import { ActionIcon, Button, Menu, Skeleton } from "@mantine/core";
import { IconArrowsDiff, IconArrowsJoin, IconDots, IconDownload, IconList, IconPlayerStop, IconRefresh, IconRoute, IconScale, IconStack2, IconTrash } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { API_BASE } from "../../api/client";
import { isRunning, pathsPageQuery } from "../../api/queries";
import type { Capture } from "../../api/types";
import { useCapture } from "../../api/useCapture";
import { EmptyState } from "../../components/EmptyState";
import { Page } from "../../components/Page";
import { QueryError } from "../../components/QueryError";
import { StatusBadge } from "../../components/StatusBadge";
import type { CaptureState } from "../../lib/viewState";
import { CaptureEvent } from "../agents/CaptureEvent";
import { AnalysisProgress } from "../captures/AnalysisProgress";
import { DeleteDialog } from "../captures/DeleteDialog";
import { useAnalyzeAgain, useCancelAnalysis, useRefreshAfterAnalysis } from "../captures/hooks";
import { CaptureFacts } from "./CaptureFacts";
import classes from "./CapturePage.module.css";
import { FlowsTable } from "./FlowsTable";
import { Pauses } from "./Pauses";
import { Summary } from "./Summary";
import { Throughput } from "./Throughput";

const route = getRouteApi("/captures/$captureId");
const CRUMBS = [{ label: "Captures" }];

/** In place of results while there are none. */
function WithoutResults({ capture }: { capture: Capture }) {
  const cancel = useCancelAnalysis();
  const again = useAnalyzeAgain();
  if (isRunning(capture)) {
    return (
      <EmptyState title="The analysis is running">
        <div className={classes.progress}>
          <AnalysisProgress capture={capture} />
        </div>
        <Button variant="default" onClick={() => cancel.mutate(capture.id)} loading={cancel.isPending}>
          Stop the analysis
        </Button>
      </EmptyState>
    );
  }
  return (
    <EmptyState title={capture.status === "cancelled" ? "The analysis was stopped" : "There are no results"}>
      <p>
        {capture.status === "cancelled"
          ? "The file is kept, and its analysis can be started again."
          : "Nothing could be made of this file. Delete it, or analyse it again with a later version."}
      </p>
      <Button variant="default" onClick={() => again.mutate(capture.id)} loading={again.isPending}>
        Analyse again
      </Button>
    </EmptyState>
  );
}

/** One capture: what it holds, how it went over time, who talked. */
export function CapturePage() {
  const { captureId } = route.useParams();
  const state = route.useSearch();
  const navigate = route.useNavigate();
  const [deleting, setDeleting] = useState<Capture>();
  const again = useAnalyzeAgain();
  const cancel = useCancelAnalysis();
  const { data: capture, error, refetch } = useCapture(captureId);
  useRefreshAfterAnalysis(capture);
  // Only captures of MetaRoCE have any.
  const { data: anyPaths } = useQuery({
    ...pathsPageQuery(captureId, { sort: "path_id", order: "asc", filter: "" }, 0),
    enabled: capture?.analyzed === true,
  });
  const paths = anyPaths?.total;
  const change = (part: Partial<CaptureState>) =>
    navigate({ search: (previous: CaptureState) => ({ ...previous, ...part }), replace: true });

  if (!capture) {
    return (
      <Page documentTitle="Capture" title={error ? "Capture" : <Skeleton height={18} width={240} />} crumbs={CRUMBS}>
        {error ? (
          <QueryError error={error} what="This capture" onRetry={() => void refetch()} />
        ) : (
          <>
            <Skeleton height={18} />
            <Skeleton height={106} />
            <Skeleton height={198} />
            <Skeleton style={{ flex: 1 }} />
          </>
        )}
      </Page>
    );
  }
  const running = isRunning(capture);
  return (
    <Page
      documentTitle={capture.name}
      title={capture.name}
      crumbs={CRUMBS}
      aside={<StatusBadge status={capture.status} />}
      actions={
        <>
          {paths !== undefined && paths > 0 && (
            <>
              <Button
                variant="default"
                leftSection={<IconRoute size={14} />}
                renderRoot={(props) => <Link to="/captures/$captureId/paths" params={{ captureId }} {...props} />}
              >
                Paths
              </Button>
              <Button
                variant="default"
                leftSection={<IconStack2 size={14} />}
                renderRoot={(props) => <Link to="/captures/$captureId/streams" params={{ captureId }} {...props} />}
              >
                Streams
              </Button>
            </>
          )}
          {capture.analyzed && (
            <Button
              variant="default"
              leftSection={<IconScale size={14} />}
              renderRoot={(props) => <Link to="/captures/$captureId/replay" params={{ captureId }} {...props} />}
            >
              Replay
            </Button>
          )}
          {capture.analyzed && (
            <Button
              variant="default"
              leftSection={<IconList size={14} />}
              renderRoot={(props) => <Link to="/captures/$captureId/packets" params={{ captureId }} {...props} />}
            >
              All packets
            </Button>
          )}
          <Menu>
            <Menu.Target>
              <ActionIcon variant="default" size={30} aria-label="More actions">
                <IconDots size={16} />
              </ActionIcon>
            </Menu.Target>
            <Menu.Dropdown>
              {running ? (
                <Menu.Item leftSection={<IconPlayerStop size={15} />} onClick={() => cancel.mutate(captureId)}>
                  Stop the analysis
                </Menu.Item>
              ) : (
                <Menu.Item leftSection={<IconRefresh size={15} />} onClick={() => again.mutate(captureId)}>
                  Analyse again
                </Menu.Item>
              )}
              {capture.analyzed && !running && (
                <>
                  <Menu.Item leftSection={<IconArrowsJoin size={15} />} renderRoot={(props) => <Link to="/captures/$captureId/merge" params={{ captureId }} search={{}} {...props} />}>
                    Merge: seen at another point …
                  </Menu.Item>
                  <Menu.Item leftSection={<IconArrowsDiff size={15} />} renderRoot={(props) => <Link to="/diff" search={{ a: captureId }} {...props} />}>
                    Diff with …
                  </Menu.Item>
                </>
              )}
              <Menu.Item component="a" href={`${API_BASE}/captures/${captureId}/file`} leftSection={<IconDownload size={15} />}>
                Download the file
              </Menu.Item>
              <Menu.Divider />
              <Menu.Item color="red" leftSection={<IconTrash size={15} />} onClick={() => setDeleting(capture)}>
                Delete …
              </Menu.Item>
            </Menu.Dropdown>
          </Menu>
        </>
      }
    >
      <CaptureFacts capture={capture} />
      <CaptureEvent captureId={captureId} />
      {capture.analyzed && !running ? (
        <>
          <Summary capture={capture} />
          {capture.pause && <Pauses captureId={captureId} pause={capture.pause} />}
          <Throughput capture={capture} from={state.from} to={state.to} onSpan={(from, to) => void change({ from, to })} />
          <FlowsTable
            capture={capture}
            state={state}
            onState={(part) => void change(part)}
            onOpen={(flow) => {
              // The way back leads to the row that was left.
              void change({ flow: flow.id }).then(() =>
                navigate({ to: "/captures/$captureId/flows/$flowId", params: { captureId, flowId: flow.id }, search: {} }),
              );
            }}
          />
        </>
      ) : (
        <WithoutResults capture={capture} />
      )}
      <DeleteDialog capture={deleting} onClose={() => setDeleting(undefined)} onDeleted={() => void navigate({ to: "/", search: {} })} />
    </Page>
  );
}
