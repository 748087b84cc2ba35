import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { Api } from "./api";
import { launch, openTab, type Tab } from "./browser";
import { captureFile, startService, type Service } from "./service";

/** What the tests of a file share: one service and one browser, and a new tab for each test. */
export class Session {
  service!: Service;
  browser!: Browser;
  tab!: Tab;

  get api(): Api {
    return new Api(this.service.url);
  }

  get page(): Page {
    return this.tab.page;
  }

  grid(name: string): Locator {
    return this.page.getByRole("grid", { name });
  }

  row(grid: string, text: string | RegExp): Locator {
    return this.grid(grid).getByRole("row").filter({ hasText: text });
  }

  /** Text of a cell by the header above it. */
  async cell(grid: string, inRow: Locator, header: string): Promise<string> {
    const headers = await this.grid(grid).getByRole("columnheader").allInnerTexts();
    const index = headers.findIndex((text) => text.replace(/ [↓↑]$/, "").trim() === header);
    if (index < 0) throw new Error(`no column ${header} in ${headers.join(", ")}`);
    return (await inRow.getByRole("gridcell").nth(index).innerText()).replaceAll(/\s+/g, " ").trim();
  }

  /** Uploads a capture in the browser, opens it, and answers with its id. */
  async upload(name: string): Promise<string> {
    await this.page.goto("/");
    await this.page.locator("input[type=file]").setInputFiles(captureFile(name));
    const entry = this.page.getByRole("region", { name: "Uploads" }).getByRole("listitem").filter({ hasText: name });
    await entry.getByRole("link", { name: "Open" }).click();
    await this.page.getByRole("heading", { name }).waitFor();
    return /captures\/([^/?]+)/.exec(this.page.url())?.[1] ?? "";
  }
}

/** Begins and ends a session with the tests of the file that calls it; fails a test whose page complained. */
export function startSession(): Session {
  const session = new Session();
  beforeAll(async () => {
    session.service = await startService();
    session.browser = await launch();
  });
  afterAll(async () => {
    await session.browser?.close();
    await session.service?.stop();
  });
  beforeEach(async () => {
    session.tab = await openTab(session.browser, session.service.url);
  });
  afterEach(async () => {
    await session.tab.close();
    expect(session.tab.complaints).toEqual([]);
  });
  return session;
}
