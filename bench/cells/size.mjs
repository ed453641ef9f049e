import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { cost } from "../lib/measures.mjs";
import { folderOf, root } from "../lib/programs.mjs";

const text = '{ content: [{ type: "text", text: "hello" }] }';

/** The least server with a tool that takes nothing, so that no schema library is the user's doing. */
const sources = {
  plugbay: `
    import { createServer, tool } from "plugbay/server";
    import { serveStdio } from "plugbay/stdio";
    await serveStdio(createServer({ name: "min", version: "1.0.0", tools: { hello: tool({ run: () => "hello" }) } }));`,
  v2: `
    import { McpServer } from "@modelcontextprotocol/server";
    import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
    const server = new McpServer({ name: "min", version: "1.0.0" });
    server.registerTool("hello", {}, () => (${text}));
    await server.connect(new StdioServerTransport());`,
  v1: `
    import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
    import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
    const server = new McpServer({ name: "min", version: "1.0.0" });
    server.registerTool("hello", {}, () => (${text}));
    await server.connect(new StdioServerTransport());`,
  "mcp-lite": `
    import { McpServer, StreamableHttpTransport } from "mcp-lite";
    const server = new McpServer({ name: "min", version: "1.0.0" });
    server.tool("hello", { handler: () => (${text}) });
    export const fetch = new StreamableHttpTransport().bind(server);`,
  tmcp: `
    import { McpServer } from "tmcp";
    import { StdioTransport } from "@tmcp/transport-stdio";
    const server = new McpServer({ name: "min", version: "1.0.0", description: "" }, { adapter: undefined, capabilities: { tools: {} } });
    server.tool({ name: "hello", description: "" }, () => (${text}));
    new StdioTransport(server).listen();`,
};

export const sizeCells = [
  {
    name: "size/stdio",
    title: "bundle of the least stdio server, minified and compressed (mcp-lite: of a fetch handler)",
    group: "size",
    peers: Object.keys(sources),
    quick: Object.keys(sources),
    measures: [cost("start", "loaded at start, KB"), cost("all", "with what is loaded when needed, KB")],
    run: measureSizes,
  },
];

async function measureSizes({ peers, report }) {
  const samples = {};
  for (const peer of peers) {
    report(peer);
    samples[peer] = [await sizes(peer)];
  }
  return samples;
}

/** Sizes in KB of 1,024 bytes. Files that are imported when needed are not loaded at start. */
async function sizes(peer) {
  const { outputFiles, metafile } = await build({
    stdin: {
      contents: sources[peer],
      resolveDir: peer === "tmcp" ? join(root, "bench") : root,
      sourcefile: "program.mjs",
    },
    bundle: true,
    tsconfigRaw: {}, // Bundlers of users do not read the one of this repository.
    minify: true,
    write: false,
    metafile: true,
    splitting: true,
    outdir: join(folderOf(peer), "bundle"),
    format: "esm",
    platform: "node",
    logLevel: "error",
    absWorkingDir: root,
  });
  const { outputs } = metafile;
  const [entry] = Object.entries(outputs).find(([, { entryPoint }]) => entryPoint?.endsWith("program.mjs"));
  const compressed = (paths) => {
    const files = outputFiles.filter(({ path }) => paths.some((file) => path.endsWith(file)));
    return gzipSync(files.map(({ text }) => text).join(""), { level: 9 }).length / 1024;
  };
  return { start: compressed(loadedWith(entry, outputs)), all: compressed(Object.keys(outputs)) };
}

/** The files that are loaded with one of them. */
function loadedWith(path, outputs, loaded = []) {
  loaded.push(path);
  for (const { path: next, kind, external } of outputs[path].imports) {
    if (kind === "import-statement" && !external && !loaded.includes(next)) loadedWith(next, outputs, loaded);
  }
  return loaded;
}
