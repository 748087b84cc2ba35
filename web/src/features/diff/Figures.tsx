import type { DiffFigure } from "../../api/types";
import { Unknown } from "../../components/Unknown";
import { changeText, formatFigure, judge, WORDS, type Judgement } from "./change";
import classes from "./DiffPage.module.css";

const GROUPS: Record<DiffFigure["group"], string> = {
  traffic: "Traffic",
  rate: "Throughput",
  loss: "Loss and retransmission",
  congestion: "Congestion",
  latency: "Latency",
  waits: "Waits",
  verdicts: "Verdicts of replay",
};

export function Judged({ of }: { of: Judgement }) {
  return (
    <span className={classes.judged} data-judgement={of}>
      {of === "better" && "✓ "}
      {of === "worse" && "✗ "}
      {WORDS[of]}
    </span>
  );
}

function Value({ value, of }: { value: number | null; of: DiffFigure }) {
  return <td className={classes.number}>{value === null ? <Unknown why={of.unknown ?? "the capture cannot tell"} /> : formatFigure(value, of.unit)}</td>;
}

/** Figures of both sides, by what they are about. */
export function Figures({ figures }: { figures: readonly DiffFigure[] }) {
  const groups = [...new Set(figures.map(({ group }) => group))];
  return (
    <section className={classes.panel} tabIndex={0} aria-label="Figures">
      <table className={classes.table}>
        <thead>
          <tr>
            <th scope="col">Figure</th>
            <th scope="col" className={classes.number}>
              A
            </th>
            <th scope="col" className={classes.number}>
              B
            </th>
            <th scope="col" className={classes.number}>
              From A to B
            </th>
            <th scope="col">B is</th>
          </tr>
        </thead>
        {groups.map((group) => (
          <tbody key={group}>
            <tr className={classes.group}>
              <th scope="rowgroup" colSpan={5}>
                {GROUPS[group]}
              </th>
            </tr>
            {figures
              .filter((figure) => figure.group === group)
              .map((figure) => (
                <tr key={figure.figure} data-figure={figure.figure}>
                  <th scope="row">{figure.title}</th>
                  <Value value={figure.a} of={figure} />
                  <Value value={figure.b} of={figure} />
                  <td className={classes.number}>{changeText(figure) ?? <Unknown why={figure.unknown ?? "a side cannot tell"} />}</td>
                  <td>
                    <Judged of={judge(figure)} />
                  </td>
                </tr>
              ))}
          </tbody>
        ))}
      </table>
    </section>
  );
}
