import { readFileSync } from "node:fs";
import { basename } from "node:path";
import type { Locator, Page } from "playwright-core";
import { beforeEach, describe, expect, it } from "vitest";
import type { Capture } from "./api";
import { dropFiles } from "./browser";
import { captureFile } from "./service";
import { startSession } from "./session";

const BASE = "base-cm-send-write-read.pcap";
const CUT = "ct-cut.pcap";
const LOSS = "sit-loss-nak.pcap";

const session = startSession();
let page: Page;

beforeEach(() => {
  page = session.page;
});

const captures = (): Promise<Capture[]> => session.api.captures();
const ask = (sql: string): Promise<unknown[][]> => session.api.ask(sql);

async function removeAll(): Promise<void> {
  for (const { id } of await captures()) await session.api.remove(id);
}

/** Uploads a capture for tests that are about something else, unless it is there. */
async function put(name: string): Promise<Capture> {
  const known = (await captures()).find((capture) => capture.name === name && capture.totals);
  return known ?? session.api.put(name, readFileSync(captureFile(name)));
}

/** Queries that the service has ended, however they ended. */
async function queriesEnded(): Promise<number> {
  const metrics = await (await fetch(`${session.service.url}/metrics`)).text();
  return Number(/^rocelens_http_request_duration_seconds_count\{route="\/api\/v1\/query"\} (\d+)$/m.exec(metrics)?.[1] ?? 0);
}

/** A capture whose analysis takes a while: the packets of a small one over and over, and how many they are. */
function longCapture(): { content: Buffer; packets: number } {
  const PCAP_HEADER = 24;
  const small = readFileSync(captureFile(BASE));
  const times = 10_000;
  const records = small.subarray(PCAP_HEADER);
  return { content: Buffer.concat([small.subarray(0, PCAP_HEADER), ...Array.from({ length: times }, () => records)]), packets: 17 * times };
}

const uploadsList = (): Locator => page.getByRole("region", { name: "Uploads" });
const list = session.grid.bind(session);
const row = session.row.bind(session);
const cell = session.cell.bind(session);

async function choose(...files: { name: string; content: Buffer }[]): Promise<void> {
  await page.locator("input[type=file]").setInputFiles(
    files.map(({ name, content }) => ({ name, mimeType: "application/octet-stream", buffer: content })),
  );
}

const file = (name: string): { name: string; content: Buffer } => ({ name: basename(name), content: readFileSync(captureFile(name)) });

