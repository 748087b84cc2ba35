import * as tus from "tus-js-client";
import { API_BASE, messageOf, ApiError, problemOf } from "../../api/client";
import { RateMeter } from "../../lib/rate";

/**
 * Uploads outlive the page that started them: they run while the user looks at other pages, and what a reload cuts
 * off can be continued by choosing the same file again.
 */

export type UploadStatus = "waiting" | "sending" | "paused" | "retrying" | "stored" | "refused";

export interface UploadItem {
  readonly id: number;
  readonly name: string;
  /** Bytes. */
  readonly size: number;
  readonly sent: number;
  /** Bytes a second, absent until it can be told. */
  readonly rate: number | undefined;
  readonly status: UploadStatus;
  /** One sentence: why it was refused, or why it is being tried again. */
  readonly message: string | undefined;
  readonly captureId: string | undefined;
  /** The service's clock when the upload began, ms since the epoch. */
  readonly begunAt: number | undefined;
  /** Another upload of this session had already led to the same capture. */
  readonly repeated: boolean;
}

/** An upload that an earlier visit left unfinished. */
export interface Unfinished {
  readonly key: string;
  readonly url: string;
  readonly name: string;
  readonly size: number;
  readonly sent: number;
}

export interface UploadsState {
  readonly items: readonly UploadItem[];
  readonly unfinished: readonly Unfinished[];
}

const ENDPOINT = `${API_BASE}/uploads/`;
const AT_ONCE = 2;
const RETRY_DELAYS_MS = [0, 500, 1_000, 2_000, 4_000, 8_000, 15_000, 30_000, 30_000, 30_000];

interface Running {
  upload: tus.Upload;
  meter: RateMeter;
}

function refusal(error: Error): string {
  if (error instanceof tus.DetailedError) {
    const response = error.originalResponse;
    if (response) {
      const status = response.getStatus();
      return messageOf(new ApiError(problemOf(response.getBody(), status)));
    }
    return "The service does not answer.";
  }
  return error.message;
}

class Uploads {
  #state: UploadsState = { items: [], unfinished: [] };
  #running = new Map<number, Running>();
  #listeners = new Set<() => void>();
  #nextId = 1;
  #onStored: (captureId: string | undefined) => void = () => {};

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly getState = (): UploadsState => this.#state;

  /** Called when a file has arrived whole. */
  set onStored(callback: (captureId: string | undefined) => void) {
    this.#onStored = callback;
  }

  add(files: readonly File[]): void {
    for (const file of files) {
      const item: UploadItem = {
        id: this.#nextId++,
        name: file.name,
        size: file.size,
        sent: 0,
        rate: undefined,
        status: "waiting",
        message: undefined,
        captureId: undefined,
        begunAt: undefined,
        repeated: false,
      };
      if (file.size === 0) {
        this.#setItems([{ ...item, status: "refused", message: "The file is empty: it has no bytes." }, ...this.#state.items]);
        continue;
      }
      this.#running.set(item.id, { upload: this.#prepare(item.id, file), meter: new RateMeter() });
      this.#setItems([item, ...this.#state.items]);
    }
    this.#startNext();
  }

  pause(id: number): void {
    const running = this.#running.get(id);
    if (!running) return;
    this.#patch(id, { status: "paused", rate: undefined, message: undefined });
    void running.upload.abort();
    this.#startNext();
  }

  resume(id: number): void {
    this.#patch(id, { status: "waiting", message: undefined });
    this.#startNext();
  }

  /** Stops the upload and has the service forget what arrived. */
  cancel(id: number): void {
    const running = this.#running.get(id);
    this.#running.delete(id);
    this.#setItems(this.#state.items.filter((item) => item.id !== id));
    // The service clears what was left of it after a while, should this not reach it.
    running?.upload.abort(true).catch(() => {});
    this.#startNext();
  }

  dismiss(id: number): void {
    this.#running.delete(id);
    this.#setItems(this.#state.items.filter((item) => item.id !== id));
  }

  /** Takes captures that are gone off the list. */
  forget(captureId: string): void {
    this.#setItems(this.#state.items.filter((item) => item.captureId !== captureId));
  }

