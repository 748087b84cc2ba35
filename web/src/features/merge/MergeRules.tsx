import { Button, Skeleton } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { MergeFinding, MergeResult, MergeRule, MergeTally } from "../../api/types";
import { EmptyState } from "../../components/EmptyState";
import { QueryError } from "../../components/QueryError";
import { Unknown } from "../../components/Unknown";
import { formatCount } from "../../lib/format";
import classes from "./MergeRules.module.css";
import { mergeFindingsQuery, mergeRulesQuery, type Pair } from "./query";
import { POINTS } from "./words";

function Tally({ of, why }: { of: MergeTally | null; why: string }) {
  if (of === null) return <Unknown why={why} />;
  const parts = [
    [of.diverges, of.diverges === 1 ? "diverges" : "diverge", "bad"],
    [of.undetermined, "undetermined", "warn"],
    [of.conforms, of.conforms === 1 ? "conforms" : "conform", undefined],
  ] as const;
  return (
    <span className={classes.tally}>
      {parts.filter(([count]) => count > 0).map(([count, word, tone]) => (
        <span key={word} data-tone={tone}>
          {formatCount(count)} {word}
        </span>
      ))}
    </span>
  );
}

function Place({ pair, names, of }: { pair: Pair; names: readonly [string, string]; of: MergeFinding }) {
  const ids = [pair.first, pair.second] as const;
  return (
    <li className={classes.place} data-verdict={of.verdict}>
      <p className={classes.head}>
        <strong>{of.verdict}</strong> {of.address}
        {of.path_id !== null && `, path ${of.path_id}`}
        {of.time && <time className="muted"> {of.time.slice(11, -1)}</time>}
      </p>
      <p>{of.sentence}</p>
      <p className="muted">
        Expected: {of.expected}. Seen: {of.seen}.
      </p>
      <p>
        {of.packets.map(({ capture, packet }) => {
          const point = capture === 1 ? 1 : 0;
          return (
            <Link key={`${capture} ${packet}`} className={classes.packet} to="/captures/$captureId/packets" params={{ captureId: ids[point] }} search={{ packet }} title={names[point]}>
              packet {packet} of {POINTS[point]}
            </Link>
          );
        })}
      </p>
    </li>
  );
}

/** Places of one rule, by what both captures have together. */
function Places({ pair, names, rule }: { pair: Pair; names: readonly [string, string]; rule: MergeRule }) {
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(mergeFindingsQuery(pair, rule.rule));
  const places = data?.pages.flatMap(({ findings }) => findings);
  return (
    <section className={classes.places} aria-label={`Places of ${rule.rule}`}>
      <h2 className={classes.title}>{rule.rule}</h2>
      <p>{rule.title}</p>
      <p className="muted">
        {rule.source}. Look next at: {rule.next}
      </p>
      {error && !places && <QueryError error={error} what="The places" onRetry={() => void refetch()} />}
      {!places && !error && <Skeleton height={90} />}
      {places?.length === 0 && <p className="muted">Both together name no place where it was broken or may have been.</p>}
      {places && places.length > 0 && (
        <ul className={classes.list}>
          {places.map((place) => (
            <Place key={`${place.connection_id} ${place.verdict} ${place.packets.map(({ capture, packet }) => `${capture}:${packet}`).join()} ${place.time}`} pair={pair} names={names} of={place} />
          ))}
        </ul>
      )}
      {hasNextPage && (
        <Button variant="default" onClick={() => void fetchNextPage()} loading={isFetchingNextPage}>
          Show more
        </Button>
      )}
    </section>
  );
}

interface Props {
  pair: Pair;
  names: readonly [string, string];
  result: MergeResult;
  rule: string | undefined;
  onRule: (rule: string) => void;
}

/** What came of each rule: by either capture alone, and by both together. */
export function MergeRules({ pair, names, result, rule, onRule }: Props) {
  const { data, error, refetch } = useQuery(mergeRulesQuery(pair));
  if (error && !data) return <QueryError error={error} what="The rules" onRetry={() => void refetch()} />;
  if (!data) return <Skeleton style={{ flex: 1 }} />;
  const { rules } = data;
  if (rules.length === 0) {
    const ids = [pair.first, pair.second] as const;
    return (
      <EmptyState title={result.together.judged ? "No rule applied" : "Both together were not held against the reference"}>
        <p>{result.together.judged ? "The captures have no packets of reliable connections or of MetaRoCE." : "What replay says of each alone is with the captures."}</p>
        {!result.together.judged &&
          ids.map((captureId, point) => (
            <Link key={captureId} to="/captures/$captureId/replay" params={{ captureId }}>
              Replay of {names[point]}
            </Link>
          ))}
      </EmptyState>
    );
  }
  const open = rules.find((one) => one.rule === rule) ?? rules[0];
  const absent = "the rule did not apply to what this capture has";
  return (
    <div className={classes.panes}>
      <div className={classes.scroll}>
        <table className={classes.table}>
          <thead>
            <tr>
              <th scope="col">Rule</th>
              <th scope="col">A alone</th>
              <th scope="col">B alone</th>
              <th scope="col">Together</th>
            </tr>
          </thead>
          <tbody>
            {rules.map((one) => (
              <tr key={one.rule} data-open={one === open || undefined}>
                <td>
                  <button type="button" className={classes.rule} aria-pressed={one === open} onClick={() => onRule(one.rule)}>
                    <span className={classes.id}>{one.rule}</span> <span className="muted">{one.severity}</span>
                    <span className={classes.about}>{one.title}</span>
                  </button>
                </td>
                <td>
                  <Tally of={one.first} why={absent} />
                </td>
                <td>
                  <Tally of={one.second} why={absent} />
                </td>
                <td>
                  <Tally of={one.together} why={result.together.judged ? absent : (result.together.reason ?? "both together were not judged")} />
                  {one.decided > 0 && <span className={classes.decided}>{formatCount(one.decided)} now decided</span>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {open && <Places key={open.rule} pair={pair} names={names} rule={open} />}
    </div>
  );
}
