import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createHome, program } from "../cli/support/cli.ts";
import { connect } from "./support/built.ts";
import { script } from "./support/places.ts";
import { textOf } from "./support/run.ts";
import { type Serving, serve } from "./support/serving.ts";

// What is left of clients that come, call and go: nothing.

const home = createHome();
let v1: Serving;
let gateway: ChildProcess;
let url = "";
let statusUrl = "";

beforeAll(async () => {
  v1 = await serve(script("test/fixtures/official-v1-server.mjs"));
  const program1 = script("test/fixtures/official-v1-stdio-server.mjs");
  const { command, args } = { ...program1, args: program1.args ?? [] };
  home.write("mcp.json", {
    mcpServers: { v1: { url: `${v1.url}/mcp` }, program: { command, args, cwd: process.cwd() } },
  });
  home.write(
    "options.mjs",
    `const heap = () => (globalThis.gc(), Response.json(process.memoryUsage()));
     const gateway = { upstreamSessionTtlMs: 500, maxUpstreamSessionsPerCaller: 64 };
     export default { gateway, serve: { routes: { "/heap": heap } } };`,
  );
  const options = ["--json", "--log", "off", "--port", "0", "--options", "options.mjs"];
  gateway = spawn(process.execPath, ["--expose-gc", program, "gateway", "mcp.json", ...options], {
    cwd: home.folder,
    env: home.env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const { stdout } = gateway;
  if (stdout === null) throw new Error("the gateway has no stdout");
  const said = textOf(stdout);
  while (!said().includes("\n}\n")) await once(stdout, "data");
  ({ url, statusUrl } = JSON.parse(said()));
});

afterAll(() => gateway.kill("SIGKILL"));

interface Held {
  readonly children: number;
  readonly files: number;
  readonly sessions: number;
  readonly callerConnections: number;
}

async function held(): Promise<Held> {
  const { pid } = gateway;
  const status = await (await fetch(statusUrl, { headers: { connection: "close" } })).json();
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean).length;
  const callerConnections = status.servers.reduce(
    (sum: number, server: { callerConnections: number }) => sum + server.callerConnections,
    0,
  );
  return {
    children,
    files: readdirSync(`/proc/${pid}/fd`).length,
    sessions: status.held.held.sessions,
    callerConnections,
  };
}

/** What is reachable in the process, in KiB. */
async function heapKib(): Promise<number> {
  const { heapUsed } = await (await fetch(new URL("/heap", url), { headers: { connection: "close" } })).json();
  return heapUsed / 1024;
}

/** One client that comes, is asked something, and goes. */
async function visit(server: string, revision: "2025-11-25" | "2026-07-28"): Promise<void> {
  const client = await connect(url, { revision, onElicit: () => ({ name: "Ada" }) });
  const { content } = await client.callTool(`${server}__greet`);
  await client.close();
  if (JSON.stringify(content).includes("Hello, Ada!") !== true)
    throw new Error(`not asked: ${JSON.stringify(content)}`);
}

/** So many visits, ten at a time. */
async function visits(count: number, server: string): Promise<void> {
  let left = count;
  const guest = async (revision: "2025-11-25" | "2026-07-28"): Promise<void> => {
    while (left-- > 0) await visit(server, revision);
  };
  await Promise.all(Array.from({ length: 10 }, (_, n) => guest(n % 2 === 0 ? "2025-11-25" : "2026-07-28")));
}

describe("a gateway whose clients come and go", () => {
  it("has no process, socket or session of theirs left, and little memory, after 1,000 of them", async () => {
    await visits(100, "v1");
    const settled = { sessions: 0, callerConnections: 0 };
    await expect.poll(held, { timeout: 30_000 }).toMatchObject(settled);
    const [before, memory] = [await held(), await heapKib()];
    await visits(1_000, "v1");
    await expect.poll(held, { timeout: 30_000 }).toMatchObject(settled);
    await expect.poll(async () => (await held()).files, { timeout: 30_000 }).toBeLessThanOrEqual(before.files + 2);
    expect((await held()).children).toBe(before.children);
    // The outcome of a call that asked is remembered for ten minutes: its client may ask for it again.
    expect((await heapKib()) - memory).toBeLessThan(1_000 * 8);
  }, 180_000);

  it("has no program of theirs left", async () => {
    const before = await held();
    await visits(20, "program");
    await expect.poll(async () => (await held()).children, { timeout: 60_000 }).toBe(before.children);
    await expect.poll(held, { timeout: 30_000 }).toMatchObject({ sessions: 0, callerConnections: 0 });
  }, 180_000);
});
