import { ActionIcon, Button, Tooltip } from "@mantine/core";
import { IconPlayerPause, IconPlayerPlay, IconX } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { captureQuery, isRunning } from "../../api/queries";
import type { Capture } from "../../api/types";
import { Meter } from "../../components/Meter";
import { countOf, formatFileSize, formatTimeLeft, formatTransferRate } from "../../lib/format";
import { formatDateTime, parseTime } from "../../lib/time";
import { AnalysisProgress } from "./AnalysisProgress";
import { useCancelAnalysis, useRefreshAfterAnalysis } from "./hooks";
import classes from "./UploadList.module.css";
import { uploads, type Unfinished, type UploadItem } from "./uploads";

function IconButton({ label, onClick, children }: { label: string; onClick: () => void; children: ReactNode }) {
  return (
    <Tooltip label={label}>
      <ActionIcon aria-label={label} onClick={onClick} size="sm">
        {children}
      </ActionIcon>
    </Tooltip>
  );
}

function Sending({ item }: { item: UploadItem }) {
  const left = item.rate && item.rate > 0 ? (item.size - item.sent) / item.rate : undefined;
  return (
    <>
      <Meter
        label={`Upload of ${item.name}`}
        share={item.sent / item.size}
        {...(item.status === "paused" && { tone: "muted" as const })}
      />
      <span className={classes.facts}>
        <span>
          {formatFileSize(item.sent)} of {formatFileSize(item.size)}
        </span>
        {item.status === "waiting" && <span>Waiting for its turn</span>}
        {item.status === "paused" && <span>{item.message ?? "Paused"}</span>}
        {item.status === "retrying" && <span className={classes.warn}>{item.message}</span>}
        {item.status === "sending" && item.rate !== undefined && <span>{formatTransferRate(item.rate)}</span>}
        {item.status === "sending" && left !== undefined && <span>{formatTimeLeft(left)} left</span>}
      </span>
    </>
  );
}

/** Whether the service already had this file: its capture is older than the upload. */
function isKnown(item: UploadItem, capture: Capture): boolean {
  const uploadedAt = parseTime(capture.uploaded_at);
  if (item.repeated) return true;
  // The Date header has whole seconds, so the capture of this upload is never older than it.
  return item.begunAt !== undefined && uploadedAt !== undefined && uploadedAt < BigInt(item.begunAt) * 1_000_000n;
}

function Stored({ item, captureId }: { item: UploadItem; captureId: string }) {
  const { data: capture, error } = useQuery(captureQuery(captureId));
  useRefreshAfterAnalysis(capture);
  if (error) return <span className={classes.facts}>Uploaded. Its analysis cannot be followed: {error.message}</span>;
  if (!capture) return <Meter label={`Analysis of ${item.name}`} share={0} />;
  const link = (
    <Link to="/captures/$captureId" params={{ captureId }}>
      {isRunning(capture) || capture.status === "failed" || capture.status === "cancelled" ? "Show" : "Open"}
    </Link>
  );
  if (isKnown(item, capture)) {
    return (
      <span className={classes.facts}>
        <span className={classes.warn}>
          You have uploaded this before, as {capture.name} on {formatDateTime(capture.uploaded_at)} UTC.
        </span>
        {link}
      </span>
    );
  }
  if (isRunning(capture)) return <AnalysisProgress capture={capture} />;
  return (
    <span className={classes.facts}>
      {capture.status === "failed" ? (
        <span className={classes.bad}>{capture.message ?? "The analysis failed."}</span>
      ) : (
        <>
          <span className={classes.good}>{capture.status === "cancelled" ? "Analysis stopped" : "Analysed"}</span>
          {capture.totals && (
            <span>
              {countOf(capture.totals.packets, "packet")}, {countOf(capture.totals.flows, "flow")}
            </span>
          )}
          {capture.message && <span className={classes.warn}>{capture.message}</span>}
        </>
      )}
      {link}
    </span>
  );
}

function UploadRow({ item }: { item: UploadItem }) {
  const cancelAnalysis = useCancelAnalysis();
  const { data: capture } = useQuery({ ...captureQuery(item.captureId ?? ""), enabled: item.captureId !== undefined });
  const sending = item.status === "sending" || item.status === "retrying" || item.status === "waiting";
  return (
    <li className={classes.row}>
      <span className={classes.name} title={item.name}>
        {item.name}
      </span>
      <div className={classes.state}>
        {item.status === "refused" && (
          <span className={`${classes.facts} ${classes.bad}`} role="alert">
            {item.message}
          </span>
        )}
        {item.status === "stored" &&
          (item.captureId ? (
            <Stored item={item} captureId={item.captureId} />
          ) : (
            <span className={classes.facts}>Uploaded.</span>
          ))}
        {(sending || item.status === "paused") && <Sending item={item} />}
      </div>
      <div className={classes.buttons}>
        {sending && (
          <IconButton label={`Pause the upload of ${item.name}`} onClick={() => uploads.pause(item.id)}>
            <IconPlayerPause size={15} />
          </IconButton>
        )}
        {item.status === "paused" && (
          <IconButton label={`Resume the upload of ${item.name}`} onClick={() => uploads.resume(item.id)}>
            <IconPlayerPlay size={15} />
          </IconButton>
        )}
        {(sending || item.status === "paused") && (
          <IconButton label={`Cancel the upload of ${item.name}`} onClick={() => uploads.cancel(item.id)}>
            <IconX size={15} />
          </IconButton>
        )}
        {isRunning(capture) && item.captureId && (
          <IconButton
            label={`Stop the analysis of ${item.name}`}
            onClick={() => item.captureId && cancelAnalysis.mutate(item.captureId)}
          >
            <IconX size={15} />
          </IconButton>
        )}
        {(item.status === "refused" || (item.status === "stored" && !isRunning(capture))) && (
          <IconButton label={`Take ${item.name} off this list`} onClick={() => uploads.dismiss(item.id)}>
            <IconX size={15} />
          </IconButton>
        )}
      </div>
    </li>
  );
}

function UnfinishedRow({ entry, onChoose }: { entry: Unfinished; onChoose: () => void }) {
  return (
    <li className={classes.row}>
      <span className={classes.name} title={entry.name}>
        {entry.name}
      </span>
      <div className={classes.state}>
        <Meter label={`Upload of ${entry.name}`} share={entry.size > 0 ? entry.sent / entry.size : 0} tone="muted" />
        <span className={classes.facts}>
          <span>
            {formatFileSize(entry.sent)} of {formatFileSize(entry.size)}
          </span>
          <span>Interrupted. Choose or drop the same file again to go on from there.</span>
        </span>
      </div>
      <div className={classes.buttons}>
        <Button size="compact-xs" variant="default" onClick={onChoose}>
          Choose file
        </Button>
        <IconButton label={`Discard the upload of ${entry.name}`} onClick={() => void uploads.discard(entry)}>
          <IconX size={15} />
        </IconButton>
      </div>
    </li>
  );
}

interface Props {
  items: readonly UploadItem[];
  unfinished: readonly Unfinished[];
  onChoose: () => void;
}

export function UploadList({ items, unfinished, onChoose }: Props) {
  if (items.length === 0 && unfinished.length === 0) return null;
  return (
    <section className={classes.root} aria-label="Uploads">
      <ul className={classes.list}>
        {items.map((item) => (
          <UploadRow key={item.id} item={item} />
        ))}
        {unfinished.map((entry) => (
          <UnfinishedRow key={entry.key} entry={entry} onChoose={onChoose} />
        ))}
      </ul>
    </section>
  );
}
