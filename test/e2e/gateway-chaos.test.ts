import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Client } from "../../src/client/client.ts";
import type { HttpServeHandle } from "../../src/transport/node/serve-http.ts";
import { createHome, program } from "../cli/support/cli.ts";
import { quietPort } from "../support/quiet-port.ts";
import { redisProgram, startRedis, type TestRedis } from "../support/redis.ts";
import { type RoundRobin, startRoundRobin } from "../support/round-robin.ts";
import { connect, createServer, resource, serveHttp, tool } from "./support/built.ts";
import { textOf } from "./support/run.ts";

// Three gateways on one Redis while one of them is killed and brought back, and Redis is: what a client was told stays true.
// `npm run chaos` does it for two minutes with 500 sessions; here it is shorter.

const seconds = Number(process.env.CHAOS_SECONDS ?? 16);
const sessionCount = Number(process.env.CHAOS_SESSIONS ?? 60);
const modernCount = Math.ceil(sessionCount / 10);
/** Sessions make a call so often. */
const paceMs = Number(process.env.CHAOS_PACE_MS ?? 2_000);

const home = createHome();
const form = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] } as const;
const numbered = { type: "object", properties: { id: { type: "string" } }, required: ["id"] } as const;

/** What the server behind the gateways has really done. */
const recorded = new Set<string>();
const answered = new Set<string>();

const shop = createServer({
  name: "shop",
  version: "1.0.0",
  subscribe: true,
  stateKeys: ["0123456789abcdef".repeat(4)],
  // To this server all callers of the gateways are one.
  budgets: { principal: { maxTasks: 0 }, process: { maxTasks: 0 } },
  resources: [resource("shop://board", { read: () => "a board" })],
  tools: {
    record: tool({
      input: numbered,
      run: ({ id }) => {
        recorded.add(id);
        return id;
      },
    }),
    confirm: tool({
      input: numbered,
      run: async ({ id }, ctx) => {
        const { ok } = await ctx.ask(`Confirm ${id}?`, form);
        if (ok) answered.add(id);
        return id;
      },
    }),
    job: tool({
      input: numbered,
      task: "required",
      run: async ({ id }, ctx) => {
        await pause(500, undefined, { signal: ctx.signal });
        return id;
      },
    }),
  },
});

let upstream: HttpServeHandle;
let redis: TestRedis;
let front: RoundRobin;
const children = new Set<ChildProcess>();

async function startGateway(port: number): Promise<ChildProcess> {
  const options = ["--options", "gateway.mjs", "--json", "--log", "off", "--port", `${port}`, "--store", redis.url];
  const child = spawn(process.execPath, [program, "gateway", "mcp.json", ...options], {
    cwd: home.folder,
    env: { ...home.env, PLUGBAY_STATE_KEYS: "3cEDg27oIL_V-ILeoe_VehUlnEJoLp6vI9k6eSlNG8E" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.add(child);
  const [said, errors] = [textOf(child.stdout), textOf(child.stderr)];
  const ended = once(child, "exit").then(() => children.delete(child));
  while (!said().includes("\n}\n")) {
    const isOver = await Promise.race([once(child.stdout, "data").then(() => false), ended]);
    if (isOver) throw new Error(`the gateway has ended: ${said()}${errors()}`);
  }
  return child;
}

/** What was tried, and what became of it, second by second. */
function createTally() {
  const startedAt = performance.now();
  const at = (): number => (performance.now() - startedAt) / 1_000;
  const failures: { readonly at: number; readonly what: string; readonly why: string }[] = [];
  let done = 0;
  return {
    at,
    failures,
    get done() {
      return done;
    },
    async attempt<T>(what: string, work: () => Promise<T>): Promise<T | undefined> {
      try {
        const value = await work();
        done++;
        return value;
      } catch (error) {
        failures.push({ at: at(), what, why: error instanceof Error ? error.message : String(error) });
        return undefined;
      }
    },
    /** Why calls have failed, and how many so. */
    reasons(): ReadonlyMap<string, number> {
      const counts = new Map<string, number>();
      for (const { why } of failures) counts.set(why, (counts.get(why) ?? 0) + 1);
      return counts;
    },
    /** How long after a fault the last call failed, before the next fault. */
    recoveryAfter(fault: number, next: number): number {
      return Math.max(
        0,
        ...failures.filter((each) => each.at >= fault && each.at < next).map((each) => each.at - fault),
      );
    },
  };
}

/**
 * Watches the board. The stream of a client of 2026-07-28 ends with the process that has it: the client is told, and
 * watches again. A session finds its stream again by itself.
 */
async function keepWatching(client: Client, hear: () => void, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const _ of client.watch("shop://board")) hear();
    } catch {
      await pause(100);
    }
  }
}

