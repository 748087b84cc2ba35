import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";
import { notices } from "./build/notices.ts";

const target = process.env["ROCELENS_URL"] ?? "http://127.0.0.1:8080";

export default defineConfig({
  plugins: [react(), notices()],
  server: { proxy: { "/api": { target, changeOrigin: false } } },
  build: {
    outDir: "dist",
    // dist/.gitkeep lets Go embed the folder before the first build.
    emptyOutDir: true,
    target: "es2022",
    // Fonts and icons stay files, so that a strict content security policy without data: holds.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 800,
  },
  test: { include: ["src/**/*.test.ts"], environment: "node" },
});
