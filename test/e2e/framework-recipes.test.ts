import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { StreamableHTTPClientTransport as TransportV2 } from "@modelcontextprotocol/client";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { transform } from "esbuild";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { fencesIn } from "../support/fences.ts";
import { patiently } from "../support/patience.ts";
import { connect } from "./support/built.ts";
import { openV1 } from "./support/official-v1.ts";
import { openV2 } from "./support/official-v2.ts";
import { type Program, root, script } from "./support/places.ts";
import { run } from "./support/run.ts";

// The programs of docs/frameworks.md as they stand there, each in a process of its own.

const recipes = fencesIn("docs/frameworks.md").filter(({ name, kind }) => name !== undefined && kind !== "fragment");
const runtimes = ["bun-server", "deno-server"];
const servers = recipes.flatMap(({ name = "" }) => (name.endsWith("-server") ? [name] : []));
const nodeServers = servers.filter((name) => !runtimes.includes(name));
const out = join(root, ".tmp", "frameworks");
const next = join(root, ".tmp", "next");
const others = join(root, ".tmp", "runtimes");

/** Writes the programs of the page into a folder, as JavaScript for this Node. */
async function writeRecipes(folder: string): Promise<void> {
  for (const { name, code } of recipes) {
    const { code: script } = await transform(code, { loader: "ts", format: "esm", target: "node20" });
    const file = join(folder, `${name}.js`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, script);
  }
}

const kib = 1024;
const long = "é".repeat(300 * kib);

/** What every client must get from the server of the page, wherever it is mounted. */
interface Asking {
  echo(text: string): Promise<unknown>;
  /** Calls the tool that reports progress and gives what was heard of it. */
  pack(): Promise<readonly number[]>;
  buy(): Promise<unknown>;
  close(): Promise<void>;
}

const clients: Record<string, (url: URL) => Promise<Asking>> = {
  "plugbay, modern": (url) => ours(url, "2026-07-28"),
  "plugbay, in a session": (url) => ours(url, "2025-11-25"),
  "plugbay, in an older session": (url) => ours(url, "2025-03-26"),
  "the official SDK 2, modern": async (url) => official(await openV2(new TransportV2(url), { pin: "2026-07-28" })),
  "the official SDK 2, in a session": async (url) => official(await openV2(new TransportV2(url), "legacy")),
  "the official SDK 1": async (url) => official(await openV1(new TransportV1(url) as unknown as Transport)),
};

async function ours(url: URL, revision: "2026-07-28" | "2025-11-25" | "2025-03-26"): Promise<Asking> {
  const canAsk = revision !== "2025-03-26";
  const client = await connect(url.href, { revision, ...(canAsk && { onElicit: () => ({ ok: true }) }) });
  const textOf = async (name: string, args = {}) => JSON.stringify((await client.callTool(name, args)).content);
  return {
    echo: (text) => textOf("echo", { text }),
    async pack() {
      const heard: number[] = [];
      await client.callTool("pack", {}, { onProgress: ({ progress }) => heard.push(progress) });
      return heard;
    },
    buy: async () => (canAsk ? textOf("buy") : "bought"),
    close: () => client.close(),
  };
}

async function official(session: Awaited<ReturnType<typeof openV1 | typeof openV2>>): Promise<Asking> {
  session.fill = () => ({ action: "accept", content: { ok: true } });
  return {
    echo: (text) => session.call("echo", { text }),
    async pack() {
      const heard: number[] = [];
      const onprogress = (step: object) => heard.push((step as { progress: number }).progress);
      await session.callTool({ name: "pack" }, { onprogress });
      return heard;
    },
    buy: () => session.call("buy"),
    close: () => session.client.close(),
  };
}

