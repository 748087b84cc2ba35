import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Plugin } from "vite";

interface Manifest {
  name?: string;
  version?: string;
  license?: string;
}

/** Nearest package.json with a name and a version above a file of node_modules. */
function packageOf(file: string): { dir: string; manifest: Manifest } | undefined {
  let dir = dirname(file);
  while (dir.includes("node_modules")) {
    const path = join(dir, "package.json");
    if (existsSync(path)) {
      const manifest = JSON.parse(readFileSync(path, "utf8")) as Manifest;
      if (manifest.name && manifest.version) return { dir, manifest };
    }
    dir = dirname(dir);
  }
  return undefined;
}

function licenseText(dir: string): string {
  const file = readdirSync(dir).find((name) => /^(licen[cs]e|copying)/i.test(name));
  return file ? readFileSync(join(dir, file), "utf8").trim() : "";
}

/** Writes the licences of all bundled packages to THIRD-PARTY-NOTICES.txt; a package without a licence fails the build. */
export function notices(): Plugin {
  return {
    name: "rocelens-notices",
    apply: "build",
    generateBundle() {
      const found = new Map<string, string>();
      for (const id of this.getModuleIds()) {
        const file = id.replace(/^\0/, "").replace(/\?.*$/, "");
        if (!file.includes("node_modules") || !file.startsWith("/")) continue;
        const owner = packageOf(file);
        if (!owner) continue;
        const title = `${owner.manifest.name} ${owner.manifest.version}`;
        if (found.has(title)) continue;
        const text = licenseText(owner.dir);
        if (!owner.manifest.license && !text) {
          this.error(`package ${title} is bundled but names no licence`);
        }
        found.set(title, `${title}\nLicence: ${owner.manifest.license ?? "see below"}\n\n${text}`);
      }
      const parts = [...found.keys()].toSorted().map((title) => found.get(title) ?? "");
      const rule = `\n\n${"-".repeat(79)}\n\n`;
      this.emitFile({
        type: "asset",
        fileName: "THIRD-PARTY-NOTICES.txt",
        source: `The console of rocelens contains these packages.${rule}${parts.join(rule)}\n`,
      });
    },
  };
}
