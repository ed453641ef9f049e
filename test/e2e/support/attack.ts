import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { expect } from "vitest";
import type { LedgerStatus } from "../../../src/protocol/budget.ts";
import { modernCall } from "../../support/fake-endpoint.ts";

/** What an attack did to a server. */
export interface Damage {
  /** Bytes by which the memory of the process grew, at the most. */
  readonly growth: number;
  /** 99 of 100 calls of somebody else took no longer than this, of a server that nobody attacks and of this one, in turn. */
  readonly calmMs: number;
  readonly attackedMs: number;
  /** Calls of somebody else during the attack, and those that were not answered well. */
  readonly calls: number;
  readonly failed: number;
  /** What the server holds when all is taken that can be had. */
  readonly status: LedgerStatus;
  readonly warnings: readonly string[];
}

const MIB = 1_048_576;
/** Below this nobody can tell the server from the machine it runs on. */
const LEAST_MS = 10;

/**
 * Attacks a server in a process of its own from another one, while this one is a client of another address. What else the
 * machine does slows all servers down, so the same calls are made of one that is left alone.
 */
export async function attack(name: string, options: object = {}): Promise<Damage> {
  const folder = await mkdtemp(join(tmpdir(), "plugbay-attack-"));
  const children: ChildProcess[] = [];
  try {
    const startServer = async (): Promise<Server> => {
      const child = await start(folder, "attacked-server.ts", [JSON.stringify(options)], children);
      const [{ port }] = (await once(child, "message")) as [{ port: number }];
      return { child, port };
    };
    const [attacked, calm] = await Promise.all([startServer(), startServer()]);
    return await measure(attacked, calm, () => start(folder, "attacker.ts", [name, String(attacked.port)], children));
  } finally {
    for (const child of children) child.kill("SIGKILL");
    await rm(folder, { recursive: true });
  }
}

/** Holds a server to what is promised of every attack. */
export function expectCalm({ growth, calmMs, attackedMs, calls, failed }: Damage): void {
  if (process.env.TELL)
    console.log(JSON.stringify({ growth: Math.round(growth / MIB), calmMs, attackedMs, calls, failed }));
  expect({ calls, failed }).toEqual({ calls, failed: 0 });
  expect(calls).toBeGreaterThanOrEqual(CALLS);
  expect(growth / MIB).toBeLessThan(100);
  expect(attackedMs).toBeLessThanOrEqual(10 * Math.max(calmMs, LEAST_MS));
}

interface Server {
  readonly child: ChildProcess;
  readonly port: number;
}

async function start(
  folder: string,
  name: string,
  args: readonly string[],
  children: ChildProcess[],
): Promise<ChildProcess> {
  const outfile = join(folder, name.replace(/\.ts$/, ".mjs"));
  const source = fileURLToPath(new URL(`../../fixtures/children/${name}`, import.meta.url));
  await build({ entryPoints: [source], outfile, bundle: true, platform: "node", format: "esm", logLevel: "error" });
  const child = fork(outfile, args, { execArgv: ["--expose-gc"] });
  children.push(child);
  return child;
}

interface Report extends Pick<Damage, "growth" | "status" | "warnings"> {}

async function ask(server: ChildProcess, wish: "reset" | "report"): Promise<Report> {
  const answer = once(server, "message");
  server.send(wish);
  const [report] = (await answer) as [Report];
  return report;
}

const CALLS = 1_000;

async function measure(attacked: Server, calm: Server, startAttacker: () => Promise<ChildProcess>): Promise<Damage> {
  const [first, second] = [createCaller(attacked.port), createCaller(calm.port)];
  try {
    for (let n = 0; n < CALLS; n++) await Promise.all([first.call(), second.call()]);
    await ask(attacked.child, "reset");
    const attacker = await startAttacker();
    let isOver = false;
    void once(attacker, "message").then(() => {
      isOver = true;
    });
    const calls: { readonly attacked: Called; readonly calm: Called }[] = [];
    while (!isOver || calls.length < CALLS) calls.push({ attacked: await first.call(), calm: await second.call() });
    const report = await ask(attacked.child, "report");
    return {
      ...report,
      calmMs: p99(calls.map((both) => both.calm)),
      attackedMs: p99(calls.map((both) => both.attacked)),
      calls: calls.length,
      failed: calls.filter((both) => !both.attacked.isWell || !both.calm.isWell).length,
    };
  } finally {
    first.stop();
    second.stop();
  }
}

/** Calls a server again and again, over one connection. */
function createCaller(port: number): { call(): Promise<Called>; stop(): void } {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, localAddress: "127.0.0.2" });
  return { call: () => callOnce(port, agent), stop: () => agent.destroy() };
}

interface Called {
  readonly ms: number;
  readonly isWell: boolean;
}

function p99(calls: readonly Called[]): number {
  const sorted = calls.map(({ ms }) => ms).sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length * 0.99)] ?? 0;
}

const { body: message, headers } = modernCall(1, "echo");
const body = JSON.stringify(message);

function callOnce(port: number, agent: Agent): Promise<Called> {
  const begun = performance.now();
  return new Promise((resolve) => {
    const over = (isWell: boolean): void => resolve({ ms: performance.now() - begun, isWell });
    const sent = request(
      {
        port,
        host: "127.0.0.1",
        path: "/mcp",
        method: "POST",
        agent,
        headers: { accept: "application/json, text/event-stream", "content-type": "application/json", ...headers },
      },
      (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => {
          text += chunk;
        });
        response.on("end", () => over(response.statusCode === 200 && text.includes("here")));
      },
    );
    sent.on("error", () => over(false));
    sent.end(body);
  });
}
