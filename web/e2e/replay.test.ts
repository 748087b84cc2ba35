import type { Page } from "playwright-core";
import { beforeEach, expect, it } from "vitest";
import { startSession } from "./session";

const BASE = "base-cm-send-write-read.pcap";
const LOSS = "sit-loss-nak.pcap";

const session = startSession();
let page: Page;

beforeEach(() => {
  page = session.page;
});

/** Uploads a capture in the browser and opens its replay. */
async function replay(name: string): Promise<void> {
  await session.upload(name);
  await page.getByRole("link", { name: "Replay" }).click();
  await page.getByRole("heading", { name: "Replay" }).waitFor();
}

it("shows what diverges by rule, and the packets that prove it", async () => {
  await replay(BASE);
  // The sender begins with the PSN that it asked its peer to begin with, and so does the peer.
  const rule = page.getByRole("row").filter({ hasText: "roce.starting-psn" });
  await rule.waitFor();
  expect(await rule.getByRole("cell").allInnerTexts()).toEqual([expect.stringContaining("error"), "1", "1", "–"]);
  const places = page.getByRole("region", { name: "Places of roce.starting-psn" });
  await places.getByText("the connection manager announced 36864").waitFor();
  expect(await places.getByRole("listitem").count()).toBe(2);

  // A link to one verdict of one rule opens the same again.
  await places.getByText("Diverges", { exact: true }).click();
  await expect.poll(() => page.url()).toContain("rule=roce.starting-psn&verdict=diverges");
  await page.reload();
  await places.getByRole("listitem").first().waitFor();
  await expect.poll(() => places.getByRole("listitem").count()).toBe(1);

  await places.getByRole("link", { name: "packet 4", exact: true }).click();
  await page.getByText("SEND Only").first().waitFor();
  expect(page.url()).toContain("packet=4");
});

it("says so when every rule was kept, and what a rule that was kept says", async () => {
  await replay(LOSS);
  await page.getByRole("heading", { name: "Every rule was kept" }).waitFor();
  await page.getByRole("button", { name: /roce.opcode-sequence/ }).press("Enter");
  await page.getByText("It was kept wherever it applied.").waitFor();
});
