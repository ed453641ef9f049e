import { createServer } from "node:net";
import { FastMCP } from "fastmcp";
import { manyTools, schemaOf } from "../lib/tools.mjs";

const silent = { debug() {}, error() {}, info() {}, log() {}, warn() {} };

function create(count = 3) {
  const server = new FastMCP({ name: "bench", version: "1.0.0", logger: silent, ping: { enabled: false } });
  for (const tool of manyTools(count)) offer(server, tool);
  return server;
}

function offer(server, { name, description, run, ...rest }) {
  server.addTool({ name, description, parameters: schemaOf(rest), execute: async (input) => run(input) });
}

export async function http({ mode, answer, tools }) {
  const server = create(tools);
  const port = await freePort();
  await server.start({
    transportType: "httpStream",
    httpStream: { port, host: "127.0.0.1", stateless: mode === "stateless", enableJsonResponse: answer === "json" },
  });
  let added = 0;
  return {
    facts: { port },
    /** It tells of a change when there is one. */
    broadcast: () => offer(server, { name: `late_${added++}`, shape: {}, run: () => "" }),
  };
}

export async function stdio() {
  await create().start({ transportType: "stdio" });
}

/** It does not tell which port it took, so it must be given one. */
function freePort() {
  const probe = createServer();
  return new Promise((resolve) => {
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
