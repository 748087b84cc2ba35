import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { beforeEach, expect, it } from "vitest";
import { captureFile } from "./service";
import { startSession } from "./session";

const REQUESTER = "merge-requester.pcap";
const RESPONDER = "merge-responder.pcap";
const OTHER = "sit-ecn-cnp.pcap";

const session = startSession();
let page: Page;
let second: string;

beforeEach(async () => {
  page = session.page;
  await session.api.put(OTHER, readFileSync(captureFile(OTHER)));
  second = (await session.api.put(RESPONDER, readFileSync(captureFile(RESPONDER)))).id;
});

it("merges a capture with the one that has its connection, and places what was lost between the points", async () => {
  const first = await session.upload(REQUESTER);
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: /^Merge/ }).click();
  // Of captures of one time the one with the connection comes first.
  const candidates = session.grid("Captures to merge with").getByRole("row");
  await expect.poll(() => candidates.nth(1).innerText()).toContain("has its busiest connection, too");
  expect(await candidates.nth(1).innerText()).toContain(RESPONDER);
  await page.getByRole("button", { name: `Merge with ${RESPONDER}` }).press("Enter");
  await page.waitForURL((url) => url.pathname === `/captures/${first}/merge/${second}`);

  const common = page.getByRole("region", { name: "What both have in common" });
  await common.getByText("B's clock is 38.2 ms ahead of A's, ± 5.08 µs").waitFor();
  await common.getByText("missed 7 of what passed it").waitFor();
  const forth = session.row("Directions", /10\.0\.0\.1 → 10\.0\.1\.1/);
  const figures = await Promise.all(["Order", "In both", "Lost between", "Missed A / B", "CE set"].map((header) => session.cell("Directions", forth, header)));
  expect(figures).toEqual(["A, then B", "374", "1", "0 / 6", "9"]);
  await forth.click();
  const placed = page.getByRole("figure", { name: "Where losses and delays of 10.0.0.1 → 10.0.1.1 lie" });
  expect((await placed.getByRole("listitem").allInnerTexts()).map((text) => text.replaceAll(/\s+/g, " ").trim())).toEqual([
    "10.0.0.1",
    "0 lost before",
    "A missed 0",
    expect.stringMatching(/^1 lost between 5\.\d\d µs to 5\.70 µs, median 5\.70 µs 9 marked CE$/),
    "B missed 6",
    "0 lost or late behind",
    "10.0.1.1",
  ]);

  // The address says what is shown, and leads to the packet that was lost.
  await page.getByText("Packets of one capture alone", { exact: true }).click();
  await page.getByText("Lost between", { exact: true }).click();
  await expect.poll(() => page.url()).toContain("fate=lost");
  await page.reload();
  const lost = session.grid("Packets of one capture alone").getByRole("row").filter({ hasText: "lost between the points" });
  await expect.poll(() => lost.count()).toBe(1);
  await lost.getByRole("link", { name: "packet 201", exact: true }).click();
  await page.waitForURL(/packets\?.*packet=201/);
  await page.getByRole("region", { name: "Packet 201" }).waitFor();
});

it("keeps what came of a merge for both captures until it is forgotten", async () => {
  const first = await session.upload(REQUESTER);
  const address = `/captures/${first}/merge/${second}`;
  await page.goto(address);
  const begin = page.getByRole("button", { name: "Merge them" });
  const common = page.getByRole("region", { name: "What both have in common" });
  await begin.or(common).waitFor();
  if (await begin.isVisible()) await begin.click();
  await common.waitFor();
  await page.goto(`/captures/${second}/merge`);
  const made = page.getByRole("region", { name: "Merges of this capture" });
  await made.getByRole("link", { name: `${REQUESTER} and ${RESPONDER}` }).waitFor();
  await made.getByRole("button", { name: `Forget the merge of ${REQUESTER} and ${RESPONDER}` }).press("Enter");
  await made.waitFor({ state: "hidden" });
  await page.goto(address);
  await begin.waitFor();
});

it("says why captures without a common packet cannot be merged", async () => {
  const { id: other } = await session.api.put(OTHER, readFileSync(captureFile(OTHER)));
  await page.goto(`/captures/${second}/merge/${other}`);
  await page.getByRole("button", { name: "Merge them" }).click();
  await page.getByRole("alert").filter({ hasText: "The captures could not be merged" }).waitFor();
  await page.getByRole("button", { name: "Try again" }).waitFor();
});
