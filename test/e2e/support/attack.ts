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

/** Calls of somebody else during an attack. */
export interface Calls {
  /** 99 of 100 of them took no longer than this, of a server that nobody attacks and of the one that is attacked. */
  readonly calmMs: number;
  readonly attackedMs: number;
  /** How many there were, and how many of them were not answered well. */
  readonly calls: number;
  readonly failed: number;
}

/** What an attack did to a server. */
export interface Damage extends Calls {
  /** Bytes by which the memory of the process grew, at the most. */
  readonly growth: number;
  /** By how many bytes more are in use in the end, without garbage. */
  readonly kept: number;
  /** What the server holds when all is taken that can be had. */
  readonly status: LedgerStatus;
  readonly warnings: readonly string[];
}

const MIB = 1_048_576;
/**
 * A call that takes less counts as this. Attacker, both servers and this process share two processors: while all are busy, a
 * call waits for several turns of the others, each of some milliseconds, and for one body that is read in one go (30 ms).
 */
const LEAST_MS = 10;
/** So many calls are made while an attacker holds what it took: of fewer, one pause of the garbage collector would be the 99th of 100. */
const LEAST_CALLS = 500;
const SLOWER = 10;

/**
 * Attacks a server in a process of its own from another one, while this one is a client of another address. What else the
 * machine does slows all servers down, so the same calls are made of one that is left alone.
 */
export async function attack(name: string, options: object = {}): Promise<Damage> {
  const args = [JSON.stringify(options)];
  await using attacked = await startBundled("attacked-server.ts", args);
  await using calm = await startBundled("attacked-server.ts", args);
  using one = createCaller(attacked.port);
  using other = createCaller(calm.port);
  for (let n = 0; n < WARM_UP; n++) await Promise.all([one.call(), other.call()]);
  await ask(attacked.child, "reset");
  let attacker: Bundled | undefined;
  try {
    // It says so when it begins: until then nobody is attacked.
    const begun = await startBundled("attacker.ts", [name, String(attacked.port)]);
    attacker = begun;
    const { calls } = await whileCalling([one, other], async () => {
      begun.child.send("begin");
      await once(begun.child, "message");
    });
    return { ...(await ask(attacked.child, "report")), ...calls };
  } finally {
    await attacker?.[Symbol.asyncDispose]();
  }
}

/** Holds a server to what is promised of every attack. */
export function expectCalm(damage: Damage): void {
  if (process.env.TELL) console.log(JSON.stringify({ ...damage, status: undefined, warnings: undefined }));
  expectAnswered(damage);
  expect(damage.growth / MIB).toBeLessThan(100);
}

/** Holds a server to its answers to others while it is attacked. */
export function expectAnswered({ calls, failed, calmMs, attackedMs }: Calls): void {
  expect({ calls, failed }).toEqual({ calls, failed: 0 });
  expect(calls).toBeGreaterThanOrEqual(LEAST_CALLS);
  expect(attackedMs).toBeLessThanOrEqual(SLOWER * Math.max(calmMs, LEAST_MS));
}

/** A process of a fixture, bundled: it says its port first, if it has one. */
export interface Bundled extends AsyncDisposable {
  readonly child: ChildProcess;
  readonly port: number;
}

export async function startBundled(
  name: string,
  args: readonly string[] = [],
  flags: readonly string[] = [],
): Promise<Bundled> {
  const folder = await mkdtemp(join(tmpdir(), "plugbay-attack-"));
  const outfile = join(folder, name.replace(/\.ts$/, ".mjs"));
  const source = fileURLToPath(new URL(`../../fixtures/children/${name}`, import.meta.url));
  await build({ entryPoints: [source], outfile, bundle: true, platform: "node", format: "esm", logLevel: "error" });
  const child = fork(outfile, args, { execArgv: ["--expose-gc", ...flags] });
  const [{ port }] = (await once(child, "message")) as [{ port: number }];
  return {
    child,
    port,
    async [Symbol.asyncDispose]() {
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
      await rm(folder, { recursive: true });
    },
  };
}

interface Report extends Pick<Damage, "growth" | "kept" | "status" | "warnings"> {}

async function ask(server: ChildProcess, wish: "reset" | "report"): Promise<Report> {
  const answer = once(server, "message");
  server.send(wish);
  const [report] = (await answer) as [Report];
  return report;
}

const WARM_UP = 1_000;

/** Calls a server that is attacked and one that is not, in turn, from the beginning of the work to its end; only these calls count. */
export async function whileCalling<T>(
  [attacked, calm]: readonly [Caller, Caller],
  work: () => Promise<T>,
): Promise<{ readonly calls: Calls; readonly result: T }> {
  let isOver = false;
  const working = work().finally(() => {
    isOver = true;
  });
  working.catch(() => {});
  const pairs: { readonly attacked: Called; readonly calm: Called }[] = [];
  while (!isOver || pairs.length < LEAST_CALLS)
    pairs.push({ attacked: await attacked.call(), calm: await calm.call() });
  const calls = {
    calmMs: p99(pairs.map((pair) => pair.calm)),
    attackedMs: p99(pairs.map((pair) => pair.attacked)),
    calls: pairs.length,
    failed: pairs.filter((pair) => !pair.attacked.isWell || !pair.calm.isWell).length,
  };
  return { calls, result: await working };
}

/** Calls a server again and again, over one connection. */
export interface Caller extends Disposable {
  call(): Promise<Called>;
}

export function createCaller(port: number, more: Readonly<Record<string, string>> = {}): Caller {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, localAddress: "127.0.0.2" });
  return { call: () => callOnce(port, agent, more), [Symbol.dispose]: () => agent.destroy() };
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

function callOnce(port: number, agent: Agent, more: Readonly<Record<string, string>>): Promise<Called> {
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
        headers: {
          accept: "application/json, text/event-stream",
          "content-type": "application/json",
          ...headers,
          ...more,
        },
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