describe("captures", () => {
  beforeEach(removeAll);

  it("explains what to do while there is nothing", async () => {
    await page.goto("/");
    await page.getByText("Drop a capture to see who talked").waitFor();
    await page.getByText("rocelens analyze FILE").waitFor();
    expect(await page.title()).toBe("Captures · rocelens");
  });

  it("takes files that are dropped anywhere, follows them to the end and leads to the results", async () => {
    await page.goto("/");
    await page.getByText("Drop a capture to see who talked").waitFor();
    await dropFiles(page, [file(BASE), file(LOSS)]);
    const upload = uploadsList().getByRole("listitem").filter({ hasText: BASE });
    await upload.getByText("Analysed").waitFor();
    await upload.getByText("17 packets, 4 flows").waitFor();
    const base = row("Captures", BASE);
    await base.getByText("Done").waitFor();
    expect(await cell("Captures", base, "Packets")).toBe("17");
    expect(await cell("Captures", base, "RDMA")).toBe("17");
    expect(await cell("Captures", base, "Flows")).toBe("4");
    expect(await cell("Captures", base, "Size")).toBe("6.69 KiB");
    await row("Captures", LOSS).getByRole("link", { name: /retransmitted/ }).waitFor();
    await upload.getByRole("link", { name: "Open" }).click();
    await page.getByRole("heading", { name: BASE }).waitFor();
    await page.getByText("4 flows").waitFor();
  });

  it("says plainly what is wrong with bad files, and keeps the rest intact", async () => {
    await put(BASE);
    await page.goto("/");
    await row("Captures", BASE).getByText("Done").waitFor();
    await choose(
      { name: "notes.txt", content: Buffer.from("these are my notes, not packets\n".repeat(20)) },
      { name: "empty.pcap", content: Buffer.alloc(0) },
      file(CUT),
    );
    const uploads = uploadsList().getByRole("listitem");
    await uploads.filter({ hasText: "empty.pcap" }).getByText("The file is empty: it has no bytes.").waitFor();
    await uploads.filter({ hasText: "notes.txt" }).getByText(/not a capture/i).waitFor();
    await uploads.filter({ hasText: CUT }).getByText("4 packets, 3 flows").waitFor();
    const cut = row("Captures", CUT);
    await cut.getByText("Partial").waitFor();
    expect(await cell("Captures", cut, "Packets")).toBe("4");
    const base = row("Captures", BASE);
    expect(await cell("Captures", base, "Packets")).toBe("17");
    await cut.getByRole("link", { name: CUT }).click();
    await page.getByRole("alert").filter({ hasText: /ends inside/ }).waitFor();
  });

  it("recognises a file that was uploaded before", async () => {
    const { id } = await put(BASE);
    await page.goto("/");
    await row("Captures", BASE).waitFor();
    await choose({ ...file(BASE), name: "another-name.pcap" });
    const upload = uploadsList().getByRole("listitem").filter({ hasText: "another-name.pcap" });
    await upload.getByText(`You have uploaded this before, as ${BASE}`).waitFor();
    await upload.getByRole("link", { name: "Open" }).click();
    await page.waitForURL(`**/captures/${id}`);
    expect(await captures()).toHaveLength(1);
  });

  it("deletes after a question that says it is for good", async () => {
    const { id } = await put(BASE);
    await put(LOSS);
    await page.goto("/");
    await row("Captures", BASE).getByRole("button", { name: `Actions for ${BASE}` }).click();
    await page.getByRole("menuitem", { name: "Delete …" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("This cannot be undone.").waitFor();
    await dialog.getByRole("button", { name: "Keep it" }).click();
    await dialog.waitFor({ state: "hidden" });
    expect(await captures()).toHaveLength(2);
    await row("Captures", BASE).getByRole("button", { name: `Actions for ${BASE}` }).click();
    await page.getByRole("menuitem", { name: "Delete …" }).click();
    await dialog.getByRole("button", { name: "Delete for good" }).click();
    await row("Captures", BASE).waitFor({ state: "hidden" });
    await row("Captures", LOSS).waitFor();
    expect((await fetch(`${session.service.url}/api/v1/captures/${id}`)).status).toBe(404);
    await page.goto(`/captures/${id}`);
    await page.getByText("This capture is not here").waitFor();
  });

  it("pauses, resumes after a reload from where it was, and cancels", async () => {
    // The bytes are held back, as a dead line would.
    let hold = true;
    await page.route("**/api/v1/uploads/*", async (route) => {
      if (route.request().method() === "PATCH" && hold) return;
      await route.continue();
    });
    await page.goto("/");
    await page.getByText("Drop a capture to see who talked").waitFor();
    // By its path, as a browser knows the same file by its time of change.
    await page.locator("input[type=file]").setInputFiles(captureFile(BASE));
    const upload = uploadsList().getByRole("listitem").filter({ hasText: BASE });
    await upload.getByRole("button", { name: `Pause the upload of ${BASE}` }).click();
    await upload.getByText("Paused").waitFor();
    await page.reload();
    await upload.getByText("Choose or drop the same file again").waitFor();
    hold = false;
    await page.locator("input[type=file]").setInputFiles(captureFile(BASE));
    await upload.getByText("Analysed").waitFor();
    expect(await uploadsList().getByRole("listitem").count()).toBe(1);

    hold = true;
    await choose(file(LOSS));
    const second = uploadsList().getByRole("listitem").filter({ hasText: LOSS });
    await second.getByRole("button", { name: `Cancel the upload of ${LOSS}` }).click();
    await second.waitFor({ state: "hidden" });
    expect((await captures()).map(({ name }) => name)).toEqual([BASE]);
  });
});

describe("a capture", () => {
  it("shows its figures, flows, packets and bytes, all alike after a reload", async () => {
    const { id } = await put(BASE);
    await page.goto(`/captures/${id}`);
    const summary = page.getByRole("region", { name: "Summary" });
    await summary.getByText("Messages").waitFor();
    await page.getByRole("figure", { name: "Throughput over time" }).waitFor();
    await page.getByText("4 flows").waitFor();
    const flow = row("Flows", "0x11").filter({ hasText: "WRITE" });
    await flow.waitFor();
    expect(await cell("Flows", flow, "Source")).toBe("10.0.0.1");
    expect(await cell("Flows", flow, "Destination")).toBe("10.0.0.2");
    expect((await cell("Flows", flow, "QP → QP")).replaceAll(/\s/g, "")).toBe("0x11→0x22");
    expect(await cell("Flows", flow, "Packets")).toBe("7");
    expect(await cell("Flows", flow, "Retrans.")).toBe("0");

    await page.getByRole("button", { name: /^Packets/ }).click();
    await page.waitForURL("**/captures/*?v=1&sort=packets");
    await list("Flows").getByRole("columnheader", { name: /Packets/ }).and(page.locator("[aria-sort=descending]")).waitFor();
    await page.getByRole("textbox", { name: "Filter flows" }).fill("10.0.0.2 rc");
    await page.getByText("1 match").or(page.getByText("2 matches")).waitFor();
    await page.waitForURL("**filter=10.0.0.2+rc**");
    await page.reload();
    await page.getByText("1 match").or(page.getByText("2 matches")).waitFor();
    expect(await page.getByRole("textbox", { name: "Filter flows" }).inputValue()).toBe("10.0.0.2 rc");

    await page.goto(`/captures/${id}`);
    await flow.click();
    await page.waitForURL(/\/captures\/.+\/flows\/\d+/);
    await page.getByRole("region", { name: "Figures of both directions" }).getByText("0x22").first().waitFor();
    await page.getByText("12 packets").waitFor();
    await list("Packets").getByText("RC RDMA WRITE First").click();
    const packet = page.getByRole("region", { name: "Packet 8" });
    await packet.getByRole("tree", { name: "Fields" }).waitFor();
    await packet.getByRole("treeitem", { name: /^PSN/ }).click();
    await packet.getByText("infiniband.bth.psn").waitFor();
    const marked = packet.locator("[data-offset][data-marked]");
    await expect.poll(() => marked.allInnerTexts()).toEqual(["00", "50", "01", "·", "P", "·"]);
    await page.waitForURL(/field=[\d.]+&packet=8/);
    const address = page.url();
    await page.reload();
    await packet.getByRole("treeitem", { name: /^PSN/, selected: true }).waitFor();
    await expect.poll(() => marked.allInnerTexts()).toEqual(["00", "50", "01", "·", "P", "·"]);
    expect(page.url()).toBe(address);

    await packet.locator("[data-offset='30']").first().click();
    await packet.getByRole("treeitem", { name: /^Destination 10\.0\.0\.2/, selected: true }).waitFor();
    await packet.getByText("bytes 30–33").waitFor();
    await packet.locator("[data-offset='15']").first().click();
    await packet.getByText("byte 15, bits 0–5 = 000000").waitFor();
    await packet.locator("[data-offset='15']").first().click();
    await packet.getByText("byte 15, bits 6–7 = 10").waitFor();
  });

  it("stops an analysis, drops its rows, and analyses again", async () => {
    const { content, packets } = longCapture();
    const { id } = await session.api.post("long.pcap", new Uint8Array(content));
    await page.goto(`/captures/${id}`);
    const stop = page.getByRole("button", { name: "Stop the analysis" });
    const again = page.getByRole("button", { name: "Analyse again" });
    const stopped = page.getByRole("heading", { name: "The analysis was stopped" });
    const figures = page.getByRole("region", { name: "Summary" });
    for (;;) {
      await stop.or(figures).first().waitFor();
      // It may have ended while the page was on its way; then it begins anew.
      if (await figures.isVisible()) {
        await page.getByRole("button", { name: "More actions" }).click();
        await page.getByRole("menuitem", { name: "Analyse again" }).click();
        continue;
      }
      await stop.dispatchEvent("click").catch(() => undefined);
      await stopped.or(figures).first().waitFor();
      if (await stopped.isVisible()) break;
    }
    await page.getByText("The file is kept, and its analysis can be started again.").waitFor();
    const now = (await captures()).find((capture) => capture.id === id);
    expect(now?.status).toBe("cancelled");
    expect(now?.totals).toBeUndefined();
    expect(await ask(`SELECT count() FROM packets WHERE capture_id = '${id}'`)).toEqual([[0]]);

    await again.click();
    await figures.getByText(packets.toLocaleString("en-US")).first().waitFor();
    await page.getByText("4 flows").waitFor();
    expect(await ask(`SELECT count() FROM packets WHERE capture_id = '${id}'`)).toEqual([[packets]]);
    await session.api.remove(id);
  });

  it("leads from a trouble to its packets", async () => {
    const { id, totals } = await put(LOSS);
    const count = totals?.["retransmitted_packets"] ?? 0;
    expect(count).toBeGreaterThan(0);
    await page.goto(`/captures/${id}`);
    await page.getByRole("region", { name: "Summary" }).getByRole("link", { name: /Retransmitted/ }).click();
    await page.waitForURL("**/packets?v=1&only=retransmitted");
    await page.getByRole("heading", { name: "Packets: retransmitted" }).waitFor();
    await expect.poll(() => list("Packets").getByText("RETX").count()).toBe(count);
  });

  it("shows what each interface lost, and pause frames", async () => {
    const interfaces = await put("ct-multi-if.pcapng");
    await page.goto(`/captures/${interfaces.id}`);
    await page.getByText("(17 received, 3 dropped)").waitFor();
    const pauses = await put("pfc.pcap");
    await page.goto(`/captures/${pauses.id}`);
    await page.getByRole("link", { name: /Pause frames\s*7/ }).click();
    await page.waitForURL("**/packets?v=1&only=pause");
    await page.getByText("7 matches").waitFor();
  });

  it("shows what cannot be known as unknown", async () => {
    const { id } = await put("ct-spb.pcapng");
    await page.goto(`/captures/${id}`);
    await page.getByText("This capture has no time stamps, so there is no throughput over time.").waitFor();
    const flow = row("Flows", "WRITE");
    await flow.getByRole("img", { name: /unknown: one packet, or packets without time, have no rate/ }).waitFor();
    await page.getByText("the file does not tell").waitFor();
  });

  it("lets the columns be chosen, in the address", async () => {
    const { id } = await put(BASE);
    await page.goto(`/captures/${id}`);
    await page.getByRole("button", { name: "Columns" }).click();
    await page.getByRole("menuitemcheckbox", { name: /Path MTU, bytes/ }).click();
    await page.waitForURL(/columns=%2Bpath_mtu|columns=\+path_mtu/);
    await page.keyboard.press("Escape");
    await page.reload();
    await list("Flows").getByRole("columnheader", { name: "MTU" }).waitFor();
  });
});

describe("SQL", () => {
  it("runs an example, shows the answer and hands out all of it", async () => {
    await put(BASE);
    await page.goto("/sql");
    await page.getByRole("button", { name: "Examples" }).click();
    await page.getByRole("menuitem").first().click();
    await page.getByText(/rows? read/).waitFor();
    expect(await list("Result").getByRole("row").count()).toBeGreaterThan(1);
    expect(page.url()).toMatch(/\/sql\?v=1&sql=/);

    await page.goto(`/sql?v=1&sql=${encodeURIComponent("SELECT number AS n, NULL AS nothing, 'a,b' AS text FROM numbers(3)")}`);
    await page.getByText("3 rows").first().waitFor();
    await list("Result").getByText("NULL").first().waitFor();
    await page.getByRole("button", { name: "Download all" }).click();
    const [csv] = await Promise.all([page.waitForEvent("download"), page.getByRole("menuitem", { name: /CSV/ }).click()]);
    expect(csv.suggestedFilename()).toBe("rocelens-query.csv");
    expect(readFileSync(await csv.path(), "utf8").replaceAll("\r\n", "\n")).toBe(
      '"n","nothing","text"\n0,\\N,"a,b"\n1,\\N,"a,b"\n2,\\N,"a,b"\n',
    );
    await page.getByRole("button", { name: "Download all" }).click();
    const [json] = await Promise.all([page.waitForEvent("download"), page.getByRole("menuitem", { name: /JSON/ }).click()]);
    const lines = readFileSync(await json.path(), "utf8").trim().split("\n");
    expect(lines).toHaveLength(3);
    expect(JSON.parse(lines[2] ?? "")).toMatchObject({ nothing: null, text: "a,b" });
  });

  it("shows a refusal in the database's words, and where", async () => {
    await put(BASE);
    await page.goto("/sql");
    const editor = page.getByRole("textbox", { name: "SQL" });
    await editor.click();
    await page.keyboard.type("DROP TABLE flows");
    await page.keyboard.press("Control+Enter");
    const refusal = page.getByRole("alert");
    await refusal.getByText(/privileges|readonly/i).waitFor();
    expect((await captures()).length).toBeGreaterThan(0);

    await page.goto(`/sql?v=1&sql=${encodeURIComponent("SELECT *\nFORM flows")}`);
    await refusal.getByText("Syntax error").waitFor();
    await page.locator(".cm-line.sql-error-line", { hasText: "FORM flows" }).waitFor();
  });

  it("goes back to the statement before, and keeps a history", async () => {
    await page.goto(`/sql?v=1&sql=${encodeURIComponent("SELECT 11 AS first")}`);
    await list("Result").getByText("11").waitFor();
    const editor = page.getByRole("textbox", { name: "SQL" });
    await editor.click();
    await page.keyboard.press("Control+A");
    await page.keyboard.type("SELECT 22 AS second");
    await page.keyboard.press("Control+Enter");
    await list("Result").getByText("22").waitFor();
    await page.goBack();
    await list("Result").getByText("11").waitFor();
    expect(await editor.innerText()).toBe("SELECT 11 AS first");
    await page.getByRole("button", { name: "History" }).click();
    await page.getByRole("menuitem", { name: /SELECT 22 AS second/ }).click();
    await expect.poll(() => editor.innerText()).toBe("SELECT 22 AS second");
  });

  it("cancels a statement that runs, in the service too", async () => {
    const before = await queriesEnded();
    const endless = "SELECT sum(cityHash64(a.number, b.number)) FROM numbers(1000000) AS a CROSS JOIN numbers(1000000) AS b";
    const sent = page.waitForRequest("**/api/v1/query");
    await page.goto(`/sql?v=1&sql=${encodeURIComponent(endless)}`);
    await sent;
    await page.getByText(/^Running, /).waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("heading", { name: "Cancelled" }).waitFor();
    await page.getByRole("button", { name: "Run", exact: true }).waitFor();
    await expect.poll(queriesEnded, { timeout: 30_000 }).toBe(before + 1);

    const editor = page.getByRole("textbox", { name: "SQL" });
    await editor.click();
    await page.keyboard.press("Control+A");
    await page.keyboard.type("SELECT 33 AS third");
    await page.keyboard.press("Control+Enter");
    await list("Result").getByText("33").waitFor();
  });

  it("lists the schema, whose names go into the editor", async () => {
    await page.goto("/sql");
    const schema = page.getByRole("complementary", { name: "Schema" });
    await schema.getByRole("button", { name: "flows", exact: true }).click();
    await expect.poll(() => page.getByRole("textbox", { name: "SQL" }).innerText()).toBe("flows");
  });
});

describe("the console", () => {
  it("is walked by keyboard alone", async () => {
    await put(BASE);
    await page.goto("/");
    await row("Captures", BASE).waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog", { name: "Keyboard" }).waitFor({ state: "hidden" });
    await page.keyboard.press("/");
    await page.keyboard.type(BASE);
    await page.waitForURL(`**filter=${BASE}`);
    await page.keyboard.press("Escape");
    await page.keyboard.press("j");
    await list("Captures").locator("[aria-selected=true]").waitFor();
    await page.keyboard.press("Enter");
    await page.getByText("4 flows").waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("k");
    await list("Flows").locator("[aria-rowindex='2'][aria-selected=true]").waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/flows\/\d+/);
    await list("Packets").getByText("RC SEND Only").first().waitFor();
    await page.keyboard.press("j");
    const fields = page.getByRole("tree", { name: "Fields" });
    await fields.waitFor();
    await fields.focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await fields.getByRole("treeitem", { selected: true }).and(page.locator("[aria-level='2']")).waitFor();
    await page.keyboard.press("Escape");
    await fields.waitFor({ state: "hidden" });
    await Promise.all([page.keyboard.press("g"), page.keyboard.press("s")]); // within the time of a sequence
    await page.waitForURL("**/sql");
    await Promise.all([page.keyboard.press("g"), page.keyboard.press("c")]); // within the time of a sequence
    await page.waitForURL(`${session.service.url}/`);
  });

  it("follows the system's colours, and the choice over it through a reload", async () => {
    await page.goto("/");
    const scheme = (): Promise<string | null> => page.locator("html").getAttribute("data-mantine-color-scheme");
    expect(await scheme()).toBe("light");
    await page.emulateMedia({ colorScheme: "dark" });
    await expect.poll(scheme).toBe("dark");
    await page.emulateMedia({ colorScheme: "light" });
    await page.getByRole("button", { name: "Colour scheme" }).click();
    await page.getByRole("menuitem", { name: "Dark" }).click();
    await expect.poll(scheme).toBe("dark");
    await page.reload();
    expect(await scheme()).toBe("dark");
  });

  it("tells its version and database, and where the API is described", async () => {
    const { version, clickhouse_version } = (await (await fetch(`${session.service.url}/api/v1/service`)).json()) as Record<string, string>;
    await page.goto("/");
    await page.getByRole("button", { name: /^About, version / }).click();
    const about = page.getByRole("dialog", { name: "About" });
    await about.getByText(version ?? "", { exact: false }).waitFor();
    await about.getByText(`ClickHouse ${clickhouse_version}, embedded`).waitFor();
    await about.getByRole("link", { name: "API" }).click();
    await page.waitForURL("**/api/docs");
    await page.getByRole("heading", { name: "rocelens API" }).waitFor();
  });

  it("fits a narrow window", async () => {
    const { id } = await put(LOSS);
    await page.setViewportSize({ width: 390, height: 844 });
    for (const path of ["/", `/captures/${id}`, `/captures/${id}/packets?v=1&packet=1`, "/sql"]) {
      await page.goto(path);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await expect.poll(() => page.locator("[aria-busy=true], .mantine-Skeleton-root").count()).toBe(0);
      expect(await page.locator("main").evaluate((main) => main.scrollWidth - main.clientWidth)).toBe(0);
    }
  });

  it("says when there is no such page, and when the service is away", async () => {
    await page.goto("/no/such/page");
    await page.getByText("There is no such page").waitFor();
    await page.route("**/api/v1/**", (route) => route.abort());
    await page.getByRole("link", { name: "All captures" }).click();
    await page.getByRole("alert").filter({ hasText: "The service does not answer" }).first().waitFor();
    await page.unroute("**/api/v1/**");
    await page.getByRole("alert").filter({ hasText: "What is shown may be out of date" }).waitFor({ state: "hidden" });
    await list("Captures").waitFor();
  });
});
