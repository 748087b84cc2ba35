import type { Page } from "playwright-core";
import { beforeEach, expect, it } from "vitest";
import { startSession } from "./session";

const NAME = "allreduce-loss.pcapng";

const session = startSession();
let page: Page;

beforeEach(async () => {
  page = session.page;
  const id = await session.upload(NAME);
  const { flows } = await session.api.get<{ flows: { id: string }[] }>(`/captures/${id}/flows?sort=retransmitted&order=desc&limit=1`);
  await page.goto(`/captures/${id}/flows/${flows[0]?.id}`);
});

/** Opens the graph from the flow's page. */
async function openGraph() {
  await page.getByRole("navigation", { name: "Views of the flow" }).getByRole("link", { name: "Sequence" }).click();
  await graph().waitFor();
}

const graph = () => page.getByRole("application", { name: /^PSNs from / });

/** Different colours that are drawn. */
const colors = () =>
  page.locator("canvas").evaluate((element) => {
    const canvas = element as HTMLCanvasElement;
    const data = new Uint32Array(canvas.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height).data.buffer ?? new ArrayBuffer(0));
    return new Set(data).size;
  });

it("draws, zooms by wheel and keys, keeps its window in the address, and opens the packet that is pointed at", async () => {
  await openGraph();
  await expect.poll(colors).toBeGreaterThan(8);
  const box = await graph().boundingBox();
  if (!box) throw new Error("the graph has no place");
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.wheel(0, -600);
  await page.waitForURL(/from=.*to=/);
  const zoomed = page.url();
  await graph().press("+");
  await expect.poll(() => page.url()).not.toBe(zoomed);
  const held = page.url();
  const text = await page.getByText(/ of .*Each point is/).textContent();
  await page.reload();
  await expect.poll(() => page.getByText(/ of .*Each point is/).textContent()).toBe(text);
  expect(page.url()).toBe(held);
  await graph().press("0");
  await page.waitForURL((url) => !url.search.includes("from="));

  await expect.poll(colors).toBeGreaterThan(8);
  await graph().press(".");
  const status = page.getByRole("status").filter({ hasText: /^Packet \d/ });
  await status.waitFor();
  const number = /^Packet ([\d,]+),/.exec((await status.textContent()) ?? "")?.[1]?.replaceAll(",", "");
  await graph().press("Enter");
  await page.waitForURL((url) => url.searchParams.get("packet") === number);
  await page.getByRole("region", { name: `Packet ${number}` }).waitFor();
});

it("hides what is not wanted and says so in the address", async () => {
  await openGraph();
  await expect.poll(colors).toBeGreaterThan(8);
  await page.getByRole("button", { name: "Requests" }).click();
  await page.waitForURL(/hide=data/);
  await page.reload();
  await expect.poll(() => page.getByRole("button", { name: "Requests" }).getAttribute("aria-pressed")).toBe("false");
});

it("tells of the flow's connection where it was captured, what was lost where, and how its ends behave", async () => {
  await page.getByText("Does what the reference would").click();
  await page.getByText("captured between the two").waitFor();
  await page.getByText("go-back-N (3 of 3 times after a NAK)").waitFor();
  const lossy = page.getByRole("row").filter({ has: page.getByRole("rowheader", { name: "10.16.0.3", exact: true }) });
  expect((await lossy.getByRole("cell").allInnerTexts()).slice(0, 4)).toEqual(["0, 0 %", "3", "0", "0"]);
});
