import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { rolldown } from "rolldown";
import { root } from "./run.mjs";

// Puts what was compiled into few files, for Node: it takes longer to find and open a hundred
// small ones than to run them. Bundlers and other platforms get them as they are.

const dist = join(root, "dist");
const folder = join(dist, "node");
const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/** Entries by the name of their file in the folder, each with the file it is made from; and the program of the package. */
const entries = Object.fromEntries([
  ...Object.values(exports)
    .map((conditions) => (conditions.node ? conditions : conditions.default))
    .filter((conditions) => conditions?.node)
    .map(({ node, default: source }) => [node.slice("./dist/node/".length, -".js".length), join(root, source)]),
  ["plugbay", join(dist, "cli", "main.js")],
]);

/** What every server on stdio needs at its start, in one file; and in another what its first client of an older revision needs. */
const kernel = reachable(entries.server, entries.stdio);
const legacy = reachable(join(dist, "legacy", "server.js"));

rmSync(folder, { recursive: true, force: true });
const bundle = await rolldown({ input: entries, external: [/^[^./#]/], platform: "node", cwd: root });
const { output } = await bundle.write({
  dir: folder,
  format: "esm",
  entryFileNames: "[name].js",
  chunkFileNames: "chunks/[name]-[hash].js",
  comments: { jsdoc: false, annotation: true, legal: true },
  codeSplitting: {
    groups: [
      { name: "kernel", test: (file) => kernel.has(file), priority: 2 },
      { name: "legacy", test: (file) => legacy.has(file), priority: 1 },
    ],
  },
});
await bundle.close();
for (const { fileName, code } of output) writeFileSync(join(folder, fileName), inAscii(code));

/** With escapes for all other characters: one of them makes V8 keep and read a file as two bytes a character. */
function inAscii(code) {
  return code.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Files that are loaded with these. */
function reachable(...files) {
  const found = new Set();
  const open = [...files];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (found.has(file)) continue;
    found.add(file);
    const statics = readFileSync(file, "utf8").matchAll(/^(?:import|export)\b[^"';]*?from\s*"(\.[^"]+)"/gms);
    for (const [, path] of statics) open.push(resolve(dirname(file), path));
  }
  return found;
}
