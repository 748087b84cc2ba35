import { defineConfig } from "vitest/config";

/** End to end: the real service, a real browser, real captures. One after the other, as they share the service. */
export default defineConfig({
  cacheDir: "../node_modules/.vite-e2e",
  test: {
    root: import.meta.dirname,
    include: ["**/*.test.ts"],
    environment: "node",
    fileParallelism: false,
    maxConcurrency: 1,
    // Long, since only a hang shall end a test on a loaded machine.
    testTimeout: 240_000,
    hookTimeout: 120_000,
  },
});
