import type { Rule } from "../../api/types";
import classes from "./RulesTable.module.css";

interface Props {
  rules: readonly Rule[];
  /** ID of the rule that is open. */
  open: string | undefined;
  onOpen: (rule: string) => void;
}

function Count({ value, tone }: { value: number; tone?: "bad" | "warn" }) {
  return (
    <td className={classes.count} data-tone={value > 0 ? tone : undefined}>
      {value === 0 ? "–" : value.toLocaleString("en")}
    </td>
  );
}

/** The rules that applied, with what came of each. */
export function RulesTable({ rules, open, onOpen }: Props) {
  // Agents do not tell how often a rule was kept.
  const kept = rules.some(({ conforms }) => conforms !== null);
  return (
    <div className={classes.root}>
      <table className={classes.table}>
        <thead>
          <tr>
            <th scope="col">Rule</th>
            <th scope="col" className={classes.count}>
              Diverges
            </th>
            <th scope="col" className={classes.count}>
              Undetermined
            </th>
            {kept && (
              <th scope="col" className={classes.count}>
                Conforms
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {rules.map((rule) => (
            <tr key={rule.rule} data-open={rule.rule === open || undefined}>
              <td>
                <button type="button" className={classes.rule} aria-pressed={rule.rule === open} onClick={() => onOpen(rule.rule)}>
                  <span className={classes.id}>{rule.rule}</span>
                  <span
                    className={classes.severity}
                    data-severity={rule.diverges + rule.undetermined > 0 ? rule.severity : undefined}
                  >
                    {rule.severity}
                  </span>
                  <span className={classes.title}>{rule.title}</span>
                </button>
              </td>
              <Count value={rule.diverges} tone="bad" />
              <Count value={rule.undetermined} tone="warn" />
              {kept && <Count value={rule.conforms ?? 0} />}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
