import { spawn } from "node:child_process";
import { createWriteStream, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { devNull, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { root } from "../lib/programs.mjs";
import { published } from "../lib/published.mjs";
import { pump } from "../lib/pump.mjs";
import { isListening } from "../lib/run-here.mjs";
import { slowDown } from "../lib/slow-down.mjs";
import { manyTools, schemaOf } from "../lib/tools.mjs";

async function create(count = 3, observed = {}) {
  const { createServer, tool } = await published("plugbay/server");
  const tools = manyTools(count).map(({ name, description, run, ...rest }) => [
    name,
    tool({ description, input: schemaOf(rest), run: slowDown(run) }),
  ]);
  const options = { name: "bench", version: "1.0.0", listChanged: true, ...observed };
  return createServer({ ...options, tools: Object.fromEntries(tools) });
}

export async function http({ mode, answer, tools, telemetry = "none" }) {
  const { serveHttp } = await published("plugbay/http");
  const server = await create(tools, await observedBy(telemetry));
  const { port } = await serveHttp(server, {
    port: 0,
    sessions: mode !== "stateless",
    respondWith: answer === "sse" ? "sse" : "auto",
    budgets: unlimited,
  });
  return { facts: { port }, broadcast: () => server.listChanged("tools") };
}

/** A host that is served, as it is. */
export async function served(upstream) {
  const { openHost } = await published("plugbay/host");
  const { serveHttp } = await published("plugbay/http");
  const host = await openHost({ up: targetOf(upstream) });
  const { port } = await serveHttp(host, { port: 0, budgets: unlimited });
  await host.settled();
  return { facts: { port } };
}

/** A gateway with authentication, rules, metrics and an audit that is written. */
export async function gateway(upstream) {
  const { openGateway } = await published("plugbay/gateway");
  const { serveHttp } = await published("plugbay/http");
  const { jsonLines } = await published("plugbay/server");
  const { bearer } = await published("plugbay/auth/server");
  const { createMetrics } = await published("plugbay/metrics");
  const opened = await openGateway(
    { up: targetOf(upstream) },
    {
      telemetry: createMetrics(),
      onEvent: jsonLines(createWriteStream(devNull)),
      denyByDefault: true,
      rules: [
        { action: "deny", name: "no deletes", tools: "*:delete_*" },
        { action: "deny", users: "eve" },
        { action: "allow", users: "ann", tools: "up:*" },
      ],
    },
  );
  const auth = bearer((token) => ({ principal: token }));
  const { port } = await serveHttp(opened, { port: 0, auth, budgets: unlimited });
  await opened.settled();
  return { facts: { port } };
}

/** The command that serves a gateway, with as many processes as it is told. They need a store, which calls do not touch. */
export async function workers({ url, port, storePort, count }) {
  const folder = mkdtempSync(join(tmpdir(), "plugbay-bench-"));
  writeFileSync(join(folder, "mcp.json"), JSON.stringify({ mcpServers: { up: { url } } }));
  const redis = spawn("redis-server", ["--port", `${storePort}`, "--save", "", "--bind", "127.0.0.1"], {
    stdio: "ignore",
  });
  process.on("SIGTERM", () => process.exit());
  process.on("exit", () => redis.kill("SIGKILL"));
  while (!(await isListening(storePort))) await pause(50);
  const places = ["--port", `${port}`, "--store", `redis://127.0.0.1:${storePort}`];
  const words = ["gateway", "mcp.json", ...places, "--workers", `${count}`, "--log", "off", "--json"];
  const program = join(root, "dist", "node", "plugbay.js");
  const child = spawn(process.execPath, [program, ...words], {
    cwd: folder,
    env: { ...process.env, PLUGBAY_STATE_KEYS: "0123456789abcdef".repeat(4) },
    stdio: ["ignore", "pipe", "inherit"],
  });
  process.on("exit", () => child.kill("SIGKILL"));
  child.stdout.resume();
  while (!(await isListening(port))) await pause(50);
  // What a process that was forked has used is not in the figures of the one that forked it while it runs.
  return { facts: { port }, cpu: () => cpuOfTree(child.pid) };
}

/** Processor time of a process and of those that it has started, in microseconds. Linux only. */
function cpuOfTree(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  const own = (Number(fields[11]) + Number(fields[12])) * 10_000;
  return own + (children === "" ? 0 : children.split(" ").reduce((sum, child) => sum + cpuOfTree(child), 0));
}

const targetOf = ({ url, command: [command, ...args] = [] }) => (url === undefined ? { command, args } : { url });

/** All clients come from one address. */
const unlimited = { principal: { maxSessions: 0, maxStreams: 0, maxConnections: 0 } };

/** Options for who hears of calls. The SDKs that some of them take are loaded only then. */
async function observedBy(telemetry) {
  if (telemetry === "none") return {};
  const { telemetries } = await import("../lib/telemetry.mjs");
  return telemetries[telemetry]();
}

export async function stdio() {
  const { serveStdio } = await published("plugbay/stdio");
  serveStdio(await create());
}

export async function inProcess() {
  const { connect } = await published("plugbay/client");
  return pumped(await connect(await create()));
}

export async function httpClient({ url, revision }) {
  const { connect } = await published("plugbay/client");
  return pumped(await connect(url, { revision }));
}

export async function stdioClient({ command, revision }) {
  const { connect } = await published("plugbay/client");
  return pumped(await connect(command, { revision }));
}

function pumped(client) {
  const call = async (a, b) => (await client.callTool("add", { a, b })).content[0].text;
  return { pump: (inFlight, ms) => pump(call, inFlight, ms) };
}
