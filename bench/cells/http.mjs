import { startPeer } from "../lib/children.mjs";
import { openLoad } from "../lib/http-load.mjs";
import { cpuAndRate } from "../lib/measures.mjs";

/** Who can serve what. tmcp answers with streams only; mcp-lite and fastmcp know no modern clients. */
const able = {
  "session/json": ["bare", "plugbay", "v2", "v1", "mcp-lite", "fastmcp"],
  "session/sse": ["bare", "plugbay", "v2", "v1", "mcp-lite", "tmcp", "fastmcp"],
  "stateless/json": ["bare", "plugbay", "v2", "v1", "mcp-lite", "fastmcp"],
  "stateless/sse": ["bare", "plugbay", "v2", "v1", "mcp-lite", "fastmcp"],
  "modern/json": ["bare", "plugbay", "v2"],
  "modern/sse": ["bare", "plugbay", "v2", "tmcp"],
};

const words = {
  session: "with sessions (2025-06-18)",
  stateless: "without sessions (2025-06-18)",
  modern: "2026-07-28",
  json: "JSON",
  sse: "SSE",
};

/**
 * `tools/call` over HTTP: every way to be asked, every way to answer, 1, 16 and 64 connections.
 * Clients take both kinds of answer, as MCP demands of them; mcp-lite then gives streams only.
 */
export const httpCells = Object.entries(able).flatMap(([way, peers]) => {
  const [mode, answer] = way.split("/");
  return [1, 16, 64].map((connections) => ({
    name: `http/${way}/${connections}`,
    title: `HTTP server, ${words[mode]}, ${words[answer]}, ${connections} connection${connections > 1 ? "s" : ""}`,
    group: "HTTP server",
    peers,
    quick: connections === 64 && mode !== "stateless" ? ["bare", "plugbay"] : [],
    measures: cpuAndRate("server"),
    open: (peer) => openHttp({ peer, mode, answer, connections }),
  }));
});

/** A server under load. */
export async function openHttp({ peer, mode, answer, connections, tools, slow, telemetry, ...load }) {
  const child = await startPeer(peer, "http", { mode, answer, tools, slow, telemetry });
  const { port } = child.facts;
  const { run, close } = await openLoad({ port, mode, connections, ...load });
  return {
    cpu: child.cpu,
    sample: (ms) => run({ ms }),
    close() {
      close();
      return child.close();
    },
  };
}
