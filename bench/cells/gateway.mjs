import { once } from "node:events";
import { createServer } from "node:net";
import { startPeer } from "../lib/children.mjs";
import { openLoad } from "../lib/http-load.mjs";
import { cpuAndRate } from "../lib/measures.mjs";
import { add } from "../lib/messages.mjs";
import { stdioPrograms, writeProgram } from "../lib/programs.mjs";

/** What stands in front of one server: the server itself over HTTP, a host, our gateway with all switched on, and rivals. */
const peers = {
  direct: { module: "plugbay", role: "http" },
  "plugbay host": { module: "plugbay", role: "served", name: "up__add" },
  "plugbay gateway": { module: "plugbay", role: "gateway", name: "up__add", token: "ann" },
  "mcp-proxy": { module: "mcp-proxy", role: "gateway" },
  supergateway: { module: "supergateway", role: "gateway" },
};

/** Those that can stand in front of a server that speaks HTTP. */
const ours = ["direct", "plugbay host", "plugbay gateway"];

const processes = { "1 worker": 1, "2 workers": 2 };

const cell = (what, name, connections) => ({
  name: `gateway/${what}/${connections}`,
  title: `gateway in front of ${name}, sessions, ${connections} connection${connections > 1 ? "s" : ""}`,
  group: "gateway",
  quick: [],
  measures: cpuAndRate("gateway"),
});

/** Calls of a server that is reached over HTTP, in sessions: what all of them know. */
export const gatewayCells = [
  ...[1, 16].map((connections) => ({
    ...cell("stdio", "a stdio server", connections),
    peers: Object.keys(peers),
    open: (peer) => openGateway(peers[peer], { connections, upstream: startProgram }),
  })),
  ...[1, 16].map((connections) => ({
    ...cell("http", "an HTTP server", connections),
    peers: ours,
    open: (peer) => openGateway(peers[peer], { connections, upstream: startServer }),
  })),
  {
    ...cell("workers", "an HTTP server, by the command line", 16),
    name: "gateway/workers",
    peers: Object.keys(processes),
    open: (peer) =>
      openGateway(
        { module: "plugbay", role: "workers", name: "up__add" },
        { connections: 16, upstream: startServer, mode: "modern", count: processes[peer], ends: "SIGTERM" },
      ),
  },
];

/** A program that the gateway starts. */
async function startProgram() {
  const path = writeProgram("plugbay", "upstream.mjs", stdioPrograms.plugbay);
  return { options: { command: [process.execPath, path] }, close() {} };
}

/** A server in a process of its own. */
async function startServer() {
  const child = await startPeer("plugbay", "http", { mode: "modern", answer: "json" });
  return { options: { url: `http://127.0.0.1:${child.facts.port}/mcp` }, close: () => child.close() };
}

async function openGateway(
  { module, role, name = "add", token },
  { connections, upstream, mode = "session", count, ends },
) {
  const behind = await upstream();
  const options = {
    mode,
    answer: "json",
    port: await freePort(),
    storePort: await freePort(),
    count,
    ends,
    ...behind.options,
  };
  const child = await startPeer(module, role, options);
  // What nobody reads would stop whoever writes it.
  child.stdout.resume();
  const { port } = child.facts;
  const body = (id, era) => add(id, era).replace('"name":"add"', `"name":"${name}"`);
  const headers = token === undefined ? "" : `authorization: Bearer ${token}\r\n`;
  const { run, close } = await openLoad({ port, mode, connections, body, headers, name });
  return {
    cpu: child.cpu,
    sample: (ms) => run({ ms }),
    async close() {
      close();
      await Promise.all([child.close(), behind.close()]);
    },
  };
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}
