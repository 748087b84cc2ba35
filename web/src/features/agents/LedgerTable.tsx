import { formatCount } from "../../lib/format";
import type { AgentAccount } from "../../api/types";
import classes from "./agents.module.css";
import { isLoss, ledger, type Stage } from "./ledger";

function Reasons({ stage }: { stage: Stage }) {
  if (stage.drops.length === 0 && stage.held === 0) return <span className="muted">none</span>;
  return (
    <ul className={classes.reasons}>
      {stage.drops.map(([reason, packets]) => (
        <li key={reason} className={isLoss(`${stage.name}: ${reason}`) ? classes.bad : undefined}>
          {formatCount(packets)} {reason}
        </li>
      ))}
      {stage.held > 0 && <li>{formatCount(stage.held)} still in the ring</li>}
      {stage.held < 0 && <li>{formatCount(-stage.held)} more than came in: they were in the ring before</li>}
    </ul>
  );
}

/** Where packets of an interface went, stage by stage, and whether the sums agree. */
export function LedgerTable({ name, accounts }: { name: string; accounts: readonly AgentAccount[] }) {
  return (
    <div className={classes.scroll}>
      <table className={classes.ledger} aria-label={`Ledger of ${name}`}>
        <thead>
          <tr>
            <th scope="col">Stage</th>
            <th scope="col" className={classes.number}>
              In
            </th>
            <th scope="col" className={classes.number}>
              On
            </th>
            <th scope="col">Did not get on</th>
            <th scope="col">Sum</th>
          </tr>
        </thead>
        <tbody>
          {ledger(accounts).map((stage) => (
            <tr key={stage.name}>
              <th scope="row">
                {stage.name} <span className="muted">{stage.what}</span>
              </th>
              <td className={classes.number}>{formatCount(stage.in)}</td>
              <td className={classes.number}>{formatCount(stage.out)}</td>
              <td>
                <Reasons stage={stage} />
              </td>
              <td>
                {stage.rest === 0 ? (
                  <span className={classes.agrees}>✓ agrees</span>
                ) : (
                  <span className={classes.bad}>{formatCount(Math.abs(stage.rest))} unaccounted for</span>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
