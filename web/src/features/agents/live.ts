import { useEffect, useEffectEvent, useState } from "react";
import { API_BASE } from "../../api/client";
import type { AgentsEvent } from "../../api/types";

/** Events come each second; so long without one means that what is shown is old. */
export const STALE_MS = 5_000;
const RETRY_MS = 3_000;
const TICK_MS = 1_000;

export type LiveStatus = "connecting" | "live" | "stale" | "paused";

export interface Live {
  status: LiveStatus;
  /** For how long nothing has come, s. */
  silence: number;
}

/** How a stream is: what is known of it to what is said of it. */
export function liveStatus(hidden: boolean, lastMs: number | undefined, beganMs: number, nowMs: number): Live {
  if (hidden) return { status: "paused", silence: 0 };
  const silence = nowMs - (lastMs ?? beganMs);
  if (silence > STALE_MS) return { status: "stale", silence: Math.floor(silence / 1000) };
  return { status: lastMs === undefined ? "connecting" : "live", silence: 0 };
}

/**
 * Follows a live view of the service for as long as the tab is seen, connecting again as often as it takes. onEvent is
 * called with each event.
 */
export function useLive(path: string, onEvent: (event: AgentsEvent) => void): Live {
  const [live, setLive] = useState<Live>({ status: "connecting", silence: 0 });
  const take = useEffectEvent(onEvent);
  useEffect(() => {
    let source: EventSource | undefined;
    let retry: ReturnType<typeof setTimeout> | undefined;
    let began = Date.now();
    let last: number | undefined;
    const tick = (): void => {
      const next = liveStatus(document.hidden, last, began, Date.now());
      setLive((was) => (was.status === next.status && was.silence === next.silence ? was : next));
    };
    const close = (): void => {
      clearTimeout(retry);
      source?.close();
      source = undefined;
    };
    const open = (): void => {
      close();
      source = new EventSource(`${API_BASE}${path}`);
      source.addEventListener("agents", ({ data }: MessageEvent<string>) => {
        last = Date.now();
        tick();
        take(JSON.parse(data) as AgentsEvent);
      });
      source.addEventListener("error", () => {
        // The browser connects again by itself, unless it was refused.
        if (source?.readyState === EventSource.CLOSED) retry = setTimeout(open, RETRY_MS);
      });
    };
    const onVisibility = (): void => {
      if (document.hidden) {
        close();
      } else if (!source) {
        began = Date.now();
        last = undefined;
        open();
      }
      tick();
    };
    onVisibility();
    document.addEventListener("visibilitychange", onVisibility);
    const timer = setInterval(tick, TICK_MS);
    return () => {
      document.removeEventListener("visibilitychange", onVisibility);
      clearInterval(timer);
      close();
    };
  }, [path]);
  return live;
}
