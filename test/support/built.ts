import { existsSync } from "node:fs";

/** Warns before tests that use the package as it is built, where it is not. The others need no build. */
export function setup(): void {
  if (existsSync("dist/node/index.js")) return;
  console.warn("dist/ is missing: tests that use the built package fail. Run `npm run build` first.");
}
