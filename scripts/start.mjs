import { existsSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build } from "./build.mjs";
import { root } from "./run.mjs";

const server = join(root, "examples", "bistro-server.mjs");
const usualPort = 3000;
const usage = `usage: npm start [-- --port N]                    serve over HTTP, on this machine only
       npm start -- --stdio                       serve on stdin and stdout
       npm start -- call TOOL [JSON] [--url URL]  call a tool of the demo that runs`;

const { values, positionals } = readArguments();
const [verb, toolName, args] = positionals;

if (!existsSync(join(root, "dist", "index.js")) && build() !== 0) process.exit(1);

if (verb === undefined) await (values.stdio ? serveOverStdio() : serveOverHttp());
else if (verb === "call" && toolName !== undefined) await call(toolName, args);
else fail(usage);

/** Serves the demo over HTTP and says how to reach it. */
async function serveOverHttp() {
  const { bistro } = await import(server);
  const { url, port } = await listen(bistro);
  const option = port === usualPort ? "" : ` --url ${url}`;
  console.log(`bistro is listening on ${url} (Ctrl-C ends it)

Entry for the configuration of your host, in most of them "mcpServers":
${JSON.stringify({ mcpServers: { bistro: { type: "http", url } } }, null, 2)}

or, for a host that starts programs:
${JSON.stringify({ mcpServers: { bistro: entry() } }, null, 2)}

Call it from another terminal:
  npm start -- call menu${option}
  npm start -- call cook '{"dish":"quiche"}'${option}
  npm start -- call order '{"dish":"quiche","quantity":2}'${option}
`);
}

/** The usual port, or another when that is taken and nobody asked for it. */
async function listen(service) {
  const { serveHttp } = await import("plugbay/http");
  const options = { sse: true, signals: true };
  if (values.port !== undefined) return serveHttp(service, { ...options, port: Number(values.port) }).catch(explain);
  return serveHttp(service, { ...options, port: usualPort }).catch((error) => {
    console.error(`${error.message}; taking another port`);
    return serveHttp(service, { ...options, port: 0 });
  });
}

/** Serves the demo on stdio and says on stderr how to reach it. */
async function serveOverStdio() {
  console.error(`bistro is listening on stdin (one JSON-RPC message a line; Ctrl-D ends it).

Entry for the configuration of your host:
${JSON.stringify({ mcpServers: { bistro: entry() } }, null, 2)}
`);
  const { bistro } = await import(server);
  const { serveStdio } = await import("plugbay/stdio");
  await serveStdio(bistro);
}

/** Calls one tool of the demo, and shows what comes back. Starts the demo for it when none is running. */
async function call(name, text = "{}") {
  const { McpError } = await import("plugbay/client");
  const input = parse(text);
  const client = await reach().catch(explain);
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

async function reach() {
  const { connect } = await import("plugbay/client");
  const options = { onElicit: confirm };
  if (values.url !== undefined) return connect(values.url, options);
  return connect(`http://127.0.0.1:${usualPort}/mcp`, options).catch(() => {
    console.error(`no demo is running on port ${usualPort}; starting one for this call`);
    return connect(entry(), options);
  });
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

function entry() {
  return { command: process.execPath, args: [server] };
}

function readArguments() {
  const options = {
    port: { type: "string" },
    url: { type: "string" },
    stdio: { type: "boolean" },
    help: { type: "boolean" },
  };
  try {
    const read = parseArgs({ options, allowPositionals: true });
    if (read.values.help) {
      console.log(usage);
      process.exit(0);
    }
    const { port } = read.values;
    if (port !== undefined && !/^\d{1,5}$/.test(port)) fail(`the port must be a number: ${port}`);
    return read;
  } catch (error) {
    return fail(`${error.message}\n${usage}`);
  }
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return fail(`the arguments are no JSON: ${text}`);
  }
}

function explain(error) {
  console.error(`${error.code ?? "error"}: ${error.message}`);
  process.exit(1);
}

function fail(message) {
  console.error(message);
  process.exit(2);
}