  /** Looks for uploads that an earlier visit left, and asks the service how far they came. */
  async findUnfinished(signal: AbortSignal): Promise<void> {
    const storage = tus.defaultOptions.urlStorage;
    const previous = await storage.findAllUploads();
    const found: Unfinished[] = [];
    for (const upload of previous) {
      const name = upload.metadata["filename"];
      if (!upload.uploadUrl || !name || this.#isRunning(upload.uploadUrl)) continue;
      const offset = await this.#offsetOf(upload.uploadUrl, signal);
      if (offset === "gone" || offset === upload.size) {
        await storage.removeUpload(upload.urlStorageKey);
      } else if (offset !== "unreachable") {
        found.push({ key: upload.urlStorageKey, url: upload.uploadUrl, name, size: upload.size ?? 0, sent: offset });
      }
    }
    if (!signal.aborted) this.#set({ ...this.#state, unfinished: found });
  }

  async discard(unfinished: Unfinished): Promise<void> {
    this.#set({ ...this.#state, unfinished: this.#state.unfinished.filter((entry) => entry.key !== unfinished.key) });
    await tus.defaultOptions.urlStorage.removeUpload(unfinished.key);
    await tus.Upload.terminate(unfinished.url).catch(() => {});
  }

  async #offsetOf(url: string, signal: AbortSignal): Promise<number | "gone" | "unreachable"> {
    try {
      const response = await fetch(url, { method: "HEAD", headers: { "Tus-Resumable": "1.0.0" }, signal });
      const offset = response.headers.get("Upload-Offset");
      return response.ok && offset !== null ? Number(offset) : "gone";
    } catch {
      return "unreachable";
    }
  }

  #isRunning(url: string): boolean {
    return [...this.#running.values()].some((running) => running.upload.url === url);
  }

  #prepare(id: number, file: File): tus.Upload {
    return new tus.Upload(file, {
      endpoint: ENDPOINT,
      metadata: { filename: file.name },
      retryDelays: RETRY_DELAYS_MS,
      removeFingerprintOnSuccess: true,
      onAfterResponse: (_request, response) => {
        const date = Date.parse(response.getHeader("Date") ?? "");
        const item = this.#item(id);
        if (item && item.begunAt === undefined && !Number.isNaN(date)) this.#patch(id, { begunAt: date });
      },
      onProgress: (sent) => {
        const running = this.#running.get(id);
        running?.meter.add(performance.now(), sent);
        const rate = running?.meter.rate;
        if (this.#item(id)?.status !== "paused") this.#patch(id, { status: "sending", sent, rate, message: undefined });
      },
      onShouldRetry: (error) => {
        const status = error.originalResponse?.getStatus() ?? 0;
        const again = status === 0 || status === 409 || status === 423 || status === 429 || status === 502 || status === 503;
        if (again) {
          this.#patch(id, { status: "retrying", rate: undefined, message: "No answer; trying again." });
        }
        return again;
      },
      onSuccess: ({ lastResponse }) => {
        this.#running.delete(id);
        const captureId = lastResponse.getHeader("Rocelens-Capture-Id");
        const repeated = captureId !== undefined && this.#state.items.some((item) => item.captureId === captureId);
        this.#patch(id, { status: "stored", sent: file.size, rate: undefined, captureId, repeated });
        this.#onStored(captureId);
        this.#startNext();
      },
      onError: (error) => {
        const silent = error instanceof tus.DetailedError && !error.originalResponse;
        if (silent) {
          this.#patch(id, { status: "paused", rate: undefined, message: "The service does not answer. Resume when it is back." });
        } else {
          this.#running.delete(id);
          this.#patch(id, { status: "refused", rate: undefined, message: refusal(error) });
        }
        this.#startNext();
      },
    });
  }

  #startNext(): void {
    const busy = this.#state.items.filter((item) => item.status === "sending" || item.status === "retrying").length;
    const waiting = this.#state.items.filter((item) => item.status === "waiting").toReversed();
    for (const item of waiting.slice(0, Math.max(0, AT_ONCE - busy))) {
      this.#patch(item.id, { status: "sending" });
      void this.#start(item.id);
    }
  }

  async #start(id: number): Promise<void> {
    const running = this.#running.get(id);
    if (!running) return;
    running.meter.reset();
    if (!running.upload.url) {
      const [previous] = await running.upload.findPreviousUploads();
      if (previous) {
        running.upload.resumeFromPreviousUpload(previous);
        const rest = this.#state.unfinished.filter((entry) => entry.key !== previous.urlStorageKey);
        this.#set({ ...this.#state, unfinished: rest });
      }
    }
    // It may have been paused or cancelled in between.
    if (this.#running.has(id) && this.#item(id)?.status === "sending") running.upload.start();
  }

  #item(id: number): UploadItem | undefined {
    return this.#state.items.find((item) => item.id === id);
  }

  #patch(id: number, change: Partial<UploadItem>): void {
    this.#setItems(this.#state.items.map((item) => (item.id === id ? { ...item, ...change } : item)));
  }

  #setItems(items: readonly UploadItem[]): void {
    this.#set({ ...this.#state, items });
  }

  #set(state: UploadsState): void {
    this.#state = state;
    for (const listener of this.#listeners) listener();
  }
}

export const uploads = new Uploads();
