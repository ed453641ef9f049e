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

/** Calls of a program on stdio that is reached over HTTP, in sessions: what all of them know. */
export const gatewayCells = [1, 16].map((connections) => ({
  name: `gateway/stdio/${connections}`,
  title: `gateway in front of a stdio server, sessions, ${connections} connection${connections > 1 ? "s" : ""}`,
  group: "gateway",
  peers: Object.keys(peers),
  quick: [],
  measures: cpuAndRate("gateway"),
  open: (peer) => openGateway(peers[peer], connections),
}));

async function openGateway({ module, role, name = "add", token }, connections) {
  const path = writeProgram("plugbay", "upstream.mjs", stdioPrograms.plugbay);
  const options = { mode: "session", answer: "json", port: await freePort(), command: [process.execPath, path] };
  const child = await startPeer(module, role, options);
  // What nobody reads would stop whoever writes it.
  child.stdout.resume();
  const { port } = child.facts;
  const body = (id, era) => add(id, era).replace('"name":"add"', `"name":"${name}"`);
  const headers = token === undefined ? "" : `authorization: Bearer ${token}\r\n`;
  const { run, close } = await openLoad({ port, mode: "session", connections, body, headers });
  return {
    cpu: child.cpu,
    sample: (ms) => run({ ms }),
    close() {
      close();
      return child.close();
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
