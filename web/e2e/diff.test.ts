import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { beforeEach, expect, it } from "vitest";
import { captureFile } from "./service";
import { startSession } from "./session";

const DIVERGING = "base-cm-send-write-read.pcap";
const LOSSY = "allreduce-loss.pcapng";

const session = startSession();
let page: Page;
let lossy: string;

beforeEach(async () => {
  page = session.page;
  lossy = (await session.api.put(LOSSY, readFileSync(captureFile(LOSSY)))).id;
});

/** Text of the cells of a row by the name that it begins with. */
async function cells(region: string, name: string): Promise<string[]> {
  const row = page.getByRole("region", { name: region }).getByRole("row").filter({ has: page.getByRole("rowheader", { name }) });
  return (await row.getByRole("cell").allInnerTexts()).map((text) => text.replaceAll(/\s+/g, " ").trim());
}

it("sets two captures side by side, leads to the divergences of each, and swaps them", async () => {
  const diverging = await session.upload(DIVERGING);
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: "Diff with" }).click();
  await page.getByRole("button", { name: `Compare ${LOSSY}` }).click();
  await page.waitForURL((url) => url.searchParams.get("a") === diverging && url.searchParams.get("b") === lossy);
  const rule = "roce.starting-psn";
  await page.getByRole("region", { name: "Rules" }).getByText(rule).waitFor();
  const before = await cells("Rules", rule);
  expect(before[0]).toContain("1 diverges");
  const figures = await page.getByRole("region", { name: "Figures" }).getByRole("row").count();
  expect(figures).toBeGreaterThan(8);

  await page.getByRole("button", { name: "Swap sides" }).click();
  await page.waitForURL((url) => url.searchParams.get("a") === lossy && url.searchParams.get("b") === diverging);
  await expect.poll(async () => (await cells("Rules", rule))[1]).toBe(before[0]);
  expect((await cells("Rules", rule))[0]).toBe(before[1]);
  await page.reload();
  await page.getByRole("region", { name: "Rules" }).getByRole("link", { name: "1 diverges" }).first().click();
  await page.waitForURL((url) => url.pathname === `/captures/${diverging}/replay` && url.searchParams.get("verdict") === "diverges");
  await page.getByRole("region", { name: /^Places of roce\./ }).getByRole("listitem").first().waitFor();
});

it("sets two connections of one capture side by side, and tells resent packets by words", async () => {
  const { flows } = await session.api.get<{ flows: { id: string; source: string; retransmitted: number }[] }>(`/captures/${lossy}/flows?sort=retransmitted&order=desc`);
  const worst = flows[0];
  const clean = flows.find(({ source, retransmitted }) => retransmitted === 0 && source !== worst?.source);
  await page.goto(`/captures/${lossy}/flows/${worst?.id}`);
  await page.getByRole("link", { name: "Diff with" }).click();
  await page.getByRole("button", { name: `Compare ${LOSSY}` }).click();
  await page.getByText("Both sides are one capture").waitFor();
  await page.goto(`/diff?a=${lossy}&b=${lossy}&flow_a=${worst?.id}&flow_b=${clean?.id}`);
  const resent = page.getByRole("region", { name: "Figures" }).locator("[data-figure=retransmitted]");
  await resent.waitFor();
  expect(await resent.getByRole("cell").last().innerText()).toContain("better");
  await page.getByRole("button", { name: "Swap sides" }).click();
  await expect.poll(() => resent.getByRole("cell").last().innerText()).toContain("worse");
});

it("keeps to a narrow window, and says what a side lacks", async () => {
  await page.setViewportSize({ width: 420, height: 800 });
  await page.goto("/diff");
  await page.getByText("Choose a capture below.").first().waitFor();
  await session.grid("Captures for side A").waitFor();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(420);
});
