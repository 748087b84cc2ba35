import type { Capture, Progress } from "../../api/types";
import { Meter } from "../../components/Meter";
import { formatCount, formatPacketRate, formatTimeLeft } from "../../lib/format";
import classes from "./AnalysisProgress.module.css";

const PHASES: Record<Progress["phase"], string> = {
  queued: "Waiting for its turn",
  decompressing: "Decompressing",
  analyzing: "Analysing",
  storing: "Storing",
};

/** Share, packets, rate and time left of a running analysis. */
export function AnalysisProgress({ capture }: { capture: Capture }) {
  const progress = capture.progress;
  const waiting = capture.status === "queued" || !progress || progress.phase === "queued";
  const share = progress && progress.bytes_total > 0 ? progress.bytes / progress.bytes_total : undefined;
  return (
    <div className={classes.root}>
      <Meter label={`Analysis of ${capture.name}`} share={waiting ? 0 : share} />
      <span className={classes.text}>
        {waiting ? (
          "Waiting for its turn"
        ) : (
          <>
            <span>{PHASES[progress.phase]}</span>
            <span>{formatCount(progress.packets)} packets</span>
            {progress.packets_per_second > 0 && <span>{formatPacketRate(progress.packets_per_second)}</span>}
            {progress.seconds_left !== undefined && <span>{formatTimeLeft(progress.seconds_left)} left</span>}
          </>
        )}
      </span>
    </div>
  );
}
