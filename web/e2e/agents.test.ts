import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, expect, it } from "vitest";
import { INGEST_TOKEN } from "./service";
import { startSession } from "./session";

const AGENT = process.env["ROCELENS_AGENT_BINARY"] ?? resolve(import.meta.dirname, "../../bin/rocelens-agent");
/** Only root may capture, also on the loopback interface. */
const mayCapture = process.getuid?.() === 0;

const session = startSession();
const state = mkdtempSync(join(tmpdir(), "rocelens-e2e-agent-"));
let agent: ChildProcess | undefined;

afterAll(async () => {
  if (agent && agent.exitCode === null) {
    const ended = once(agent, "exit");
    agent.kill("SIGINT");
    await ended;
  }
  rmSync(state, { recursive: true, force: true });
});

it("says how to start an agent while there is none", async () => {
  await session.page.goto("/");
  await session.page.getByRole("link", { name: "Agents", exact: true }).click();
  await session.page.getByRole("heading", { name: "No agent has reported" }).waitFor();
  await session.page.getByText("rocelens-agent run --interface eth0 --server").waitFor();
});

it.skipIf(!mayCapture)("shows an agent, its ledger and that it is live", async () => {
  agent = spawn(
    AGENT,
    ["run", "--interface", "lo", "--interval", "1s", "--host", "node7", "--state", state, "--server", session.service.url, "--server-token", INGEST_TOKEN],
    { stdio: "ignore" },
  );
  const { page } = session;
  await page.goto("/agents");
  const row = session.row("Agents", "node7");
  await row.waitFor();
  expect(await session.cell("Agents", row, "State")).toBe("Well");
  expect(await session.cell("Agents", row, "Interfaces")).toContain("lo");
  await page.getByRole("status").filter({ hasText: "Live" }).waitFor();

  await row.getByRole("link", { name: "node7" }).click();
  const ledger = page.getByRole("table", { name: "Ledger of lo" });
  await ledger.waitFor();
  // The traffic of this very page passes the loopback interface, and is no RDMA.
  await expect.poll(async () => (await ledger.getByRole("row").filter({ hasText: "decode" }).innerText()).includes("not RDMA")).toBe(true);
  expect(await ledger.getByText("✓ agrees").count()).toBe(4);
  await page.getByRole("status").filter({ hasText: "Live" }).waitFor();
  await page.getByRole("heading", { name: "No RDMA in its newest interval" }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("a");
  await expect.poll(() => page.url()).toMatch(/\/agents$/);
});