beforeAll(async () => {
  if (redisProgram === undefined) return;
  [upstream, redis, front] = [await serveHttp(shop, { port: 0 }), await startRedis(), await startRoundRobin([])];
  home.write("mcp.json", { mcpServers: { shop: { url: upstream.url } } });
  home.write(
    "gateway.mjs",
    "export default { auth: (http) => ({ ok: true, auth: { principal: http.header('x-user') } }) };",
  );
});

afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  await front?.[Symbol.asyncDispose]();
  await redis?.[Symbol.asyncDispose]();
  await upstream?.close();
});

describe.skipIf(redisProgram === undefined)("three gateways on one Redis", () => {
  it(
    "lose nothing that was acknowledged, whoever is killed",
    async () => {
      const ports = [await quietPort(), await quietPort(), await quietPort()];
      const [first] = await Promise.all(ports.map(startGateway));
      front.ports = ports;
      const tally = createTally();
      const [acknowledged, confirmed] = [new Set<string>(), new Set<string>()];
      const tasks = new Map<string, { readonly taskId: string; readonly client: Client }>();
      const heardAt = new Map<number, number>();
      const over = new AbortController();
      let isOver = false;
      let serial = 0;

      const open = (index: number, revision: "2025-11-25" | "2026-07-28"): Promise<Client> =>
        connect(front.url, {
          revision,
          headers: { "x-user": `user ${index % 50}` },
          onElicit: () => ({ ok: true }),
        }) as Promise<Client>;

      /** One client that calls, is asked, and starts tasks until it is all over. */
      const live = async (client: Client, index: number): Promise<void> => {
        await pause(Math.random() * paceMs);
        while (!isOver) {
          const id = `${index}.${++serial}`;
          const turn = serial % 10;
          if (turn === 0) {
            const task = await tally.attempt("task", () => client.tasks.start("shop__job", { id }));
            if (task?.id !== undefined) tasks.set(id, { taskId: task.id, client });
          } else if (turn < 3) {
            const result = await tally.attempt("question", () => client.callTool("shop__confirm", { id }));
            if (result !== undefined) confirmed.add(id);
          } else {
            const result = await tally.attempt("call", () => client.callTool("shop__record", { id }));
            if (result !== undefined) acknowledged.add(id);
          }
          await pause(paceMs);
        }
      };

      const clients: Client[] = [];
      for (let index = 0; index < sessionCount + modernCount; index += 20) {
        const some = Array.from({ length: Math.min(20, sessionCount + modernCount - index) }, (_, n) => index + n);
        const opened = some.map((each) => open(each, each < sessionCount ? "2025-11-25" : "2026-07-28"));
        clients.push(...(await Promise.all(opened)));
      }
      for (const [index, client] of clients.entries()) {
        void keepWatching(client, () => heardAt.set(index, tally.at()), over.signal);
      }
      const lives = clients.map((client, index) => live(client, index));

      const killedAt = tally.at() + seconds * 0.2;
      await pause(seconds * 200);
      first?.kill("SIGKILL");
      await pause(seconds * 200);
      await startGateway(ports[0] ?? 0);
      await pause(seconds * 200);
      const redisAt = tally.at();
      await redis.stop("SIGKILL");
      await pause(2_000);
      await redis.start();
      await pause(seconds * 400);
      isOver = true;
      await Promise.all(lives);

      const all = tally.done + tally.failures.length;
      console.log(
        `${all} calls in ${Math.round(tally.at())} s by ${sessionCount} sessions and ${modernCount} clients of 2026-07-28: ` +
          `${tally.failures.length} failed (${((tally.failures.length / all) * 100).toFixed(2)} %), the last one ` +
          `${tally.recoveryAfter(killedAt, redisAt).toFixed(1)} s after a process was killed, ` +
          `${tally.recoveryAfter(redisAt, Number.POSITIVE_INFINITY).toFixed(1)} s after Redis was`,
      );
      for (const [why, count] of tally.reasons()) console.log(`${count} failed so: ${why}`);
      expect([...acknowledged].filter((id) => !recorded.has(id))).toEqual([]);
      expect([...confirmed].filter((id) => !answered.has(id))).toEqual([]);
      expect(tasks.size).toBeGreaterThan(0);
      for (const [id, { taskId, client }] of tasks) {
        const result = await (await client.tasks.resume(taskId)).result();
        expect(result.content).toEqual([{ type: "text", text: id }]);
      }
      // Whoever has subscribed hears of what changes now.
      const changedAt = tally.at();
      shop.resourceUpdated("shop://board");
      await expect
        .poll(() => [...clients.keys()].filter((index) => (heardAt.get(index) ?? 0) < changedAt), { timeout: 30_000 })
        .toEqual([]);
      // After everything is back, everything works.
      const last = clients.map((client, index) => client.callTool("shop__record", { id: `last ${index}` }));
      expect((await Promise.all(last)).map(({ isError }) => isError ?? false)).not.toContain(true);
      over.abort();
      for (const client of clients) await client.close();
    },
    (seconds + 240) * 1_000,
  );
});
