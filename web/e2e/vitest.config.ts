import { defineConfig } from "vitest/config";

/**
 * End to end: the real service, a real browser, real captures. The tests of a file share these, and run one after the other. Two files
 * run at the same time, as tests mostly wait.
 */
export default defineConfig({
  cacheDir: "../node_modules/.vite-e2e",
  test: {
    root: import.meta.dirname,
    include: ["**/*.test.ts"],
    environment: "node",
    maxWorkers: 2,
    maxConcurrency: 1,
    // Long, since only a hang shall end a test on a loaded machine.
    expect: { poll: { timeout: 60_000 } },
    testTimeout: 240_000,
    hookTimeout: 120_000,
  },
});
