import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { HttpServeHandle } from "../../src/transport/node/serve-http.ts";
import { createHome } from "../cli/support/cli.ts";
import { eventually } from "../support/patience.ts";
import { redisProgram, startRedis, type TestRedis } from "../support/redis.ts";
import { type RoundRobin, startRoundRobin } from "../support/round-robin.ts";
import { serveHttp } from "./support/built.ts";
import { createLog, type Log } from "./support/events.ts";
import { type FrontKind, fronts } from "./support/gateway-fronts.ts";
import { startGatewayNode } from "./support/gateway-nodes.ts";
import { jobs } from "./support/jobs.ts";
import { type OfficialClient, sampled, textOf } from "./support/official.ts";
import { script } from "./support/places.ts";
import { serve } from "./support/serving.ts";

// A gateway is killed while something of every kind is open in it, and another process takes its place.

const home = createHome();
const stateKey = "3cEDg27oIL_V-ILeoe_VehUlnEJoLp6vI9k6eSlNG8E";
const backs = ["v1", "v1stdio", "v2", "v2sessions"] as const;

/** Everything that was open has to end within this time. */
const BOUND_MS = 20_000;

// Version 2 of the official SDK has no tasks at a server. Ours takes its place there.

let redis: TestRedis;
let ours: HttpServeHandle;
let balancer: RoundRobin;

async function openAll(): Promise<void> {
  redis = await startRedis();
  const [v1, v2] = await Promise.all([
    serve(script("test/fixtures/official-v1-server.mjs")),
    serve(script("test/fixtures/official-v2-server.mjs", "--port", "0")),
  ]);
  ours = await serveHttp(jobs, { port: 0 });
  home.write("mcp.json", {
    mcpServers: {
      v1: { url: `${v1.url}/mcp` },
      v1stdio: script("test/fixtures/official-v1-stdio-server.mjs"),
      v2: { url: `${v2.url}/mcp` },
      v2sessions: { url: `${v2.url}/sessions` },
      ours: { url: ours.url },
    },
  });
  home.write(
    "options.mjs",
    'export default { gateway: { maxUpstreamSessionsPerCaller: 64 }, auth: (http) => ({ ok: true, auth: { principal: http.header("authorization") ?? "" } }) };',
  );
  balancer = await startRoundRobin([]);
}

async function closeAll(): Promise<void> {
  await balancer[Symbol.asyncDispose]();
  await ours.close();
  await redis[Symbol.asyncDispose]();
}

type Back = (typeof backs)[number];

/** Something that is open at one server, and how it ends once the process has been killed. */
interface Cell {
  readonly back: Back;
  readonly feature: string;
  ends(): Promise<string>;
}

/** A client of one server through the gateway, whose user and model answer only once the process is gone. */
async function openClient(kind: FrontKind, back: Back, killed: Log<true>) {
  const front = await kind.open({ url: balancer.url, headers: { authorization: "Bearer ann" } });
  const asked = createLog<string>();
  front.fill = async ({ mode }) => {
    asked.add(mode === "url" ? "sign" : "greet");
    await killed.count(1);
    return mode === "url" ? { action: "accept" } : { action: "accept", content: { name: "Ada" } };
  };
  front.sample = async ({ tools }) => {
    asked.add(tools === undefined ? "think" : "consult");
    await killed.count(1);
    if (tools === undefined) return sampled("A thought");
    return { model: "parrot", role: "assistant", content: { type: "tool_use", id: "1", name: "weather", input: {} } };
  };
  const call = (name: string, args?: Record<string, unknown>) => front.call(`${back}__${name}`, args);
  return { front, asked, call, back, isModern: kind.front === "v2, 2026-07-28" };
}

type OpenClient = Awaited<ReturnType<typeof openClient>>;

