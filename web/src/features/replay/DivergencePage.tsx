import { SegmentedControl, Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { divergencePacketsQuery, divergenceQuery } from "../../api/queries";
import type { DivergenceDetail } from "../../api/types";
import { useCapture } from "../../api/useCapture";
import { EmptyState } from "../../components/EmptyState";
import { Page } from "../../components/Page";
import { QueryError } from "../../components/QueryError";
import { parseTime, toRFC3339 } from "../../lib/time";
import type { DivergenceState } from "../../lib/viewState";
import classes from "./DivergencePage.module.css";
import { DownloadPackets } from "./DownloadPackets";
import { LadderDiagram } from "./LadderDiagram";

const route = getRouteApi("/captures/$captureId/replay/$divergenceId");
const AROUND = 12;

/** Enough to see what led to it and what came of it, ns. */
const BESIDE = 200_000n;

function spanAround(time: string | null | undefined): { from?: string; to?: string } {
  const at = time ? parseTime(time) : undefined;
  return at === undefined ? {} : { from: toRFC3339(at - BESIDE), to: toRFC3339(at + BESIDE) };
}

function Said({ captureId, detail }: { captureId: string; detail: DivergenceDetail }) {
  const { divergence: of, title, flow_ids: flows } = detail;
  return (
    <section className={classes.said} data-verdict={of.verdict} aria-label="What was found">
      <p className={classes.sentence}>{of.sentence}</p>
      <dl className={classes.facts}>
        <div>
          <dt>Expected</dt>
          <dd>{of.expected}</dd>
        </div>
        <div>
          <dt>Seen</dt>
          <dd>{of.seen}</dd>
        </div>
        <div>
          <dt>Proof</dt>
          <dd>
            {of.packets.map((number) => (
              <Link key={number} className={classes.packet} to="/captures/$captureId/packets" params={{ captureId }} search={{ packet: number }}>
                packet {number}
              </Link>
            ))}
          </dd>
        </div>
        <div>
          <dt>Look next at</dt>
          <dd>{of.next}</dd>
        </div>
        <div>
          <dt>The reference</dt>
          <dd>{title}</dd>
        </div>
        <div>
          <dt>Source</dt>
          <dd>{of.source}</dd>
        </div>
        {flows[0] && (
          <div>
            <dt>Connection</dt>
            <dd>
              <Link to="/captures/$captureId/flows/$flowId" params={{ captureId, flowId: flows[0] }}>
                All its packets
              </Link>
              ,{" "}
              <Link to="/captures/$captureId/flows/$flowId/sequence" params={{ captureId, flowId: flows[0] }} search={spanAround(of.time)}>
                its PSNs around that time
              </Link>
            </dd>
          </div>
        )}
      </dl>
    </section>
  );
}

/** One divergence: what was expected and seen, and the packets around it between the two ends. */
export function DivergencePage() {
  const { captureId, divergenceId } = route.useParams();
  const { around = AROUND } = route.useSearch();
  const navigate = route.useNavigate();
  const capture = useCapture(captureId);
  const divergence = useQuery(divergenceQuery(captureId, divergenceId));
  const { error, refetch } = capture.error ? capture : divergence;
  const detail = capture.error ? undefined : divergence.data;
  const packets = useQuery(divergencePacketsQuery(captureId, divergenceId, around));
  const rule = detail?.divergence.rule;
  return (
    <Page
      documentTitle={rule ? `${rule}, ${capture.data?.name ?? ""}` : "Divergence"}
      title={rule ?? "Divergence"}
      crumbs={[{ label: "Captures" }, { label: capture.data?.name ?? "Capture", captureId }]}
      aside={detail && <span className="muted">{detail.divergence.verdict}, {detail.divergence.severity}</span>}
      actions={
        detail && (
          <>
            <Link to="/captures/$captureId/replay" params={{ captureId }} search={{ rule: detail.divergence.rule }}>
              All of this rule
            </Link>
            <DownloadPackets captureId={captureId} divergenceId={divergenceId} />
          </>
        )
      }
    >
      {error && !detail && <QueryError error={error} what={capture.error ? "This capture" : "This divergence"} onRetry={() => void refetch()} />}
      {!detail && !error && <Skeleton style={{ flex: 1 }} />}
      {detail && (
        <div className={classes.panes}>
          <Said captureId={captureId} detail={detail} />
          <section className={classes.ladder} aria-label="Packets around it">
            <div className={classes.bar}>
              <h2 className={classes.title}>Packets around it</h2>
              <SegmentedControl
                aria-label="Packets before and after each"
                value={String(around)}
                onChange={(value) => void navigate({ search: (previous: DivergenceState) => ({ ...previous, around: Number(value) === AROUND ? undefined : Number(value) }), replace: true })}
                data={[...new Set([4, AROUND, 40, 100, around])].toSorted((a, b) => a - b).map((value) => ({ value: String(value), label: `± ${value}` }))}
              />
            </div>
            {packets.error && !packets.data && <QueryError error={packets.error} what="Its packets" onRetry={() => void packets.refetch()} />}
            {!packets.data && !packets.error && <Skeleton style={{ flex: 1, minHeight: 260 }} />}
            {packets.data?.packets.length === 0 && (
              <EmptyState title="No packets">
                <p>The verdict names no packet of this capture.</p>
              </EmptyState>
            )}
            {packets.data && packets.data.packets.length > 0 && <LadderDiagram captureId={captureId} detail={detail} surroundings={packets.data} />}
          </section>
        </div>
      )}
    </Page>
  );
}
