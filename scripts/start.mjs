import { existsSync } from "node:fs";
import { join } from "node:path";
import { build } from "./build.mjs";
import { root } from "./run.mjs";

const server = join(root, "examples", "bistro-server.mjs");
const [verb, toolName, args] = process.argv.slice(2);

if (!existsSync(join(root, "dist", "index.js")) && build() !== 0) process.exit(1);

if (verb === undefined) await serve();
else if (verb === "call" && toolName !== undefined) await call(toolName, args);
else
  fail(
    "usage: npm start                          serve on stdin and stdout\n       npm start -- call TOOL [JSON]       start it and call a tool",
  );

/** Serves the demo on stdio and says on stderr how to reach it. */
async function serve() {
  const entry = { mcpServers: { bistro: { command: process.execPath, args: [server] } } };
  console.error(`bistro is listening on stdin (one JSON-RPC message a line; Ctrl-D ends it).

Entry for the configuration of your host:
${JSON.stringify(entry, null, 2)}

Call it from another terminal:
  npm start -- call menu
  npm start -- call cook '{"dish":"quiche"}'
  npm start -- call order '{"dish":"quiche","quantity":2}'
`);
  const { bistro } = await import(server);
  const { serveStdio } = await import("plugbay/stdio");
  await serveStdio(bistro);
}

/** Starts the demo as a child process, calls one tool and shows what comes back. */
async function call(name, text = "{}") {
  const { connect, McpError } = await import("plugbay/client");
  const input = parse(text);
  const client = await connect({ command: process.execPath, args: [server] }, { onElicit: confirm });
  try {
    const value = await client.tools[name](input, {
      onProgress: ({ progress, total }) => console.error(`${progress} of ${total ?? "?"}`),
    });
    console.log(typeof value === "string" ? value : JSON.stringify(value, null, 2));
  } catch (error) {
    if (!(error instanceof McpError)) throw error;
    console.error(`${error.code}: ${error.message}`);
    process.exitCode = 1;
  } finally {
    await client.close();
  }
}

/** Asks on the terminal; without one, says yes, for this is a demo. */
async function confirm({ message }) {
  if (!process.stdin.isTTY) return { ok: true };
  const { createInterface } = await import("node:readline/promises");
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(`${message} [Y/n] `);
  terminal.close();
  return { ok: !/^n/i.test(answer.trim()) };
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return fail(`the arguments are no JSON: ${text}`);
  }
}

function fail(message) {
  console.error(message);
  process.exit(2);
}