/** What the client hears without being in a call. */
async function openNews({ front, back, call, isModern }: OpenClient): Promise<readonly Cell[]> {
  const uri = await watchedOf(front.client, back);
  await front.subscribe(uri);
  const log = { name: `${back}__log`, arguments: {}, _meta: front.logging };

  /** Tries until it is heard: what is sent while a stream is opened again may be lost. */
  const hear = (cause: () => Promise<unknown>, heard: () => boolean): Promise<string> => {
    return eventually(async () => {
      await cause().catch(() => {});
      expect(heard()).toBe(true);
      return "heard";
    });
  };
  await hear(
    () => call("touch"),
    () => front.changes.items.includes(uri),
  );
  return [
    {
      back,
      feature: "a subscription",
      async ends() {
        // In 2026-07-28 it ends with its stream, and the client asks again.
        if (isModern) await front.subscribe(uri);
        const before = front.changes.items.length;
        return hear(
          () => call("touch"),
          () => front.changes.items.slice(before).includes(uri),
        );
      },
    },
    {
      back,
      feature: "log messages",
      ends() {
        const before = front.logged.items.length;
        return hear(
          () => front.callTool(log),
          () => front.logged.items.length > before,
        );
      },
    },
  ];
}

/** Rejects when something takes longer than the bound. */
function inTime<T>(work: Promise<T>, message: string): Promise<T> {
  const late = pause(BOUND_MS, undefined, { ref: false }).then(() => {
    throw new Error(message);
  });
  return Promise.race([work, late]);
}

const tools = {
  greet: { feature: "a form", answer: "Hello, Ada!" },
  sign: { feature: "a page", answer: "You said accept." },
  consult: { feature: "a sample with tools", answer: "tool_use weather {}" },
  think: { feature: "a sample and roots", answer: "A thought in file:///home" },
};

/** Calls that wait for an answer, and calls that run. */
async function openCalls({ front, asked, call, back }: OpenClient): Promise<readonly Cell[]> {
  const cells: Cell[] = [];
  const add = async (feature: string, result: Promise<string>, isOpen: Promise<unknown>): Promise<void> => {
    result.catch(() => {});
    await inTime(isOpen, `${feature} at ${back} is not open`);
    cells.push({ back, feature, ends: () => result });
  };
  for (const [tool, { feature }] of Object.entries(tools)) {
    await add(
      feature,
      call(tool),
      asked.find((question) => question === tool),
    );
  }
  const heard = createLog<object>();
  // The SDK does not tell a caller of 2026-07-28 that the stream of a response was cut: only its own timeout ends the call.
  const options = { onprogress: heard.add, timeout: 12_000, resetTimeoutOnProgress: true };
  const slow = front.callTool({ name: `${back}__slow`, arguments: { steps: 2_000 } }, options);
  await add("progress", slow.then(textOf), heard.count(1));
  // Programs of older servers do not all run the same calls, so that nobody can see from outside whether one has begun.
  if (back === "v1stdio") return cells;
  const before = Number(await call("running"));
  const running = async () => expect(Number(await call("running"))).toBeGreaterThan(before);
  await add("a plain call", call("slow", { steps: 2_000 }), eventually(running));
  return cells;
}

async function openTask({ front, back, isModern }: OpenClient): Promise<readonly Cell[]> {
  if (!hasTasks(back, isModern)) return [];
  const [name, ms] = back.startsWith("v1") ? [`${back}__job`, 3 * BOUND_MS] : ["ours__job", 4_000];
  const job = front.startTask(name, { ms });
  const ends = await inTime(job, `the task at ${back} is not open`);
  return [{ back, feature: "a task", ends }];
}

/** Our server speaks 2026-07-28 to the gateway: there it says which calls are tasks, and a client of sessions gets none. */
function hasTasks(back: Back, isModern: boolean): boolean {
  return back.startsWith("v1") || isModern;
}

const lost = /process that ran this request is gone/;

/** How each thing ends: with a text, or with an error that the client gets within the bound. */
function expectedOf(feature: string, back: Back, isModern: boolean): string | RegExp {
  const [answer] = Object.values(tools).flatMap((tool) => (tool.feature === feature ? tool.answer : []));
  if (answer !== undefined) return isModern ? answer : lost;
  if (feature === "a subscription" || feature === "log messages") return "heard";
  // The task was that of a session which the process had. A server of 2026-07-28 has it still.
  if (feature === "a task") return back.startsWith("v1") ? /./ : "the job is done";
  // A response that has not begun has no stream to be resumed, and neither has any in 2026-07-28.
  return feature === "progress" && !isModern ? lost : /./;
}

