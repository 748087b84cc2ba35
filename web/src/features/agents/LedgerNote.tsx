import type { AgentLedger } from "../../api/types";
import { countOf } from "../../lib/format";
import classes from "./agents.module.css";
import { missingOf } from "./missing";

/** What an answer is about, and what is missing from it. */
export function LedgerNote({ ledger }: { ledger: AgentLedger | undefined }) {
  if (!ledger) return null;
  const missing = missingOf(ledger);
  if (missing.length === 0) {
    return (
      <p className={classes.complete} role="status">
        {countOf(ledger.intervals, "interval")} reported; nothing of them was lost.
      </p>
    );
  }
  return (
    <ul className={classes.missing} role="status" aria-label="What is missing">
      {missing.map((sentence) => (
        <li key={sentence}>{sentence}</li>
      ))}
    </ul>
  );
}
