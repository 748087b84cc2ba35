import { Button, Menu, ActionIcon, SegmentedControl, Skeleton } from "@mantine/core";
import { IconArrowsLeftRight, IconDots, IconRefresh, IconTrash } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { Merge } from "../../api/types";
import { isGone, useCapture } from "../../api/useCapture";
import { EmptyState } from "../../components/EmptyState";
import { Meter } from "../../components/Meter";
import { Page } from "../../components/Page";
import { QueryError } from "../../components/QueryError";
import { countOf, formatPacketRate, formatTimeLeft } from "../../lib/format";
import type { MergeState } from "../../lib/viewState";
import { Directions } from "./Directions";
import classes from "./MergePage.module.css";
import { MergePackets } from "./MergePackets";
import { MergeRules } from "./MergeRules";
import { isUnderWay, mergeQuery, useBeginMerge, useEndMerge, type Pair } from "./query";
import { Summary } from "./Summary";
import { progressText } from "./words";

const route = getRouteApi("/captures/$captureId/merge/$withId");

function UnderWay({ merge, pair, onCancelled }: { merge: Merge; pair: Pair; onCancelled: () => void }) {
  const end = useEndMerge();
  const { phase, share } = progressText(merge);
  const progress = merge.status === "running" ? merge.progress : null;
  return (
    <EmptyState title="The captures are being merged">
      <div className={classes.progress}>
        <Meter label="Merge" share={share} />
        <p className="muted" role="status">
          {phase}
          {progress && progress.packets > 0 && `, ${countOf(progress.packets, "packet")} of ${countOf(progress.packets_total, "packet")} read`}
          {progress && progress.packets_per_second > 0 && `, ${formatPacketRate(progress.packets_per_second)}`}
          {progress?.seconds_left !== null && progress?.seconds_left !== undefined && `, ${formatTimeLeft(progress.seconds_left)} left`}
        </p>
      </div>
      <Button variant="default" loading={end.isPending} onClick={() => end.mutate(pair, { onSuccess: onCancelled })}>
        Stop the merge
      </Button>
    </EmptyState>
  );
}

function NotMerged({ pair, failure }: { pair: Pair; failure: string | undefined }) {
  const begin = useBeginMerge();
  return (
    <EmptyState title={failure === undefined ? "These captures are not merged" : "The captures could not be merged"} {...(failure !== undefined && { tone: "bad" as const })}>
      <p>{failure ?? "What came of it was not kept, or nobody has merged them."}</p>
      <Button variant="default" loading={begin.isPending} onClick={() => begin.mutate(pair)}>
        {failure === undefined ? "Merge them" : "Try again"}
      </Button>
    </EmptyState>
  );
}

/** What two captures of the same traffic tell together. */
export function MergePage() {
  const { captureId: first, withId: second } = route.useParams();
  const state = route.useSearch();
  const navigate = route.useNavigate();
  const captures = [useCapture(first), useCapture(second)] as const;
  const pair: Pair = { first, second };
  const { data: merge, error, refetch } = useQuery(mergeQuery(pair));
  const begin = useBeginMerge();
  const end = useEndMerge();
  const change = (part: Partial<MergeState>) => void navigate({ search: (previous: MergeState) => ({ ...previous, ...part }), replace: true });
  const names = [captures[0].data?.name ?? merge?.first.name ?? "", captures[1].data?.name ?? merge?.second.name ?? ""] as const;
  const toPicker = () => void navigate({ to: "/captures/$captureId/merge", params: { captureId: first }, search: { flow: state.flow } });
  const lost = captures.find((capture) => capture.error);
  const view = state.view ?? "directions";
  const result = merge?.status === "done" ? merge.result : undefined;
  return (
    <Page
      documentTitle={names[0] ? `${names[0]} and ${names[1]}, merged` : "Merge"}
      title="Two points, merged"
      crumbs={[{ label: "Captures" }, { label: names[0] || "Capture", captureId: first }]}
      actions={
        result && (
          <>
            <Link to="/captures/$captureId/merge/$withId" params={{ captureId: second, withId: first }} search={{}} title="Merge with the other capture's clock as the first">
              B first
            </Link>
            <Button variant="default" leftSection={<IconArrowsLeftRight size={14} />} renderRoot={(props) => <Link to="/diff" search={{ a: first, b: second, flow_a: state.flow, flow_b: state.flow }} {...props} />}>
              Diff
            </Button>
            <Menu>
              <Menu.Target>
                <ActionIcon variant="default" size={30} aria-label="More actions">
                  <IconDots size={16} />
                </ActionIcon>
              </Menu.Target>
              <Menu.Dropdown>
                <Menu.Item leftSection={<IconRefresh size={15} />} onClick={() => end.mutate(pair, { onSuccess: () => begin.mutate(pair) })}>
                  Merge again
                </Menu.Item>
                <Menu.Item color="red" leftSection={<IconTrash size={15} />} onClick={() => end.mutate(pair, { onSuccess: toPicker })}>
                  Forget this merge
                </Menu.Item>
              </Menu.Dropdown>
            </Menu>
          </>
        )
      }
    >
      {lost && <QueryError error={lost.error} what={lost === captures[0] ? "The first capture" : "The second capture"} onRetry={() => void lost.refetch()} />}
      {!lost && error && !merge && (isGone(error) ? <NotMerged pair={pair} failure={undefined} /> : <QueryError error={error} what="This merge" onRetry={() => void refetch()} />)}
      {!lost && !merge && !error && <Skeleton style={{ flex: 1 }} aria-label="Reading the merge" />}
      {!lost && merge && isUnderWay(merge) && <UnderWay merge={merge} pair={pair} onCancelled={toPicker} />}
      {!lost && merge?.status === "failed" && <NotMerged pair={pair} failure={merge.message ?? "No reason was told."} />}
      {!lost && merge && result && (
        <>
          <Summary merge={merge} result={result} />
          <div className={classes.bar}>
            <SegmentedControl
              aria-label="What is listed"
              value={view}
              onChange={(value) => change({ view: value === "packets" || value === "rules" ? value : undefined })}
              data={[
                { value: "directions", label: "Directions" },
                { value: "packets", label: "Packets of one capture alone" },
                { value: "rules", label: "Rules" },
              ]}
            />
            {state.flow && view !== "rules" && (
              <Button variant="default" onClick={() => change({ flow: undefined })}>
                Show all flows
              </Button>
            )}
          </div>
          {view === "directions" && <Directions pair={pair} flow={state.flow} onPackets={(flow) => change({ view: "packets", flow })} />}
          {view === "packets" && <MergePackets pair={pair} names={names} state={state} onState={change} />}
          {view === "rules" && <MergeRules pair={pair} names={names} result={result} rule={state.rule} onRule={(rule) => change({ rule })} />}
        </>
      )}
    </Page>
  );
}
