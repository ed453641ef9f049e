// The least programs that serve a tool on stdio, one for each peer, as their documentation has it.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));

/** Programs find packages from where they are: most in the root, some only here. */
const folders = { root: join(root, ".tmp", "bench"), bench: join(root, "bench", "node_modules", ".programs") };
const onlyHere = new Set(["tmcp", "fastmcp"]);

const official = (name, stdio, inputSchema) => `
import { McpServer } from "${name}";
import { StdioServerTransport } from "${stdio}";
import { z } from "zod";
const server = new McpServer({ name: "least", version: "1.0.0" });
server.registerTool("add", { inputSchema: ${inputSchema} }, ({ a, b }) => ({ content: [{ type: "text", text: String(a + b) }] }));
await server.connect(new StdioServerTransport());
`;

const plugbay = (head, input) => `
import { createServer, tool } from "plugbay/server";
import { serveStdio } from "plugbay/stdio";
${head}
const add = tool({ input: ${input}, run: ({ a, b }) => String(a + b) });
await serveStdio(createServer({ name: "least", version: "1.0.0", tools: { add } }));
`;

const number = '{ type: "number" }';

/** Servers with one tool whose input is checked. */
export const stdioPrograms = {
  bare: `
let text = "";
process.stdin.setEncoding("utf8").on("data", (chunk) => {
  const lines = (text + chunk).split("\\n");
  text = lines.pop();
  for (const line of lines) {
    const { id, method, params } = JSON.parse(line);
    const { a, b } = params?.arguments ?? {};
    const result = method === "initialize"
      ? { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "least", version: "1.0.0" } }
      : { content: [{ type: "text", text: String(a + b) }] };
    if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n");
  }
});
`,
  plugbay: plugbay(
    "",
    `{ type: "object", properties: { a: ${number}, b: ${number} }, required: ["a", "b"], additionalProperties: false }`,
  ),
  "plugbay with zod": plugbay('import { z } from "zod";', "z.object({ a: z.number(), b: z.number() })"),
  v2: official(
    "@modelcontextprotocol/server",
    "@modelcontextprotocol/server/stdio",
    "z.object({ a: z.number(), b: z.number() })",
  ),
  v1: official(
    "@modelcontextprotocol/sdk/server/mcp.js",
    "@modelcontextprotocol/sdk/server/stdio.js",
    "{ a: z.number(), b: z.number() }",
  ),
  tmcp: `
import { McpServer } from "tmcp";
import { ZodJsonSchemaAdapter } from "@tmcp/adapter-zod";
import { StdioTransport } from "@tmcp/transport-stdio";
import { z } from "zod";
const server = new McpServer({ name: "least", version: "1.0.0", description: "" }, { adapter: new ZodJsonSchemaAdapter(), capabilities: { tools: {} } });
server.tool({ name: "add", description: "", schema: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) => ({ content: [{ type: "text", text: String(a + b) }] }));
new StdioTransport(server).listen();
`,
  fastmcp: `
import { FastMCP } from "fastmcp";
import { z } from "zod";
const server = new FastMCP({ name: "least", version: "1.0.0" });
server.addTool({ name: "add", parameters: z.object({ a: z.number(), b: z.number() }), execute: async ({ a, b }) => String(a + b) });
await server.start({ transportType: "stdio" });
`,
};

/** What a server on stdio imports. */
export const imports = {
  plugbay: ["plugbay/server", "plugbay/stdio"],
  v2: ["@modelcontextprotocol/server", "@modelcontextprotocol/server/stdio"],
  v1: ["@modelcontextprotocol/sdk/server/mcp.js", "@modelcontextprotocol/sdk/server/stdio.js"],
  "mcp-lite": ["mcp-lite"],
  tmcp: ["tmcp", "@tmcp/adapter-zod", "@tmcp/transport-stdio"],
  fastmcp: ["fastmcp"],
};

/** The folder from which a peer's packages are found. */
export function folderOf(peer) {
  return onlyHere.has(peer) ? folders.bench : folders.root;
}

/** Writes a program to where its packages are found, and gives its path. */
export function writeProgram(peer, name, text) {
  const path = join(folderOf(peer), name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}
