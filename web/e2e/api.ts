import { setTimeout as delay } from "node:timers/promises";

const POLL_MS = 50;

export interface Capture {
  id: string;
  name: string;
  status: string;
  analyzed: boolean;
  totals?: Record<string, number>;
}

export async function json<T>(address: string, init?: RequestInit): Promise<T> {
  const response = await fetch(address, init);
  if (!response.ok) throw new Error(`${address}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

/** The service's API, for what a test is not about. */
export class Api {
  readonly #base: string;

  constructor(serviceUrl: string) {
    this.#base = `${serviceUrl}/api/v1`;
  }

  get<T>(path: string): Promise<T> {
    return json<T>(`${this.#base}${path}`);
  }

  async captures(): Promise<Capture[]> {
    return (await this.get<{ captures: Capture[] }>("/captures?limit=500")).captures;
  }

  /** Uploads a file, and waits for nothing. */
  post(name: string, content: Uint8Array<ArrayBuffer>): Promise<Capture> {
    return json<Capture>(`${this.#base}/captures?name=${encodeURIComponent(name)}`, {
      method: "POST",
      headers: { "Content-Type": "application/octet-stream" },
      body: content,
    });
  }

  /** Uploads a file, and waits for the end of its analysis. */
  async put(name: string, content: Uint8Array<ArrayBuffer>): Promise<Capture> {
    let capture = await this.post(name, content);
    while (capture.status === "queued" || capture.status === "analyzing") {
      await delay(POLL_MS);
      capture = await this.get<Capture>(`/captures/${capture.id}`);
    }
    return capture;
  }

  async remove(id: string): Promise<void> {
    await fetch(`${this.#base}/captures/${id}`, { method: "DELETE" });
  }

  /** The rows of a statement's answer. */
  async ask(sql: string): Promise<unknown[][]> {
    const answer = await json<{ rows: unknown[][] }>(`${this.#base}/query`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ sql }),
    });
    return answer.rows;
  }
}
