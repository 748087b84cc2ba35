import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { beforeEach, describe, expect, it } from "vitest";
import { openTab } from "./browser";
import { captureFile } from "./service";
import { startSession } from "./session";

const BASE = "base-cm-send-write-read.pcap";
const LOSS = "sit-loss-nak.pcap";
const PCAP_HEADER = 24;
const A_SECOND = 4;

const session = startSession();
let page: Page;

beforeEach(() => {
  page = session.page;
});

const bytesOf = (name: string): Buffer<ArrayBuffer> => readFileSync(captureFile(name));

/** The same capture at another time, so that it is another file. */
function shifted(name: string, seconds: number): Buffer<ArrayBuffer> {
  const content = bytesOf(name);
  const of = content.readUInt32LE(0) === 0xa1b2c3d4 ? "LE" : "BE";
  for (let at = PCAP_HEADER; at < content.length; at += 16 + content[`readUInt32${of}`](at + 2 * A_SECOND)) {
    content[`writeUInt32${of}`](content[`readUInt32${of}`](at) + seconds, at);
  }
  return content;
}

describe("two who work at once", () => {
  it("see each other's uploads and deletions", async () => {
    await session.api.put(LOSS, bytesOf(LOSS));
    await page.goto("/");
    await session.row("Captures", LOSS).waitFor();
    const { id } = await session.api.put(BASE, bytesOf(BASE));
    await session.row("Captures", BASE).getByText("Done").waitFor();

    const other = await openTab(session.browser, session.service.url);
    await other.page.goto(`/captures/${id}/packets?v=1&packet=4`);
    await other.page.getByRole("region", { name: "Packet 4" }).waitFor();
    await session.row("Captures", BASE).getByRole("button", { name: `Actions for ${BASE}` }).click();
    await page.getByRole("menuitem", { name: "Delete …" }).click();
    await page.getByRole("button", { name: "Delete for good" }).click();
    await session.row("Captures", BASE).waitFor({ state: "hidden" });
    await other.page.getByText("This capture is not here").waitFor();
    expect(other.complaints).toEqual([]);
    await other.close();
  });

  it("are shown the same by the same address", async () => {
    const { id } = await session.api.put(LOSS, bytesOf(LOSS));
    await page.goto(`/captures/${id}/packets`);
    await session.row("Packets", "NAK").first().click();
    const packet = page.getByRole("region", { name: /^Packet \d+$/ });
    await packet.getByRole("treeitem", { name: /^Syndrome/ }).click();
    await page.getByText("UTC", { exact: true }).click();
    await page.waitForURL(/clock=absolute&field=[\d.]+&packet=\d+/);
    const shown = (tab: Page): Promise<string> => tab.getByRole("region", { name: "Packets" }).innerText();
    const other = await openTab(session.browser, session.service.url, { colorScheme: "dark" });
    await other.page.goto(page.url());
    await other.page.getByRole("treeitem", { name: /^Syndrome/, selected: true }).waitFor();
    await expect.poll(() => shown(other.page)).toBe(await shown(page));
    expect(await other.page.locator("[data-marked]").allInnerTexts()).toEqual(await page.locator("[data-marked]").allInnerTexts());
    await other.close();
  });
});

describe("addresses and filters", () => {
  it("opens a link with what is not valid as without it", async () => {
    const { id } = await session.api.put(LOSS, bytesOf(LOSS));
    for (const query of ["only=nonsense&packet=x&field=y&clock=later", "from=yesterday&only="]) {
      await page.goto(`/captures/${id}/packets?${query}`);
      await page.getByRole("heading", { name: "All packets" }).waitFor();
      await page.getByText("10 packets").waitFor();
    }
    await page.goto(`/captures/${id}?sort=nonsense&order=up&columns=none&flow=x&to=now`);
    await page.getByText("2 flows").waitFor();
  });

  it("says what a filter is that nobody understands, and takes it back", async () => {
    const { id } = await session.api.put(LOSS, bytesOf(LOSS));
    await page.goto(`/captures/${id}?v=1&filter=rc+colour`);
    await page.getByRole("heading", { name: "This filter is not understood" }).waitFor();
    await page.getByText('"colour" is no address, no QPN, no service, no protocol, no application and no finding.', { exact: true }).waitFor();
    await page.getByRole("button", { name: "Clear the filter" }).click();
    await page.getByText("2 flows").waitFor();
  });

  it("finds a capture among more than the list shows at first", async () => {
    const MANY = 101;
    await session.api.post("needle.pcap", shifted(BASE, 1));
    for (let second = 2; second <= MANY; second++) await session.api.post(`hay-${second}.pcap`, shifted(BASE, second));
    await page.goto("/");
    await page.getByText("100 captures and more").waitFor();
    await page.getByRole("textbox", { name: "Filter captures by name or status" }).fill("needle");
    await session.row("Captures", "needle.pcap").waitFor();
    await page.getByText(/^1 of \d+ captures$/).waitFor();
  });
});

describe("a chart", () => {
  it("is read and zoomed by keyboard", async () => {
    const { id } = await session.api.put(LOSS, bytesOf(LOSS));
    await page.goto(`/captures/${id}`);
    const figure = page.getByRole("figure", { name: "Throughput over time" });
    await figure.getByText("Drag to zoom").waitFor();
    await figure.getByRole("application").focus();
    await page.keyboard.press("Home");
    const first = await figure.getByRole("status").innerText();
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => figure.getByRole("status").innerText()).not.toBe(first);
    await page.keyboard.press("Home");
    await page.keyboard.press("Shift+PageDown");
    await page.keyboard.press("Shift+PageDown");
    await page.keyboard.press("Enter");
    await page.waitForURL(/from=.*&to=/);
    await figure.getByRole("button", { name: "Reset zoom" }).waitFor();
    await figure.getByRole("application").focus();
    await page.keyboard.press("Escape");
    await figure.getByText("Drag to zoom").waitFor();
    expect(page.url()).not.toContain("from=");
  });
});
