import { Skeleton } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { useCapture } from "../../api/useCapture";
import { Page } from "../../components/Page";
import { QueryError } from "../../components/QueryError";
import { FINDING_LABELS } from "../../lib/troubles";
import type { PacketsState } from "../../lib/viewState";
import { PacketWorkspace } from "./PacketWorkspace";

const route = getRouteApi("/captures/$captureId/packets");

/** All packets of a capture, or those with one finding. */
export function PacketsPage() {
  const { captureId } = route.useParams();
  const state = route.useSearch();
  const navigate = route.useNavigate();
  const { data: capture, error, refetch } = useCapture(captureId);
  const title = state.only ? `Packets: ${FINDING_LABELS[state.only].toLowerCase().replace(/^(nak|rnr nak|cnp|ce|icrc)/, (word) => word.toUpperCase())}` : "All packets";
  const crumbs = [{ label: "Captures" }, { label: capture?.name ?? "Capture", captureId }];
  return (
    <Page documentTitle={capture ? `${title}, ${capture.name}` : title} title={title} crumbs={crumbs}>
      {error && !capture && <QueryError error={error} what="This capture" onRetry={() => void refetch()} />}
      {capture ? (
        <PacketWorkspace
          capture={capture}
          state={state}
          onState={(change) =>
            void navigate({ search: (previous: PacketsState) => ({ ...previous, ...change }), replace: true })
          }
        />
      ) : (
        !error && <Skeleton style={{ flex: 1 }} />
      )}
    </Page>
  );
}
