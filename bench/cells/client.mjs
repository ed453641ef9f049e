import { fileURLToPath } from "node:url";
import { startPeer } from "../lib/children.mjs";
import { cpuAndRate } from "../lib/measures.mjs";
import { LEGACY } from "../lib/messages.mjs";
import { openPumped } from "./in-process.mjs";

/** The others have no client. */
const peers = ["bare", "plugbay", "v2", "v1"];
const server = fileURLToPath(new URL("../bare-stdio-server.mjs", import.meta.url));
const common = { group: "client", peers, quick: ["bare", "plugbay"], measures: cpuAndRate("client") };

/** What a client costs. Each has a bare server of its own, so that none waits for another. */
export const clientCells = [
  {
    ...common,
    name: "client/http/64",
    title: "HTTP client, JSON answers, 64 calls in flight",
    open: openHttpClient,
  },
  {
    ...common,
    name: "client/stdio/64",
    title: "stdio client, 64 calls in flight",
    open: openStdioClient,
  },
];

async function openHttpClient(peer) {
  const bare = await startPeer("bare", "http", { mode: "session", answer: "json" });
  const url = `http://127.0.0.1:${bare.facts.port}/mcp`;
  const client = await openPumped({ peer, role: "httpClient", inFlight: 64, options: { url, revision: LEGACY } });
  return { ...client, hasHelper: true, close: () => Promise.all([client.close(), bare.close()]) };
}

async function openStdioClient(peer) {
  const options = { command: [process.execPath, server], revision: LEGACY };
  return { ...(await openPumped({ peer, role: "stdioClient", inFlight: 64, options })), hasHelper: true };
}