/** Opens everything in one process, kills it, and says how everything ends at the other. */
async function killOne(kind: FrontKind): Promise<ReadonlyMap<string, Ending>> {
  const killed = createLog<true>();
  const start = () =>
    startGatewayNode({
      home,
      args: ["--store", redis.url, "--options", "options.mjs"],
      env: { PLUGBAY_STATE_KEYS: stateKey },
    });
  const [first, second] = await Promise.all([start(), start()]);
  balancer.ports = [first.port];
  const clients = await Promise.all(backs.map((back) => openClient(kind, back, killed)));
  const openAt = async (open: (client: OpenClient) => Promise<readonly Cell[]>) =>
    (await Promise.all(clients.map(open))).flat();
  const news = await openAt(openNews);
  const calls = await openAt(openCalls);
  const tasks = await openAt(openTask);

  balancer.ports = [second.port];
  await first.kill();
  killed.add(true);
  const endings = new Map<string, Ending>();
  const settle = async (cells: readonly Cell[]): Promise<void> => {
    const since = performance.now();
    await Promise.all(
      cells.map(async ({ back, feature, ends }) => {
        const ending = await inTime(ends(), "it does not end").then(
          (text) => ({ text }),
          (error: Error) => ({ error: error.message }),
        );
        endings.set(`${back}: ${feature}`, { ...ending, ms: performance.now() - since });
      }),
    );
  };
  await settle([...calls, ...tasks]);
  await settle(news);
  await settle(clients.map(({ back, call }) => ({ back, feature: next, ends: () => call("echo", { message: "hi" }) })));
  await Promise.all(clients.map(({ front }) => front.client.close()));
  await second.kill();
  return endings;
}

interface Ending {
  readonly text?: string;
  readonly error?: string;
  /** Since the process was killed, or what the client did before that was over. */
  readonly ms: number;
}

const next = "the next call";
const features = [...Object.values(tools).map(({ feature }) => feature), "progress", "a plain call", "a task"];
const all = [...features, "a subscription", "log messages", next];

describe.skipIf(redisProgram === undefined)("what is open in a gateway that is killed", () => {
  beforeAll(openAll);
  afterAll(closeAll);

  describe.each(fronts)("for $front", (kind) => {
    const isModern = kind.front === "v2, 2026-07-28";
    let endings: ReadonlyMap<string, Ending>;
    beforeAll(async () => {
      endings = await killOne(kind);
    }, 4 * BOUND_MS);

    const cells = backs.flatMap((back) => all.map((feature) => ({ back, feature })));
    const isCell = ({ back, feature }: (typeof cells)[number]): boolean =>
      feature === "a task" ? hasTasks(back, isModern) : feature !== "a plain call" || back !== "v1stdio";

    it.each(cells.filter(isCell))("$feature at $back goes on, or ends with an error in time", ({ back, feature }) => {
      const ending = endings.get(`${back}: ${feature}`);
      const expected = feature === next ? "hi" : expectedOf(feature, back, isModern);
      if (typeof expected === "string") expect(ending).toMatchObject({ text: expected });
      else expect(ending).toMatchObject({ error: expect.stringMatching(expected) });
      expect(ending?.ms).toBeLessThan(BOUND_MS);
    });
  });
});

/** The URI of the resource of a server that changes: servers that use the same one are told apart by the gateway. */
async function watchedOf(client: OfficialClient, server: string): Promise<string> {
  const { resources } = await client.listResources();
  const uris = resources.map(({ uri }) => uri).filter((uri) => decodeURIComponent(uri).endsWith("official://watched"));
  const uri = uris.find((candidate) => candidate.startsWith(`plugbay-resource://${server}/`)) ?? uris[0];
  if (uri === undefined) throw new Error("no server lists the resource");
  return uri;
}
