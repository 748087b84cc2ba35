import type { CaptureStatus } from "../api/types";
import classes from "./StatusBadge.module.css";

const LABELS: Record<CaptureStatus, string> = {
  queued: "Queued",
  analyzing: "Analysing",
  done: "Done",
  partial: "Partial",
  failed: "Failed",
  cancelled: "Cancelled",
};

export function StatusBadge({ status }: { status: CaptureStatus }) {
  return (
    <span className={classes.badge} data-status={status}>
      <span className={classes.dot} aria-hidden />
      {LABELS[status]}
    </span>
  );
}
