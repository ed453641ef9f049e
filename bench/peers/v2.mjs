import { createServer } from "node:http";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { NodeStreamableHTTPServerTransport, toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, InMemoryTransport, McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { listen } from "../lib/listen.mjs";
import { pump } from "../lib/pump.mjs";
import { serveSessions } from "../lib/sessions.mjs";
import { manyTools, schemaOf, textResult } from "../lib/tools.mjs";

// The schemas are made once, although servers are made for every session or request.
function creator(count = 3) {
  const tools = manyTools(count).map((tool) => ({ ...tool, inputSchema: schemaOf(tool) }));
  return () => {
    const server = new McpServer(
      { name: "bench", version: "1.0.0" },
      { capabilities: { tools: { listChanged: true } } },
    );
    for (const { name, description, inputSchema, run } of tools) {
      server.registerTool(name, { description, inputSchema }, (input) => textResult(run(input)));
    }
    return server;
  };
}

export async function http({ mode, answer, tools }) {
  const create = creator(tools);
  const json = answer === "json";
  if (mode === "modern") {
    const handler = createMcpHandler(create, { responseMode: answer, legacy: "reject" });
    return { facts: { port: await listen(createServer(toNodeHandler(handler))) } };
  }
  if (mode === "stateless") {
    return {
      facts: { port: await listen(createServer((request, response) => once(create, json, request, response))) },
    };
  }
  const sessions = serveSessions(
    create,
    (options) => new NodeStreamableHTTPServerTransport({ ...options, enableJsonResponse: json }),
  );
  return {
    facts: { port: await listen(createServer(sessions.listener)) },
    broadcast: () => Promise.all(sessions.servers().map((server) => server.sendToolListChanged())).then(() => {}),
  };
}

/** A server for one request, as the documentation has it. */
async function once(create, enableJsonResponse, request, response) {
  const transport = new NodeStreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse });
  const server = create();
  response.on("close", () => void server.close());
  await server.connect(transport);
  await transport.handleRequest(request, response);
}

export function stdio() {
  serveStdio(creator(), {
    transport: new StdioServerTransport(process.stdin, process.stdout, { maxBufferSize: 64 * 1024 * 1024 }),
  });
}

export async function inProcess() {
  const [near, far] = InMemoryTransport.createLinkedPair();
  await creator()().connect(far);
  return pumped(near);
}

export function httpClient({ url }) {
  return pumped(new StreamableHTTPClientTransport(new URL(url)));
}

export function stdioClient({ command }) {
  return pumped(new StdioClientTransport({ command: command[0], args: command.slice(1) }));
}

async function pumped(transport) {
  const client = new Client({ name: "bench", version: "1.0.0" });
  await client.connect(transport);
  const call = async (a, b) => (await client.callTool({ name: "add", arguments: { a, b } })).content[0].text;
  return { pump: (inFlight, ms) => pump(call, inFlight, ms) };
}
