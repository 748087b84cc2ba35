import { Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { rulesQuery } from "../../api/queries";
import type { Rule } from "../../api/types";
import { useCapture } from "../../api/useCapture";
import { EmptyState } from "../../components/EmptyState";
import { Page } from "../../components/Page";
import { QueryError } from "../../components/QueryError";
import type { ReplayState } from "../../lib/viewState";
import { Places } from "./Places";
import classes from "./ReplayPage.module.css";
import { RulesTable } from "./RulesTable";

const route = getRouteApi("/captures/$captureId/replay");

/** One sentence on what came of all rules. */
function Verdict({ rules }: { rules: readonly Rule[] }) {
  const diverging = rules.filter((rule) => rule.diverges > 0).length;
  const undetermined = rules.filter((rule) => rule.diverges === 0 && rule.undetermined > 0).length;
  const kept = rules.length - diverging - undetermined;
  return (
    <p className={classes.verdict}>
      {rules.length} rules of the reference transport applied: {diverging} {diverging === 1 ? "was" : "were"} broken, {kept} kept
      throughout{undetermined > 0 && `, and of ${undetermined} the capture cannot tell in places`}. What it may have missed is never
      called a divergence.
    </p>
  );
}

/** Where the connections of a capture diverge from the reference transport: by rule, and each place with its proof. */
export function ReplayPage() {
  const { captureId } = route.useParams();
  const state = route.useSearch();
  const navigate = route.useNavigate();
  const capture = useCapture(captureId);
  const { data, error, refetch } = useQuery(rulesQuery(captureId));
  const rules = capture.error ? undefined : data?.rules;
  const change = (part: Partial<ReplayState>) =>
    void navigate({ search: (previous: ReplayState) => ({ ...previous, ...part }), replace: true });
  const open = rules?.find((rule) => rule.rule === state.rule) ?? rules?.find((rule) => rule.diverges + rule.undetermined > 0);
  return (
    <Page
      documentTitle={capture.data ? `Replay, ${capture.data.name}` : "Replay"}
      title="Replay"
      crumbs={[{ label: "Captures" }, { label: capture.data?.name ?? "Capture", captureId }]}
    >
      {capture.error && <QueryError error={capture.error} what="This capture" onRetry={() => void capture.refetch()} />}
      {error && !rules && !capture.error && <QueryError error={error} what="The replay of this capture" onRetry={() => void refetch()} />}
      {!rules && !error && !capture.error && <Skeleton style={{ flex: 1 }} />}
      {rules?.length === 0 && (
        <EmptyState title="Nothing to replay">
          <p>
            The capture has no packets of reliable connections or of MetaRoCE, or was analysed before there was replay: analyse it
            again.
          </p>
        </EmptyState>
      )}
      {rules && rules.length > 0 && (
        <>
          <Verdict rules={rules} />
          <div className={classes.panes}>
            <RulesTable rules={rules} open={open?.rule} onOpen={(rule) => change({ rule, verdict: undefined })} />
            {open ? (
              <Places captureId={captureId} rule={open} verdict={state.verdict} onVerdict={(verdict) => change({ rule: open.rule, verdict })} />
            ) : (
              <EmptyState title="Every rule was kept">
                <p>Choose a rule to see what it says.</p>
              </EmptyState>
            )}
          </div>
        </>
      )}
    </Page>
  );
}
