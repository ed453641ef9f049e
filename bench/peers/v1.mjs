import { createServer } from "node:http";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { listen } from "../lib/listen.mjs";
import { pump } from "../lib/pump.mjs";
import { serveSessions } from "../lib/sessions.mjs";
import { manyTools, textResult } from "../lib/tools.mjs";

function creator(count = 3) {
  const tools = manyTools(count);
  return () => {
    const server = new McpServer(
      { name: "bench", version: "1.0.0" },
      { capabilities: { tools: { listChanged: true } } },
    );
    for (const { name, description, shape, run } of tools) {
      server.registerTool(name, { description, inputSchema: shape }, (input) => textResult(run(input)));
    }
    return server;
  };
}

export async function http({ mode, answer, tools }) {
  const create = creator(tools);
  const enableJsonResponse = answer === "json";
  if (mode === "stateless") {
    const listener = (request, response) => once(create, enableJsonResponse, request, response);
    return { facts: { port: await listen(createServer(listener)) } };
  }
  const sessions = serveSessions(
    create,
    (options) => new StreamableHTTPServerTransport({ ...options, enableJsonResponse }),
  );
  return {
    facts: { port: await listen(createServer(sessions.listener)) },
    async broadcast() {
      for (const server of sessions.servers()) server.sendToolListChanged();
    },
  };
}

/** A server for one request, as the documentation has it. */
async function once(create, enableJsonResponse, request, response) {
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse });
  const server = create();
  response.on("close", () => void server.close());
  await server.connect(transport);
  await transport.handleRequest(request, response);
}

export async function stdio() {
  const transport = new StdioServerTransport(process.stdin, process.stdout, { maxBufferSize: 64 * 1024 * 1024 });
  await creator()().connect(transport);
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
