// Runs the gateway of this clone: `npm start -- mcp.json --port 8080` is `plugbay gateway mcp.json --port 8080`.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "./build.mjs";
import { root } from "./run.mjs";

const program = join(root, "dist", "node", "plugbay.js");
if (!existsSync(program) && build() !== 0) process.exit(1);
process.argv.splice(1, 1, program, "gateway");
await import(pathToFileURL(program).href);
