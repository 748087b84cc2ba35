import { Button, SegmentedControl, Skeleton } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { divergencesQuery } from "../../api/queries";
import type { Divergence, Rule } from "../../api/types";
import { QueryError } from "../../components/QueryError";
import type { FoundVerdict } from "../../lib/viewState";
import { DownloadPackets } from "./DownloadPackets";
import classes from "./Places.module.css";

function endpoint({ address, qp, path_id: path }: Divergence): string {
  // QPNs have 24 bits, the connection ids of MetaRoCE 32.
  const id = qp === null ? "" : qp > 0xffffff ? ` id 0x${qp.toString(16)}` : ` QP 0x${qp.toString(16).padStart(6, "0")}`;
  const name = address + id;
  return path === null ? name : `${name}, path ${path}`;
}

interface PlaceProps {
  place: Divergence;
  /** Beside who did it: where it was seen. */
  where?: ReactNode;
  /** The packets that prove it. */
  proof: ReactNode;
  actions?: ReactNode;
}

/** One place: the sentence, expected against seen, and the packets that prove it. */
export function Place({ place, where, proof, actions }: PlaceProps) {
  return (
    <li className={classes.place} data-verdict={place.verdict}>
      <div className={classes.head}>
        <span className={classes.word}>{place.verdict}</span>
        <span className={classes.who}>{endpoint(place)}</span>
        {where}
        {place.time && <time className={classes.time}>{place.time.slice(11, -1)}</time>}
      </div>
      <p className={classes.sentence}>{place.sentence}</p>
      <dl className={classes.facts}>
        <div>
          <dt>Expected</dt>
          <dd>{place.expected}</dd>
        </div>
        <div>
          <dt>Seen</dt>
          <dd>{place.seen}</dd>
        </div>
        <div>
          <dt>Proof</dt>
          <dd>{proof}</dd>
        </div>
      </dl>
      {actions && <div className={classes.actions}>{actions}</div>}
    </li>
  );
}

function PlaceInCapture({ captureId, place }: { captureId: string; place: Divergence }) {
  return (
    <Place
      place={place}
      proof={place.packets.map((number) => (
        <Link key={number} className={classes.packet} to="/captures/$captureId/packets" params={{ captureId }} search={{ packet: number }}>
          packet {number}
        </Link>
      ))}
      actions={
        place.packets.length > 0 && (
          <>
            <Link to="/captures/$captureId/replay/$divergenceId" params={{ captureId, divergenceId: place.id }}>
              Show it on a ladder
            </Link>
            <DownloadPackets captureId={captureId} divergenceId={place.id} size="compact-xs" />
          </>
        )
      }
    />
  );
}

interface PlacesProps {
  rule: Rule;
  verdict: FoundVerdict | undefined;
  onVerdict: (verdict: FoundVerdict | undefined) => void;
  /** The places, one list item each; undefined while they are fetched. */
  places: readonly ReactNode[] | undefined;
  /** How many there are. */
  total: number;
  error: Error | null;
  onRetry: () => void;
  /** Fetches more; undefined when there are none. */
  onMore: (() => void) | undefined;
  fetchingMore: boolean;
  /** What is told of more that were counted. */
  rest?: ReactNode;
}

/** Every place of a capture where a rule was broken or may have been. */
export function Places({ captureId, ...props }: Pick<PlacesProps, "rule" | "verdict" | "onVerdict"> & { captureId: string }) {
  const { rule, verdict } = props;
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(divergencesQuery(captureId, rule.rule, verdict));
  const total = data?.pages[0]?.total ?? 0;
  const more = countOf(rule, verdict) - total;
  return (
    <PlacesOfRule
      {...props}
      places={data?.pages.flatMap((page) => page.divergences).map((place) => <PlaceInCapture key={place.id} captureId={captureId} place={place} />)}
      total={total}
      error={error}
      onRetry={() => void refetch()}
      onMore={hasNextPage ? () => void fetchNextPage() : undefined}
      fetchingMore={isFetchingNextPage}
      rest={more > 0 && `${more.toLocaleString("en")} more were counted; of one rule and connection at most 16 are kept in full.`}
    />
  );
}

function countOf(rule: Rule, verdict: FoundVerdict | undefined): number {
  return verdict ? rule[verdict] : rule.diverges + rule.undetermined;
}

/** What a rule says, and the places where it was broken or may have been. */
export function PlacesOfRule({ rule, verdict, onVerdict, places, total, error, onRetry, onMore, fetchingMore, rest }: PlacesProps) {
  return (
    <section className={classes.root} aria-label={`Places of ${rule.rule}`}>
      <div className={classes.bar}>
        <h2 className={classes.title}>{rule.rule}</h2>
        <SegmentedControl
          size="xs"
          aria-label="Verdict"
          value={verdict ?? "all"}
          onChange={(value) => onVerdict(value === "all" ? undefined : (value as FoundVerdict))}
          data={[
            { value: "all", label: "All" },
            { value: "diverges", label: "Diverges" },
            { value: "undetermined", label: "Undetermined" },
          ]}
        />
      </div>
      <dl className={classes.about}>
        <div>
          <dt>The reference</dt>
          <dd>{rule.title}</dd>
        </div>
        <div>
          <dt>Source</dt>
          <dd>{rule.source}</dd>
        </div>
        <div>
          <dt>Look next at</dt>
          <dd>{rule.next}</dd>
        </div>
        <div>
          <dt>Connections</dt>
          <dd>
            {rule.connections}
            {rule.diverging_connections > 0 && `; ${rule.diverging_connections} of them diverged`}
          </dd>
        </div>
      </dl>
      {error && !places && <QueryError error={error} what="The places" onRetry={onRetry} />}
      {!places && !error && <Skeleton height={120} />}
      {places && total === 0 && <p className={classes.none}>{countOf(rule, verdict) === 0 ? "It was kept wherever it applied." : "None of this verdict."}</p>}
      {places && places.length > 0 && (
        <>
          <ul className={classes.list}>{places}</ul>
          {rest && <p className={classes.none}>{rest}</p>}
          {onMore && (
            <Button variant="default" onClick={onMore} loading={fetchingMore}>
              Show more
            </Button>
          )}
        </>
      )}
    </section>
  );
}
