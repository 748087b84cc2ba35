import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, expect, it } from "vitest";
import { converse } from "./roce";
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
    [
      "run", "--interface", "lo", "--interval", "1s", "--host", "node7", "--state", state, "--server", session.service.url, "--server-token", INGEST_TOKEN,
      "--replay", "--recorder", "4", "--recorder-after", "1s", "--upload", session.service.url,
    ],
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

it("says how to have a record made while no recorder was triggered", async () => {
  const { page } = session;
  await page.goto("/agents");
  await page.getByRole("navigation", { name: "Of agents" }).getByRole("link", { name: "Events" }).click();
  await page.getByRole("heading", { name: "No flight recorder was triggered in this time" }).waitFor();
  await page.getByText("kill -USR1").waitFor();
});

it.skipIf(!mayCapture)("leads from a divergence that an agent found to its flows, and from its record back to the event", async () => {
  const { page } = session;
  await converse(20);
  await page.goto("/agents/divergences");
  const rule = page.getByRole("button", { name: /roce\.syndrome/ });
  await rule.waitFor(); // what ends now is asked for again
  await rule.click();
  const places = page.getByRole("region", { name: "Places of roce.syndrome" });
  await places.getByText("0x7f").first().waitFor();
  await places.getByText("seen by node7 on lo").first().waitFor();
  expect(await page.getByRole("columnheader", { name: "Conforms" }).count()).toBe(0);

  await places.getByRole("link", { name: "Flows of that time" }).first().click();
  await page.getByRole("heading", { name: "Flows", exact: true }).waitFor();
  expect(page.url()).toContain("interface=lo");
  await page.getByRole("link", { name: "Events" }).click();
  await page.getByText("10 min", { exact: true }).click();
  const event = page.getByRole("listitem").filter({ hasText: "roce.syndrome" });
  await event.getByRole("link", { name: "Open the record" }).click();
  const record = page.getByRole("note").filter({ hasText: "A record of the flight recorder" });
  await record.getByText("roce.syndrome").or(record.getByText("0x7f")).first().waitFor();
  await record.getByRole("link", { name: "The event" }).click();
  await page.getByRole("listitem").filter({ hasText: "node7" }).first().waitFor();
  expect(page.url()).toContain("/agents/events");
});

it.skipIf(!mayCapture)("answers which flows there were in a time, and how one of them went", async () => {
  const { page } = session;
  await page.goto("/agents/flows");
  const row = session.row("Flows of agents", "0x11");
  await row.waitFor();
  expect(await session.cell("Flows of agents", row, "Host")).toBe("node7");
  expect(await session.cell("Flows of agents", row, "Service")).toBe("RC");
  await page.getByRole("combobox", { name: "Agent" }).click();
  await page.getByRole("option", { name: "node7" }).click();
  await page.getByLabel("Filter flows").fill("0x11 rc");
  await page.getByText(/^\d+ match/).waitFor();
  await row.click();
  const chosen = page.getByRole("region", { name: "Chosen flow" });
  await chosen.getByRole("application", { name: /^Rate\./ }).waitFor();
  expect(page.url()).toMatch(/filter=0x11/);
  expect(page.url()).toMatch(/flow=/);
  // A time in which no agent was there is not one in which nothing passed.
  await page.getByLabel("To, UTC").fill("2020-01-01T02:10:00");
  await page.getByText("what passed then is unknown").waitFor();
});

it.skipIf(!mayCapture)("shows what the port counted beside the packets, and says what is absent", async () => {
  const { page } = session;
  await page.goto("/agents");
  await session.row("Agents", "node7").getByRole("link", { name: "node7" }).click();
  const panel = page.getByRole("region", { name: "Interface lo" });
  await panel.getByText("What the port counted in the last ten minutes").click();
  await panel.getByRole("table", { name: "Counters of lo" }).waitFor();
  await panel.getByRole("link", { name: "Counters" }).click();
  await page.getByRole("heading", { name: "Counters", exact: true }).waitFor();
  await panel.getByText("There is no RDMA device behind this interface").waitFor();
  await panel.getByText("No setting of DCQCN").waitFor();
  const counted = panel.getByRole("row").filter({ hasText: "rx_packets" });
  await counted.getByText("Frames received through the kernel").waitFor();
  await counted.getByRole("checkbox", { name: "Draw rx_packets of interface" }).check();
  await panel.getByRole("figure", { name: "rx_packets over time" }).waitFor();
  await panel.getByRole("button", { name: /that did not count/ }).click();
  await panel.getByRole("row").filter({ hasText: "rx_crc_errors" }).waitFor();
});
