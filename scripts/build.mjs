import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { binary, node, root } from "./run.mjs";

/** Compiles `src` to `dist`, and puts it into few files for Node. Incremental; `--clean` starts anew. */
export function build({ clean = false } = {}) {
  const dist = join(root, "dist");
  if (clean || !existsSync(join(dist, "node.tsbuildinfo"))) rmSync(dist, { recursive: true, force: true });
  return node(binary("typescript", "tsc"), "-b", "tsconfig.node.json") || node(join(root, "scripts", "bundle.mjs"));
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  process.exit(build({ clean: process.argv.includes("--clean") }));
}
