import { Button, SegmentedControl, Skeleton } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { divergencesQuery } from "../../api/queries";
import type { Divergence, Rule } from "../../api/types";
import { QueryError } from "../../components/QueryError";
import type { FoundVerdict } from "../../lib/viewState";
import { DownloadPackets } from "./DownloadPackets";
import classes from "./Places.module.css";

interface Props {
  captureId: string;
  rule: Rule;
  verdict: FoundVerdict | undefined;
  onVerdict: (verdict: FoundVerdict | undefined) => void;
}

function endpoint({ address, qp, path_id: path }: Divergence): string {
  // QPNs have 24 bits, the connection ids of MetaRoCE 32.
  const id = qp === null ? "" : qp > 0xffffff ? ` id 0x${qp.toString(16)}` : ` QP 0x${qp.toString(16).padStart(6, "0")}`;
  const name = address + id;
  return path === null ? name : `${name}, path ${path}`;
}

/** One place: the sentence, expected against seen, and the packets that prove it. */
function Place({ captureId, place }: { captureId: string; place: Divergence }) {
  return (
    <li className={classes.place} data-verdict={place.verdict}>
      <div className={classes.head}>
        <span className={classes.word}>{place.verdict}</span>
        <span className={classes.who}>{endpoint(place)}</span>
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
          <dd>
            {place.packets.map((number) => (
              <Link
                key={number}
                className={classes.packet}
                to="/captures/$captureId/packets"
                params={{ captureId }}
                search={{ packet: number }}
              >
                packet {number}
              </Link>
            ))}
          </dd>
        </div>
      </dl>
      {place.packets.length > 0 && (
        <div className={classes.actions}>
          <Link to="/captures/$captureId/replay/$divergenceId" params={{ captureId, divergenceId: place.id }}>
            Show it on a ladder
          </Link>
          <DownloadPackets captureId={captureId} divergenceId={place.id} size="compact-xs" />
        </div>
      )}
    </li>
  );
}

/** What a rule says, and every place where it was broken or may have been. */
export function Places({ captureId, rule, verdict, onVerdict }: Props) {
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(
    divergencesQuery(captureId, rule.rule, verdict),
  );
  const places = data?.pages.flatMap((page) => page.divergences);
  const total = data?.pages[0]?.total ?? 0;
  const counted = verdict ? rule[verdict] : rule.diverges + rule.undetermined;
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
      {error && !places && <QueryError error={error} what="The places" onRetry={() => void refetch()} />}
      {!places && !error && <Skeleton height={120} />}
      {places?.length === 0 && <p className={classes.none}>{counted === 0 ? "It was kept wherever it applied." : "None of this verdict."}</p>}
      {places && places.length > 0 && (
        <>
          <ul className={classes.list}>
            {places.map((place) => (
              <Place key={place.id} captureId={captureId} place={place} />
            ))}
          </ul>
          {counted > total && (
            <p className={classes.none}>
              {(counted - total).toLocaleString("en")} more were counted; of one rule and connection at most 16 are kept in full.
            </p>
          )}
          {hasNextPage && (
            <Button variant="default" onClick={() => void fetchNextPage()} loading={isFetchingNextPage}>
              Show more
            </Button>
          )}
        </>
      )}
    </section>
  );
}
