import type { Page } from "playwright-core";
import { beforeEach, describe, expect, it } from "vitest";
import { startSession } from "./session";

const SPRAY = "metaroce-spray.pcap";
const FAILURE = "path-failure.pcap";

const session = startSession();
let page: Page;

beforeEach(() => {
  page = session.page;
});

const grid = session.grid.bind(session);
const row = session.row.bind(session);
const cell = session.cell.bind(session);

/** First cells of the rows in view, under a header. */
async function column(name: string, header: string): Promise<string[]> {
  const rows = await grid(name).locator("[data-index]").all();
  return Promise.all(rows.map((one) => cell(name, one, header)));
}

/** Uploads a capture in the browser, once, and answers with its id. */
async function upload(name: string): Promise<string> {
  const id = await session.upload(name);
  await grid("Flows").getByRole("link", { name: "4 paths" }).first().waitFor();
  return id;
}

describe("a capture of MetaRoCE", () => {
  it("leads from an upload to the paths, one path over time, and its packets", async () => {
    await upload(SPRAY);
    const flow = row("Flows", "0xeebce2b1").filter({ hasText: "131" });
    expect(await cell("Flows", flow, "Type")).toBe("MetaRoCE");
    expect(await cell("Flows", flow, "Paths, streams")).toBe("4 paths · 2");
    await flow.getByRole("link", { name: "4 paths" }).click();
    await page.waitForURL(/\/flows\/\d+\/paths$/);
    await grid("Paths").waitFor();
    await page.getByText("4 paths", { exact: true }).waitFor();
    const second = row("Paths", "51100");
    expect(await cell("Paths", second, "Source port")).toBe("51081 › 51100");
    expect(await cell("Paths", second, "Packets")).toBe("27");
    expect(await cell("Paths", second, "Resent")).toBe("2");
    expect(await cell("Paths", second, "Share")).toBe("7.41 %");
    expect(await cell("Paths", second, "CE")).toBe("1");
    expect(await cell("Paths", second, "SRTT")).toBe("8.71 µs");
    expect(await cell("Paths", second, "In flight")).toBe("25");
    expect(await cell("Paths", second, "Hint")).toBe("58.0 Gbit/s");

    await grid("Paths").getByRole("button", { name: "Resent" }).click();
    await page.waitForURL(/order=desc&sort=retransmitted/);
    await expect.poll(() => column("Paths", "Resent")).toEqual(["2", "2", "1", "0"]);
    await page.getByRole("textbox", { name: "Filter paths" }).fill("plane1 ce");
    await page.getByText("2 matches").waitFor();
    await expect.poll(() => column("Paths", "Path")).toEqual(["1", "3"]);
    await page.getByRole("textbox", { name: "Filter paths" }).fill("colour");
    await page.getByText(/"colour" is no address/).waitFor();
    await page.getByRole("textbox", { name: "Filter paths" }).fill("");

    await second.click();
    const path = page.getByRole("region", { name: "Path 2" });
    await path.getByText("58.0 Gbit/s at the end").waitFor();
    await path.getByText("25 packets at most").waitFor();
    for (const chart of ["Rate hint over time", "In flight over time", "Round trip over time"]) {
      await path.getByRole("figure", { name: chart }).locator("canvas").waitFor();
    }
    const ports = path.getByRole("list", { name: "Source ports" }).getByRole("listitem");
    expect(await ports.allInnerTexts()).toEqual([
      expect.stringContaining("51081 20 packets, from no. 5"),
      expect.stringMatching(/51100 7 packets, from no\. 82 .*moved/),
    ]);
    await page.reload();
    await path.getByText("58.0 Gbit/s at the end").waitFor();
    await page.keyboard.press("Escape");
    await path.waitFor({ state: "hidden" });
    await page.waitForURL((url) => !url.search.includes("path="));

    await page.keyboard.press("j");
    await page.waitForURL(/path=\d/);
    await page
      .getByRole("region", { name: /^Path \d/ })
      .getByRole("list", { name: "Source ports" })
      .getByRole("link")
      .first()
      .click();
    await page.getByRole("region", { name: /^Packet \d+/ }).waitFor();
  });

  it("shows packets with the columns of MetaRoCE, and says what the profile is", async () => {
    await upload(SPRAY);
    await grid("Flows").getByText("131").click();
    await page.getByText("232 packets").waitFor();
    const write = grid("Packets").locator("[data-index]").filter({ hasText: "2802320754" }).first();
    await write.click();
    expect(await cell("Packets", write, "Path")).toBe("2");
    expect(await cell("Packets", write, "Stream")).toBe("0");
    expect(await cell("Packets", write, "MSN")).toBe("1");
    const packet = page.getByRole("region", { name: "Packet 9" });
    await packet.getByRole("treeitem", { name: /MetaRoCE, profile mr0/ }).waitFor();
    await packet.getByRole("button", { name: "MetaRoCE, profile mr0" }).click();
    await page.getByText("nothing here claims to be Meta's layout").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("navigation", { name: "Views of the flow" }).getByRole("link", { name: /Streams/ }).click();
    await page.waitForURL(/\/flows\/\d+\/streams$/);
  });

  it("shows streams with their completion latency", async () => {
    const id = await upload(SPRAY);
    await grid("Flows").getByText("131").click();
    await page.getByRole("navigation", { name: "Views of the flow" }).getByRole("link", { name: /Streams/ }).click();
    const seven = row("Streams", "WRITE 7");
    expect(await cell("Streams", seven, "Stream")).toBe("7");
    expect(await cell("Streams", seven, "Messages")).toBe("24");
    expect(await cell("Streams", seven, "Complete")).toBe("23");
    expect(await cell("Streams", seven, "Median")).toBe("16.9 µs");
    expect(await cell("Streams", seven, "Longest")).toBe("4.03 ms");
    await seven.getByRole("img", { name: /median 16\.9 µs/ }).waitFor();
    await grid("Streams").getByRole("button", { name: "p99" }).click();
    await expect.poll(() => column("Streams", "Stream")).toEqual(["7", "0"]);
    await page.getByRole("textbox", { name: "Filter streams" }).fill("incomplete");
    await page.getByText("1 match").waitFor();

    await page.goto(`/captures/${id}/streams`);
    await page.getByRole("heading", { name: "Streams of all connections" }).waitFor();
    await row("Streams", "WRITE 4").click();
    await page.waitForURL(/\/flows\/\d+\/streams\?v=1&stream=0/);
  });

  it("tells a path that failed and was moved", async () => {
    const id = await upload(FAILURE);
    await page.goto(`/captures/${id}/paths?v=1&filter=failed`);
    await page.getByText("1 match").waitFor();
    const failed = row("Paths", "64209");
    expect(await cell("Paths", failed, "State")).toBe("failed");
    expect(await cell("Paths", failed, "Source port")).toBe("64209 › 64750 › 58655");
    await failed.click();
    const path = page.getByRole("region", { name: "Path 2" });
    await path.getByText("PROBE, to port 64750, to port 58655").waitFor();
    await path.getByText("the receiver set no limit").first().waitFor();
  });

  it("answers in SQL", async () => {
    await upload(SPRAY);
    await page.goto("/sql");
    await page.getByRole("complementary", { name: "Schema" }).getByRole("button", { name: "paths", exact: true }).waitFor();
    await page.getByRole("button", { name: "Examples" }).click();
    await page.getByRole("menuitem", { name: /MetaRoCE: completion latency by stream/ }).click();
    await page.getByText(/rows? read/).waitFor();
    const seven = grid("Result").locator("[data-index]").filter({ hasText: "10.20.0.1" }).filter({ hasText: "23" }).first();
    expect(await cell("Result", seven, "stream_id")).toBe("7");
    expect(await cell("Result", seven, "messages")).toBe("24");
  });

  it("fits a narrow window, in the dark too", async () => {
    const id = await upload(SPRAY);
    const flows = await session.api.get<{ flows: { id: string }[] }>(`/captures/${id}/flows?sort=packets`);
    const flow = `/captures/${id}/flows/${flows.flows[0]?.id}`;
    await page.setViewportSize({ width: 390, height: 844 });
    await page.emulateMedia({ colorScheme: "dark" });
    for (const path of [`/captures/${id}/paths`, `/captures/${id}/streams`, `${flow}/paths?v=1&path=2`, `${flow}/streams`, `${flow}?v=1&packet=9`]) {
      await page.goto(path);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await expect.poll(() => page.locator("[aria-busy=true], .mantine-Skeleton-root").count()).toBe(0);
      expect(await page.locator("main").evaluate((main) => main.scrollWidth - main.clientWidth)).toBe(0);
    }
  });
});

it("tells pauses by priority", async () => {
  await session.upload("pfc.pcap");
  const pauses = page.getByRole("region", { name: "Pauses" });
  await pauses.getByText("Priority 3").waitFor();
  expect((await pauses.innerText()).replaceAll(/\s+/g, " ")).toContain("Priority 3 3 stops, 1 release, 131,170 quanta, 65,535 the longest, no. 1 to 4");
  await pauses.getByRole("link", { name: "no. 6" }).click();
  await page.waitForURL(/only=pause/);
  await page.getByRole("region", { name: "Packet 6" }).waitFor();
});
