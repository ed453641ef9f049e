import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { cost } from "../lib/measures.mjs";
import { folderOf, root, writeProgram } from "../lib/programs.mjs";

const TOOLS = 100;

const input = (n) => `z.object({
  a${n}: z.string(), b: z.number(), c: z.boolean().optional(),
  d: z.array(z.string()).optional(), e: z.enum(["x", "y"]).optional(),
})`;
const sum = (n) => `({ a${n}, b }) => ({ content: [{ type: "text" as const, text: String(b + a${n}.length) }] })`;

/** What stands before the tools, one of them, and what stands after. */
const sources = {
  plugbay: {
    head: 'import { createServer, tool } from "plugbay/server";\nexport const server = createServer({ name: "x", version: "1.0.0", tools: {',
    tool: (n) => `t${n}: tool({ input: ${input(n)}, run: ({ a${n}, b }) => String(b + a${n}.length) }),`,
    tail: "} });",
  },
  v2: {
    head: 'import { McpServer } from "@modelcontextprotocol/server";\nconst server = new McpServer({ name: "x", version: "1.0.0" });',
    tool: (n) => `server.registerTool("t${n}", { inputSchema: ${input(n)} }, ${sum(n)});`,
  },
  v1: {
    head: 'import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";\nconst server = new McpServer({ name: "x", version: "1.0.0" });',
    tool: (n) => `server.registerTool("t${n}", { inputSchema: ${input(n)}.shape }, ${sum(n)});`,
  },
  "mcp-lite": {
    head: 'import { McpServer } from "mcp-lite";\nconst server = new McpServer({ name: "x", version: "1.0.0" });',
    tool: (n) => `server.tool("t${n}", { inputSchema: ${input(n)}, handler: ${sum(n)} });`,
  },
  tmcp: {
    head: 'import { ZodJsonSchemaAdapter } from "@tmcp/adapter-zod";\nimport { McpServer } from "tmcp";\nconst server = new McpServer({ name: "x", version: "1.0.0", description: "" }, { adapter: new ZodJsonSchemaAdapter(), capabilities: { tools: {} } });',
    tool: (n) => `server.tool({ name: "t${n}", description: "", schema: ${input(n)} }, ${sum(n)});`,
  },
};

export const typeCells = [
  {
    name: "types/100-tools",
    title: "type check of 100 tools with zod",
    group: "types",
    peers: Object.keys(sources),
    quick: [],
    measures: [cost("instantiations", "instantiations"), cost("seconds", "check time, s")],
    run: measureTypes,
  },
];

async function measureTypes({ peers, report }) {
  const samples = {};
  for (const peer of peers) {
    report(peer);
    samples[peer] = [check(peer)];
  }
  return samples;
}

/** What the compiler says of a program. Errors in it fail. */
function check(peer) {
  const { head, tool, tail = "" } = sources[peer];
  const tools = Array.from({ length: TOOLS }, (_, n) => tool(n)).join("\n");
  const folder = join(folderOf("plugbay"), "types", peer);
  writeProgram("plugbay", join("types", peer, "tools.ts"), `import { z } from "zod";\n${head}\n${tools}\n${tail}\n`);
  const compilerOptions = { noUnusedLocals: false };
  const config = { extends: join(root, "tsconfig.json"), compilerOptions, include: ["tools.ts"] };
  writeProgram("plugbay", join("types", peer, "tsconfig.json"), JSON.stringify(config));
  const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
  const said = execFileSync(process.execPath, [compiler, "-p", folder, "--extendedDiagnostics"], { encoding: "utf8" });
  return {
    instantiations: Number(/^Instantiations:\s+(\d+)/m.exec(said)?.[1]),
    seconds: Number(/^Check time:\s+([\d.]+)/m.exec(said)?.[1]),
  };
}
