/** Measures the time-sequence graph of a million packets: windows through the API, and frames in a real browser. */
import { execFileSync } from "node:child_process";
import { createReadStream, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Readable } from "node:stream";
import type { Page } from "playwright-core";
import { Api, json, type Capture } from "./api";
import { launch, openTab } from "./browser";
import { startService } from "./service";

const REPOSITORY = resolve(import.meta.dirname, "../..");
/** Of the connection, which sends both ways: a million belong to the sequence of one of its flows. */
const PACKETS = Number(process.env["PACKETS"] ?? 2_100_000);
const BINS = 4000;
/** The page asks for what it shows when that has not changed for 90 ms. */
const FETCH_MS = 120;

const print = (text: string): boolean => process.stdout.write(`${text}\n`);

interface Sequence {
  start_ns: string;
  span_ns: number;
  packets: number;
  bin_ns: number;
  at_ns: number[];
}

function report(name: string, times: number[], more = ""): void {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): string => (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN).toFixed(1);
  print(`| ${name} | ${times.length} | ${at(0.5)} | ${at(0.95)} | ${at(1)} | ${more} |`);
}

function rfc3339(ns: bigint): string {
  return `${new Date(Number(ns / 1_000_000_000n) * 1000).toISOString().slice(0, 19)}.${String(ns % 1_000_000_000n).padStart(9, "0")}Z`;
}

async function timed<T>(times: number[], run: () => Promise<T>): Promise<T> {
  const began = performance.now();
  const result = await run();
  times.push(performance.now() - began);
  return result;
}

/** Uploads a generated capture of one connection, and answers with its id and the flow that has the most packets. */
async function upload(url: string, directory: string): Promise<{ id: string; flow: string }> {
  const file = join(directory, "million.pcap");
  const made = execFileSync("go", ["run", "./cmd/capgen", "--connections=1", `--packets=${PACKETS}`, "--path-mtu=256", "--min-message=4096", "--faults=0.01", "--seed=7", "-o", file], { cwd: REPOSITORY });
  print(`capture: ${made.toString().trim()}`);
  const api = new Api(url);
  const request = { method: "POST", headers: { "Content-Type": "application/octet-stream" }, body: Readable.toWeb(createReadStream(file)), duplex: "half" };
  let capture = await json<Capture>(`${url}/api/v1/captures?name=million.pcap`, request as unknown as RequestInit);
  while (capture.status === "queued" || capture.status === "analyzing") {
    await new Promise((done) => setTimeout(done, 200));
    capture = await api.get<Capture>(`/captures/${capture.id}`);
  }
  const { flows } = await api.get<{ flows: { id: string }[] }>(`/captures/${capture.id}/flows?sort=bytes&order=desc&limit=1`);
  return { id: capture.id, flow: flows[0]?.id ?? "" };
}

async function windows(api: Api, path: string): Promise<void> {
  print("\n| window through the API, ms | times | median | p95 | worst | |\n| --- | ---: | ---: | ---: | ---: | --- |");
  const first: number[] = [];
  const all = await timed(first, () => api.get<Sequence>(`${path}?bins=${BINS}`));
  report("all, asked for the first time", first, `${all.packets} packets`);
  for (const share of [1, 4, 20, 100, 1000]) {
    const times: number[] = [];
    let last = all;
    for (let turn = 0; turn < 20; turn++) {
      const from = BigInt(all.start_ns) + BigInt(Math.floor(((all.span_ns * turn) / 20) * (1 - 1 / share)));
      const to = from + BigInt(Math.ceil(all.span_ns / share)) + 1n;
      last = await timed(times, () => api.get<Sequence>(`${path}?bins=${BINS}&from=${rfc3339(from)}&to=${rfc3339(to)}`));
    }
    report(share === 1 ? "all" : `1/${share} of the time`, times, `last: ${last.packets} packets, ${last.at_ns.length} rows${last.bin_ns ? `, bins of ${last.bin_ns} ns` : ""}`);
  }
}

/** Times between the frames that the page draws while something is done to it. */
async function frames(page: Page, name: string, act: () => Promise<void>): Promise<void> {
  await page.evaluate(() => {
    const state = { on: true, times: [] as number[] };
    Object.assign(window, { benchmark: state });
    let last = performance.now();
    const next = (now: number): void => {
      state.times.push(now - last);
      last = now;
      if (state.on) requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
  });
  await act();
  const times = await page.evaluate(() => {
    const { benchmark } = window as unknown as { benchmark: { on: boolean; times: number[] } };
    benchmark.on = false;
    return benchmark.times.slice(1);
  });
  const section = page.getByRole("region", { name: "Sequence" });
  const settled: number[] = [];
  await timed(settled, async () => {
    await page.waitForTimeout(FETCH_MS);
    await page.locator('[role="application"][aria-busy="false"]').waitFor();
  });
  report(name, times, `then ${(settled[0] ?? 0).toFixed(0)} ms until all was read; ${await section.getAttribute("data-rows")} rows, bins of ${await section.getAttribute("data-bin")} ns`);
}

async function gestures(page: Page, path: string): Promise<void> {
  print("\n| between frames in Chromium, ms | frames | median | p95 | worst | |\n| --- | ---: | ---: | ---: | ---: | --- |");
  await page.goto(path);
  const graph = page.getByRole("application", { name: /^PSNs from / });
  await graph.waitFor();
  const box = await graph.boundingBox();
  if (!box) throw new Error("the graph has no place");
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await page.mouse.move(x, y);
  const wheel = async (times: number, by: number): Promise<void> => {
    for (let turn = 0; turn < times; turn++) await page.mouse.wheel(0, by);
  };
  const pan = async (): Promise<void> => {
    for (let stroke = 0; stroke < 3; stroke++) {
      await page.mouse.move(x + 300, y);
      await page.mouse.down();
      for (let step = 1; step <= 60; step++) await page.mouse.move(x + 300 - step * 10, y);
      await page.mouse.up();
    }
  };
  await frames(page, "at rest, all shown", () => page.waitForTimeout(1000));
  await frames(page, "zooming in, all to 1/11", () => wheel(40, -30));
  await frames(page, "panning there", pan);
  await frames(page, "zooming in, to 1/130", () => wheel(40, -30));
  await frames(page, "panning there", pan);
  await frames(page, "zooming out to all", () => wheel(80, 30));
}

const directory = mkdtempSync(join(tmpdir(), "rocelens-bench-"));
const service = await startService();
const browser = await launch();
try {
  const { id, flow } = await upload(service.url, directory);
  await windows(new Api(service.url), `/captures/${id}/flows/${flow}/sequence`);
  const tab = await openTab(browser, service.url);
  await gestures(tab.page, `/captures/${id}/flows/${flow}/sequence`);
  if (tab.complaints.length > 0) throw new Error(tab.complaints.join("; "));
} finally {
  await browser.close();
  await service.stop();
  rmSync(directory, { recursive: true, force: true });
}