/** Starts the program on a free port, and resolves when it takes connections. */
async function serve({ command, args }: Program, cwd: string): Promise<{ child: ChildProcess; url: URL }> {
  const port = await freePort();
  const env = { ...process.env, PORT: String(port), NEXT_TELEMETRY_DISABLED: "1" };
  const child = spawn(command, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk: Buffer) => (said += chunk));
  const url = new URL(`http://127.0.0.1:${port}/mcp`);
  await vi.waitFor(async () => {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}: ${said}`);
    await fetch(url, { method: "OPTIONS" });
  }, patiently);
  return { child, url };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

function servesEveryClient(start: () => Promise<{ child: ChildProcess; url: URL }>): void {
  let running: Awaited<ReturnType<typeof start>>;
  beforeAll(async () => {
    running = await start();
  }, 120_000);
  afterAll(async () => {
    const ended = once(running.child, "exit");
    running.child.kill("SIGKILL");
    await ended;
  });

  it.each(Object.keys(clients))("answers, streams and asks: %s (T7)", async (name) => {
    const client = await (clients[name] as (typeof clients)[string])(running.url);
    expect(await client.echo(long)).toContain(long);
    // Of progress that comes with the result, older official clients drop the last.
    expect((await client.pack()).slice(0, 2)).toEqual([1, 2]);
    expect(await client.buy()).toContain("bought");
    await client.close();
  });

  it("answers what is not a message at once, as a JSON-RPC error (T7)", async () => {
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const response = await fetch(running.url, { method: "POST", headers, body: '{"hello":"world"}' });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ jsonrpc: "2.0", error: { code: -32600 } });
  });
}

describe("docs/frameworks.md", () => {
  beforeAll(async () => {
    rmSync(out, { recursive: true, force: true });
    await writeRecipes(out);
  });

  it("has a recipe for every framework that is promised (T7)", () => {
    expect([...servers].toSorted()).toEqual([
      "bun-server",
      "deno-server",
      "express-server",
      "fastify-server",
      "hono-server",
      "koa-server",
      "nest-server",
    ]);
    expect(recipes.map(({ name }) => name)).toContain("app/mcp/route");
  });

  describe.each(nodeServers)("%s", (name) => {
    servesEveryClient(() => serve(script(join(".tmp", "frameworks", `${name}.js`)), root));
  });
});

/** Installs what the test needs. False when there is no network to do so. */
async function install(name: string, folder: string): Promise<boolean> {
  const { code, stderr } = await run(script("test/support/install-locked.mjs", `test/frameworks/${name}`, folder));
  if (code !== 0 && code !== UNAVAILABLE) throw new Error(stderr);
  return code === 0;
}

const UNAVAILABLE = 69;
const [hasNext, hasRuntimes] = [await install("next", next), await install("runtimes", others)];

/** The program of a package for this platform. Undefined where there is none for it. */
function programOf(scope: string, folder: string, name: string): string | undefined {
  const packages = existsSync(join(others, "node_modules", scope))
    ? readdirSync(join(others, "node_modules", scope))
    : [];
  const files = packages.flatMap((each) =>
    [name, `${name}.exe`].map((file) => join(others, "node_modules", scope, each, folder, file)),
  );
  return files.find((file) => existsSync(file));
}

const bun = hasRuntimes ? programOf("@oven", "bin", "bun") : undefined;
const deno = hasRuntimes ? programOf("@deno", "", "deno") : undefined;

describe.each([
  { name: "bun-server", program: bun, args: [] },
  {
    name: "deno-server",
    program: deno,
    args: ["run", "--no-remote", "--cached-only", "--allow-net", "--allow-env", "--allow-read"],
  },
])("$name", ({ name, program, args }) => {
  describe.skipIf(program === undefined)("in its runtime", () => {
    servesEveryClient(async () => {
      await writeRecipes(others);
      const link = join(others, "node_modules", "plugbay");
      if (!existsSync(link)) symlinkSync(root, link);
      return serve({ command: program ?? "", args: [...args, `${name}.js`] }, others);
    });
  });
});

describe.skipIf(!hasNext)("Next", () => {
  const binary = join(next, "node_modules", "next", "dist", "bin", "next");

  servesEveryClient(async () => {
    await writeRecipes(next);
    const link = join(next, "node_modules", "plugbay");
    if (!existsSync(link)) symlinkSync(root, link);
    writeFileSync(join(next, "next.config.mjs"), `export default { turbopack: { root: ${JSON.stringify(root)} } };\n`);
    const built = spawn(process.execPath, [binary, "build"], {
      cwd: next,
      env: { ...process.env, NEXT_TELEMETRY_DISABLED: "1", NODE_ENV: "production" },
    });
    let said = "";
    for (const stream of [built.stdout, built.stderr]) stream.on("data", (chunk: Buffer) => (said += chunk));
    const [code] = await once(built, "close");
    if (code !== 0) throw new Error(`next build ended with ${code}: ${said}`);
    return serve({ command: process.execPath, args: [binary, "start", "-H", "127.0.0.1"] }, next);
  });
});
