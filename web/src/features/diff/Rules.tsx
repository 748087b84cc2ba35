import { Link } from "@tanstack/react-router";
import type { Diff, DiffSide, DiffTally } from "../../api/types";
import { Unknown } from "../../components/Unknown";
import { formatCount } from "../../lib/format";
import type { FoundVerdict } from "../../lib/viewState";
import { judgeRule } from "./change";
import classes from "./DiffPage.module.css";
import { Judged } from "./Figures";

function Count({ side, rule, verdict, count, word }: { side: DiffSide; rule: string; verdict: FoundVerdict; count: number; word: string }) {
  const text = `${formatCount(count)} ${word}`;
  if (count === 0) return null;
  return (
    <Link to="/captures/$captureId/replay" params={{ captureId: side.capture_id }} search={{ rule, verdict }} title={`In ${side.name}`} data-verdict={verdict}>
      {text}
    </Link>
  );
}

function Tally({ of, side, rule }: { of: DiffTally | null; side: DiffSide; rule: string }) {
  if (!of) {
    return (
      <td>
        <Unknown why="the rule did not apply to what was captured" />
      </td>
    );
  }
  return (
    <td>
      <span className={classes.tally}>
        <Count side={side} rule={rule} verdict="diverges" count={of.diverges} word={of.diverges === 1 ? "diverges" : "diverge"} />
        <Count side={side} rule={rule} verdict="undetermined" count={of.undetermined} word="undetermined" />
        {(of.conforms > 0 || of.diverges + of.undetermined === 0) && <span className="muted">{formatCount(of.conforms)} {of.conforms === 1 ? "conforms" : "conform"}</span>}
      </span>
    </td>
  );
}

/** What came of each rule on both sides, with the way to the places. */
export function Rules({ diff }: { diff: Diff }) {
  return (
    <section className={classes.panel} tabIndex={0} aria-label="Rules">
      <table className={classes.table}>
        <thead>
          <tr>
            <th scope="col">Rule of the reference</th>
            <th scope="col">A</th>
            <th scope="col">B</th>
            <th scope="col">B is</th>
          </tr>
        </thead>
        <tbody>
          {diff.rules.map((rule) => (
            <tr key={rule.rule} data-rule={rule.rule}>
              <th scope="row">
                <span className={classes.id}>{rule.rule}</span> <span className="muted">{rule.severity}</span>
                <span className={classes.about}>{rule.title}</span>
              </th>
              <Tally of={rule.a} side={diff.a} rule={rule.rule} />
              <Tally of={rule.b} side={diff.b} rule={rule.rule} />
              <td>
                <Judged of={judgeRule(rule)} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {diff.rules.length === 0 && <p className={classes.none}>No rule applied to either side: neither has packets of reliable connections or of MetaRoCE.</p>}
    </section>
  );
}
