/** Writes the pictures of README and docs/: the service with an empty database, captures of testdata/, the browser. */
import { readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import type { Browser, Page } from "playwright-core";
import { Api } from "./api";
import { launch, openTab } from "./browser";
import { startService } from "./service";

const REPOSITORY = resolve(import.meta.dirname, "../..");
const CAPTURES = ["metaroce/loss.pcap", "read-write-mix.pcap", "derived/sit-loss-nak.pcap", "derived/sit-ecn-cnp.pcap", "allreduce-loss.pcapng"];
const DIVERGING = "derived/base-cm-send-write-read.pcap";
const SHOWN = "allreduce-loss.pcapng";
const NAK = 36;
const SQL = `SELECT name AS capture, opcode_name AS opcode, count() AS packets,
       countIf(is_retransmitted) AS resent, countIf(ecn = 'CE') AS marked
FROM packets JOIN captures ON captures.id = packets.capture_id
WHERE opcode != '' GROUP BY ALL ORDER BY resent DESC, packets DESC`;

interface Flow {
  id: string;
}

async function shoot(browser: Browser, url: string, name: string, height: number, show: (page: Page) => Promise<void>): Promise<void> {
  const tab = await openTab(browser, url, { viewport: { width: 1440, height } });
  await show(tab.page);
  await tab.page.evaluate(() => document.fonts.ready);
  await tab.page.locator("[aria-busy=true], .mantine-Skeleton-root").first().waitFor({ state: "hidden" });
  await tab.page.mouse.move(0, 0);
  await tab.page.screenshot({ path: join(REPOSITORY, "docs", `${name}.png`), animations: "disabled", caret: "hide" });
  if (tab.complaints.length > 0) throw new Error(`${name}: ${tab.complaints.join("; ")}`);
  await tab.close();
}

const service = await startService();
const browser = await launch();
try {
  const api = new Api(service.url);
  const { version } = await api.get<{ version: string }>("/service");
  if (version.endsWith("-dirty")) throw new Error(`the build ${version} is of no commit: commit, then make screenshots`);
  const ids = new Map<string, string>();
  for (const path of CAPTURES) {
    const { id } = await api.put(basename(path), readFileSync(join(REPOSITORY, "testdata", path)));
    ids.set(path, id);
  }
  const shown = ids.get(SHOWN) ?? "";
  const { flows } = await api.get<{ flows: Flow[] }>(`/captures/${shown}/flows?sort=retransmitted&order=desc&limit=1`);
  const flow = flows[0]?.id ?? "";

  await shoot(browser, service.url, "capture", 720, async (page) => {
    await page.goto(`/captures/${shown}`);
    await page.getByRole("figure", { name: "Throughput over time" }).waitFor();
    await page.getByText("8 flows").waitFor();
  });
  await shoot(browser, service.url, "packet", 1000, async (page) => {
    await page.goto(`/captures/${shown}/flows/${flow}?v=1&packet=${NAK}`);
    const packet = page.getByRole("region", { name: `Packet ${NAK}` });
    await packet.getByRole("treeitem", { name: /^AETH/ }).click();
    await packet.getByRole("treeitem", { name: /^PSN/ }).or(packet.getByRole("treeitem", { name: /^Syndrome/ })).first().waitFor();
  });
  await shoot(browser, service.url, "sequence", 800, async (page) => {
    await page.goto(`/captures/${shown}/flows/${flow}/sequence`);
    await page.getByRole("application", { name: /^PSNs from / }).waitFor();
    await page.getByText("Does what the reference would").waitFor();
  });
  await shoot(browser, service.url, "sql", 720, async (page) => {
    await page.goto(`/sql?v=1&sql=${encodeURIComponent(SQL)}`);
    await page.getByText(/rows read/).waitFor();
    await page.getByRole("complementary", { name: "Schema" }).getByRole("button", { name: "flows", exact: true }).waitFor();
  });
  const { id } = await api.put(basename(DIVERGING), readFileSync(join(REPOSITORY, "testdata", DIVERGING)));
  const { divergences } = await api.get<{ divergences: { id: string }[] }>(`/captures/${id}/divergences?verdict=diverges&limit=1`);
  await shoot(browser, service.url, "ladder", 600, async (page) => {
    await page.goto(`/captures/${id}/replay/${divergences[0]?.id ?? ""}`);
    await page.getByRole("figure", { name: "Ladder diagram" }).waitFor();
  });
} finally {
  await browser.close();
  await service.stop();
}
