import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// What the first screen needs is one file, and the small parts that many pages share another: by itself each would be a
// file of its own, fifty for the first screen, with a round trip each.
const GROUPS = [
  { name: "frame", tags: ["$initial" as const] },
  {
    name: "parts",
    test: /parts\/(Panel|State|School|school|LastRuns|report)|login\/ro|@tabler\/icons|useMutation/,
    minShareCount: 2,
  },
];

// The API serves the page below any root path: every address in the build is relative to <base>.
export default defineConfig({
  base: "./",
  plugins: [react()],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  build: {
    target: "es2023",
    outDir: "dist",
    // Inlined files would be data: addresses, which the page's Content-Security-Policy refuses for scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 800,
    rolldownOptions: { output: { codeSplitting: { groups: GROUPS } } },
  },
  worker: { format: "es" },
  server: {
    proxy: { "/api": "http://127.0.0.1:7465", "/login": "http://127.0.0.1:7465" },
  },
});
