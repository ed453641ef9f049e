import { published } from "../lib/published.mjs";
import { pump } from "../lib/pump.mjs";
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
export async function served({ command: [command, ...args] }) {
  const { openHost } = await published("plugbay/host");
  const { serveHttp } = await published("plugbay/http");
  const host = await openHost({ up: { command, args } });
  const { port } = await serveHttp(host, { port: 0, budgets: unlimited });
  await host.settled();
  return { facts: { port } };
}

/** A gateway with authentication, metrics and audit. */
export async function gateway({ command: [command, ...args] }) {
  const { openGateway } = await published("plugbay/gateway");
  const { serveHttp } = await published("plugbay/http");
  const { bearer } = await published("plugbay/auth/server");
  const { createMetrics } = await published("plugbay/metrics");
  const opened = await openGateway({ up: { command, args } }, { telemetry: createMetrics() });
  const auth = bearer((token) => ({ principal: token }));
  const { port } = await serveHttp(opened, { port: 0, auth, budgets: unlimited, onEvent() {} });
  await opened.settled();
  return { facts: { port } };
}

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
