import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import { InMemorySessionAdapter, McpServer, StreamableHttpTransport } from "mcp-lite";
import { z } from "zod";
import { listen } from "../lib/listen.mjs";
import { add } from "../lib/messages.mjs";
import { pump } from "../lib/pump.mjs";
import { manyTools, schemaOf, textResult } from "../lib/tools.mjs";

function create(count = 3) {
  const server = new McpServer({ name: "bench", version: "1.0.0", schemaAdapter: (schema) => z.toJSONSchema(schema) });
  for (const tool of manyTools(count)) offer(server, tool);
  return server;
}

function offer(server, { name, description, run, ...rest }) {
  server.tool(name, { description, inputSchema: schemaOf(rest), handler: (input) => textResult(run(input)) });
}

export async function http({ mode, tools }) {
  const server = create(tools);
  const sessionAdapter = new InMemorySessionAdapter({ maxEventBufferSize: 1024 });
  const transport = new StreamableHttpTransport(mode === "session" ? { sessionAdapter } : {});
  const handler = transport.bind(server);
  const app = new Hono();
  app.all("/mcp", (context) => handler(context.req.raw));
  const port = await listen(createServer(getRequestListener(app.fetch)));
  let added = 0;
  return {
    facts: { port },
    /** It tells of a change when there is one. */
    broadcast: () => offer(server, { name: `late_${added++}`, shape: {}, run: () => "" }),
  };
}

/** It has no client: requests and responses are handed over as objects. */
export function inProcess() {
  const handler = new StreamableHttpTransport().bind(create());
  const headers = { "content-type": "application/json", accept: "application/json" };
  const call = async (a) => {
    const response = await handler(
      new Request("http://127.0.0.1/mcp", { method: "POST", headers, body: add(a, "legacy") }),
    );
    return (await response.json()).result.content[0].text;
  };
  return { pump: (inFlight, ms) => pump(call, inFlight, ms) };
}
