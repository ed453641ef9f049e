import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { ZodJsonSchemaAdapter } from "@tmcp/adapter-zod";
import { HttpTransport } from "@tmcp/transport-http";
import { InMemoryTransport } from "@tmcp/transport-in-memory";
import { StdioTransport } from "@tmcp/transport-stdio";
import { McpServer } from "tmcp";
import { listen } from "../lib/listen.mjs";
import { LEGACY } from "../lib/messages.mjs";
import { pump } from "../lib/pump.mjs";
import { manyTools, schemaOf, textResult } from "../lib/tools.mjs";

function create(count = 3) {
  const server = new McpServer(
    { name: "bench", version: "1.0.0", description: "bench" },
    { adapter: new ZodJsonSchemaAdapter(), capabilities: { tools: { listChanged: true } } },
  );
  for (const { name, description, run, ...rest } of manyTools(count)) {
    server.tool({ name, description, schema: schemaOf(rest) }, (input) => textResult(run(input)));
  }
  return server;
}

export async function http({ tools }) {
  const server = create(tools);
  const transport = new HttpTransport(server, { path: "/mcp" });
  const respond = async (request) => (await transport.respond(request)) ?? new Response(null, { status: 404 });
  return {
    facts: { port: await listen(createServer(getRequestListener(respond))) },
    broadcast: () => server.changed("tools"),
  };
}

export function stdio() {
  new StdioTransport(create()).listen();
}

export async function inProcess() {
  const session = new InMemoryTransport(create()).session();
  await session.initialize(LEGACY, {}, { name: "bench", version: "1.0.0" });
  const call = async (a, b) => (await session.callTool("add", { a, b })).content[0].text;
  return { pump: (inFlight, ms) => pump(call, inFlight, ms) };
}
