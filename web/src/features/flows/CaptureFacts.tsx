import { Tooltip } from "@mantine/core";
import { useState } from "react";
import type { Capture, CaptureInterface } from "../../api/types";
import { countOf, formatCount, formatDuration, formatFileSize } from "../../lib/format";
import { formatDateTime, parseTime } from "../../lib/time";
import classes from "./CaptureFacts.module.css";

function span(capture: Capture): string | undefined {
  const first = capture.first_packet_at && parseTime(capture.first_packet_at);
  const last = capture.last_packet_at && parseTime(capture.last_packet_at);
  return first !== undefined && first !== "" && last !== undefined && last !== "" ? formatDuration(last - first) : undefined;
}

/** Packets that the capture itself lost; null where no interface says so. */
function dropsOf(capture: Capture): number | null {
  const told = capture.interfaces.map(({ dropped }) => dropped).filter((dropped): dropped is number => typeof dropped === "number");
  return told.length === 0 ? null : told.reduce((sum, dropped) => sum + dropped, 0);
}

/** What the interface says it received and lost; nothing where it does not say. */
function Counters({ entry }: { entry: CaptureInterface }) {
  const { received, dropped } = entry;
  if (typeof dropped !== "number") return null;
  const text = `${typeof received === "number" ? `${formatCount(received)} received, ` : ""}${formatCount(dropped)} dropped`;
  return (
    <span className={classes.counters} data-bad={dropped > 0 || undefined}>
      {" "}
      ({text})
    </span>
  );
}

const NOTES_SHOWN = 2;

/** What the file is: format, time, interfaces, drops, and what was passed over while reading. */
export function CaptureFacts({ capture }: { capture: Capture }) {
  const [all, setAll] = useState(false);
  const duration = span(capture);
  const drops = dropsOf(capture);
  const notes = all ? capture.notes : capture.notes.slice(0, NOTES_SHOWN);
  const rest = capture.notes.length - notes.length;
  const troubled = capture.status === "failed" || capture.status === "partial";
  return (
    <div className={classes.root}>
      <dl className={classes.facts}>
        <div>
          <dt>File</dt>
          <dd>
            <Tooltip label={`SHA-256 ${capture.sha256}`}>
              <span>
                {capture.format || "unknown format"}
                {capture.compression ? `, ${capture.compression}` : ""}, {formatFileSize(capture.size)}
              </span>
            </Tooltip>
          </dd>
        </div>
        {capture.first_packet_at && (
          <div>
            <dt>Time</dt>
            <dd>
              {formatDateTime(capture.first_packet_at)} UTC{duration && `, for ${duration}`}
            </dd>
          </div>
        )}
        {capture.interfaces.length > 0 && (
          <div>
            <dt>{capture.interfaces.length === 1 ? "Interface" : "Interfaces"}</dt>
            <dd>
              {capture.interfaces.slice(0, 4).map((entry) => (
                <Tooltip
                  key={entry.index}
                  label={[
                    entry.description,
                    `link type ${entry.link_type}`,
                    entry.snap_length ? `cut at ${formatCount(entry.snap_length)} bytes` : undefined,
                    typeof entry.received === "number" ? `${formatCount(entry.received)} received` : undefined,
                    typeof entry.dropped === "number" ? `${formatCount(entry.dropped)} dropped` : undefined,
                  ]
                    .filter(Boolean)
                    .join(", ")}
                >
                  <span className={classes.interface}>
                    {entry.name || `${entry.index} (${entry.link_type})`}
                    <Counters entry={entry} />
                  </span>
                </Tooltip>
              ))}
              {capture.interfaces.length > 4 && ` and ${capture.interfaces.length - 4} more`}
            </dd>
          </div>
        )}
        <div>
          <dt>Lost by the capture</dt>
          <dd data-bad={drops ? true : undefined}>
            {drops === null ? <span className="muted">– the file does not tell</span> : countOf(drops, "packet")}
          </dd>
        </div>
      </dl>
      {capture.message && (
        <p className={classes.message} data-tone={troubled ? capture.status : undefined} role={troubled ? "alert" : undefined}>
          {capture.message}
        </p>
      )}
      {notes.length > 0 && (
        <ul className={classes.notes} aria-label="Notes from reading the file">
          {notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
          {(rest > 0 || all) && capture.notes.length > NOTES_SHOWN && (
            <li>
              <button type="button" className={classes.more} onClick={() => setAll(!all)}>
                {all ? "Show fewer" : `${countOf(rest, "more note")}`}
              </button>
            </li>
          )}
        </ul>
      )}
    </div>
  );
}
