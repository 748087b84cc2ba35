import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

const REPOSITORY = resolve(import.meta.dirname, "../..");
const BINARY = process.env["ROCELENS_BINARY"] ?? join(REPOSITORY, "bin/rocelens");
/** With which agents send their rows to a service that is started here. */
export const INGEST_TOKEN = "a token of the end-to-end tests";
const READY_MS = 90_000;
const STOP_MS = 20_000;
const POLL_MS = 100;

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no free port");
  return address.port;
}

export interface Service {
  url: string;
  stop: () => Promise<void>;
}

async function untilReady(url: string, child: ChildProcess | undefined, output: () => string): Promise<void> {
  const deadline = Date.now() + READY_MS;
  for (;;) {
    if (child && child.exitCode !== null) throw new Error(`the service ended with code ${child.exitCode}:\n${output()}`);
    try {
      const response = await fetch(`${url}/api/v1/healthz`);
      if (response.ok) return;
    } catch {
      // It does not listen yet.
    }
    if (Date.now() > deadline) throw new Error(`the service was not ready after ${READY_MS / 1000} s:\n${output()}`);
    await delay(POLL_MS);
  }
}

/** The service at ROCELENS_URL, or one that is started for these tests with data of its own. */
export async function startService(): Promise<Service> {
  const given = process.env["ROCELENS_URL"];
  if (given) {
    const url = given.replace(/\/$/, "");
    await untilReady(url, undefined, () => "");
    return { url, stop: async () => {} };
  }
  if (!existsSync(BINARY)) throw new Error(`there is no ${BINARY}: run make build`);
  const data = mkdtempSync(join(tmpdir(), "rocelens-e2e-"));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  let output = "";
  const child = spawn(BINARY, ["serve", "--listen", `127.0.0.1:${port}`, "--data", data], {
    cwd: REPOSITORY,
    env: { ...process.env, ROCELENS_INGEST_TOKEN: INGEST_TOKEN },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const keep = (chunk: Buffer): void => {
    output = (output + chunk.toString()).slice(-20_000);
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
      await ended;
      clearTimeout(timer);
    }
    rmSync(data, { recursive: true, force: true });
  };
  try {
    await untilReady(url, child, () => output);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, stop };
}

/** Path of a capture of the test set, wherever it is. */
export function captureFile(name: string): string {
  const places = [
    ...(process.env["ROCELENS_CAPTURES"] ? [join(process.env["ROCELENS_CAPTURES"], "derived")] : []),
    join(REPOSITORY, "../shared/captures/derived"),
    join(REPOSITORY, "testdata/derived"),
    join(REPOSITORY, "testdata"),
    join(REPOSITORY, "testdata/metaroce"),
  ];
  const found = places.map((place) => join(place, name)).find((path) => existsSync(path));
  if (!found) throw new Error(`the capture ${name} is in none of ${places.join(", ")}`);
  return found;
}
