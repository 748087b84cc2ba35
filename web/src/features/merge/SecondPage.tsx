import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { Merge } from "../../api/types";
import { useCapture } from "../../api/useCapture";
import { Page } from "../../components/Page";
import { QueryError } from "../../components/QueryError";
import { useDraft } from "../../components/useDraft";
import { formatDateTime } from "../../lib/time";
import { CapturePicker } from "../compare/CapturePicker";
import { mergesQuery, useBeginMerge, useEndMerge } from "./query";
import classes from "./SecondPage.module.css";
import { progressText } from "./words";

const route = getRouteApi("/captures/$captureId/merge");
const FILTER_DELAY_MS = 120;

function state(merge: Merge): string {
  if (merge.status === "done") return `merged ${formatDateTime(merge.ended_at ?? merge.began_at)} UTC`;
  if (merge.status === "failed") return `failed: ${merge.message ?? "no reason was told"}`;
  return progressText(merge).phase;
}

/** Merges that a capture has part in. */
function Merges({ captureId, flow }: { captureId: string; flow: string | undefined }) {
  const { data } = useQuery(mergesQuery(captureId));
  const end = useEndMerge();
  if (!data || data.merges.length === 0) return null;
  return (
    <section className={classes.merges} aria-label="Merges of this capture">
      <h2 className={classes.title}>Merged before</h2>
      <ul className={classes.list}>
        {data.merges.map((merge) => (
          <li key={`${merge.first.id} ${merge.second.id}`}>
            <Link to="/captures/$captureId/merge/$withId" params={{ captureId: merge.first.id, withId: merge.second.id }} search={{ flow }}>
              {merge.first.name} and {merge.second.name}
            </Link>
            <span className="muted">{state(merge)}</span>
            <Button
              size="compact-xs"
              variant="subtle"
              color="gray"
              aria-label={`${merge.progress ? "Stop" : "Forget"} the merge of ${merge.first.name} and ${merge.second.name}`}
              onClick={() => end.mutate({ first: merge.first.id, second: merge.second.id })}
            >
              {merge.progress ? "Stop" : "Forget"}
            </Button>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Chooses the capture that a capture is merged with. */
export function SecondPage() {
  const { captureId } = route.useParams();
  const { flow, filter = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const capture = useCapture(captureId);
  const begin = useBeginMerge();
  const [typed, setTyped] = useDraft(filter, String, (value) => void navigate({ search: { flow, filter: value || undefined }, replace: true }), FILTER_DELAY_MS);
  return (
    <Page
      documentTitle={capture.data ? `Merge, ${capture.data.name}` : "Merge"}
      title="Seen at another point"
      crumbs={[{ label: "Captures" }, { label: capture.data?.name ?? "Capture", captureId }]}
    >
      <p className={classes.about}>
        Two captures of the same traffic, from both ends or from two points of its path, tell together what neither tells alone: what
        was lost between the points, and what a capture only missed; how long packets took from point to point. Choose the other one.
      </p>
      {capture.error ? (
        <QueryError error={capture.error} what="This capture" onRetry={() => void capture.refetch()} />
      ) : (
        <>
          <Merges captureId={captureId} flow={flow} />
          <CapturePicker
            label="Captures to merge with"
            verb="Merge with"
            capture={capture.data}
            flowId={flow}
            filter={typed}
            onFilter={setTyped}
            busy={begin.isPending}
            onChoose={({ id }) =>
              begin.mutate({ first: captureId, second: id }, { onSuccess: () => void navigate({ to: "/captures/$captureId/merge/$withId", params: { captureId, withId: id }, search: { flow } }) })
            }
          />
        </>
      )}
    </Page>
  );
}
