#!/usr/bin/env node
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

// `npm create plugbay demo` is `plugbay init demo`.
const folder = dirname(createRequire(import.meta.url).resolve("plugbay/package.json"));
const program = join(folder, "dist", "node", "plugbay.js");
process.argv.splice(1, 1, program, "init");
await import(pathToFileURL(program).href);
