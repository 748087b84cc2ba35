import { execFileSync } from "node:child_process";
import type { Page } from "playwright-core";
import { beforeEach, expect, it } from "vitest";
import { startSession } from "./session";

const BASE = "base-cm-send-write-read.pcap";

const session = startSession();
let page: Page;

beforeEach(async () => {
  page = session.page;
  await session.upload(BASE);
  await page.getByRole("link", { name: "Replay" }).click();
  await page.getByText("Diverges", { exact: true }).last().click();
  await page.getByRole("link", { name: "Show it on a ladder" }).first().click();
  await page.getByRole("figure", { name: "Ladder diagram" }).waitFor();
});

it("draws an arrow for each packet, by kind and direction, and points out what proves it", async () => {
  const said = page.getByRole("region", { name: "What was found" });
  await said.getByText("the connection manager announced 36864").waitFor();
  await said.getByText("sq_psn and rq_psn").waitFor();
  const count = (part: string) => page.locator(`[data-arrow]${part}`).count();
  // Packet 4 proves it; it and the eleven behind it are the connection's.
  expect(await count("")).toBe(12);
  expect([await count("[data-kind=data]"), await count("[data-kind=response]"), await count("[data-kind=ack]")]).toEqual([7, 2, 3]);
  expect(await page.locator("[data-arrow][data-proof]").evaluateAll((all) => all.map((one) => one.getAttribute("data-number")))).toEqual(["4"]);
  expect((await count("[data-end='0']")) + (await count("[data-end='1']"))).toBe(12);

  await page.getByText("± 4", { exact: true }).click();
  await expect.poll(() => count("")).toBe(5);
  expect(page.url()).toContain("around=4");
  await page.reload();
  await expect.poll(() => count("")).toBe(5);

  // By keyboard: down to the next packet, which is told, and open it.
  await page.locator("[data-number='4']").focus();
  await page.keyboard.press("ArrowDown");
  await page.getByRole("status").filter({ hasText: "Packet 5, " }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(/packets\?.*packet=5/);
});

it("downloads the packets, with comments that tshark shows", async () => {
  await page.getByRole("button", { name: "Download these packets" }).click();
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("menuitem", { name: "With 20 packets" }).click()]);
  expect(download.suggestedFilename()).toBe("base-cm-send-write-read-roce.starting-psn-packet-4.pcapng");
  const rows = execFileSync("tshark", ["-r", await download.path(), "-T", "fields", "-e", "frame.comment"], { encoding: "utf8" }).replace(/\n$/, "").split("\n");
  expect(rows.length).toBe(12);
  expect(rows.filter((row) => row !== "")).toEqual([expect.stringMatching(/^proves roce\.starting-psn \(diverges\), 1 of 1, packet 4 of base-cm-send-write-read\.pcap: /)]);
});

it("keeps to a narrow window and says so when there is no such divergence", async () => {
  await page.setViewportSize({ width: 420, height: 800 });
  await expect.poll(() => page.locator("[data-arrow]").count()).toBe(12);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(420);
  await page.goto(page.url().replace(/replay\/\d+.*/, "replay/1"));
  await page.getByText("The capture has no divergence 1").waitFor();
});
