import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { StreamableHTTPClientTransport as V2Transport } from "@modelcontextprotocol/client";
import { StreamableHTTPClientTransport as V1Transport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createHome } from "../cli/support/cli.ts";
import { redisProgram, startRedis, type TestRedis } from "../support/redis.ts";
import { type RoundRobin, startRoundRobin } from "../support/round-robin.ts";
import { createLog } from "./support/events.ts";
import { type GatewayNode, startGatewayNode } from "./support/gateway-nodes.ts";
import { openV1 } from "./support/official-v1.ts";
import { openV2 } from "./support/official-v2.ts";
import { script } from "./support/places.ts";
import { type Serving, serve } from "./support/serving.ts";

// Gateways that share one Redis, and something in front that gives each request to the next of them.

const home = createHome();
const stateKey = "3cEDg27oIL_V-ILeoe_VehUlnEJoLp6vI9k6eSlNG8E";

const startGateway = (redis: TestRedis, ...args: readonly string[]): Promise<GatewayNode> =>
  startGatewayNode({ home, args: ["--store", redis.url, ...args], env: { PLUGBAY_STATE_KEYS: stateKey } });

/** The processes that a process has started. */
function childrenOf({ pid }: ChildProcess): readonly number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  return text === "" ? [] : text.split(" ").map(Number);
}

/** How many programs of servers a process runs. */
function programsOf(child: ChildProcess): number {
  const commands = childrenOf(child).map((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8"));
  return commands.filter((command) => command.includes("official-v1-stdio-server")).length;
}

/** A request that a worker was given as it was killed is lost; the session is not. */
async function patientlyCall(call: () => Promise<string>): Promise<void> {
  await expect.poll(() => call().catch(() => "lost"), { timeout: 30_000 }).toBe("Hello, Ada!");
}

let redis: TestRedis;
let v1: Serving;
let v2: Serving;
let front: RoundRobin;

async function openAll(): Promise<void> {
  redis = await startRedis();
  [v1, v2] = await Promise.all([
    serve(script("test/fixtures/official-v1-server.mjs")),
    serve(script("test/fixtures/official-v2-server.mjs", "--port", "0")),
  ]);
  const servers = {
    v1: { url: `${v1.url}/mcp` },
    v2: { url: `${v2.url}/mcp` },
    stdio: script("test/fixtures/official-v1-stdio-server.mjs"),
  };
  home.write("mcp.json", { mcpServers: servers });
  front = await startRoundRobin([]);
}

async function closeAll(): Promise<void> {
  await front[Symbol.asyncDispose]();
  await redis[Symbol.asyncDispose]();
}

const modern = () => openV2(new V2Transport(new URL(front.url)), "auto");
const legacy = () => openV1(new V1Transport(new URL(front.url)) as never);

describe.skipIf(redisProgram === undefined)("gateways on one Redis", () => {
  beforeAll(openAll);
  afterAll(closeAll);

  describe("one of which is killed between question and answer", () => {
    let nodes: readonly [GatewayNode, GatewayNode];

    beforeEach(async () => {
      nodes = [await startGateway(redis), await startGateway(redis)];
      front.ports = nodes.map(({ port }) => port);
    });

    it.each(["v1", "v2"])("the other goes on with the call of a client of 2026-07-28 to %s", async (back) => {
      const session = await modern();
      front.ports = [nodes[0].port];
      session.fill = async () => {
        await nodes[0].kill();
        front.ports = [nodes[1].port];
        return { action: "accept", content: { name: "Ada" } };
      };
      expect(await session.call(`${back}__greet`)).toBe("Hello, Ada!");
      await session.client.close();
      await nodes[1].kill();
    });

    it.each(["v1", "v2"])("the session of a client of 2025-11-25 goes on with the next call to %s", async (back) => {
      const session = await legacy();
      front.ports = [nodes[0].port];
      const asked = createLog<boolean>();
      session.fill = async () => {
        asked.add(true);
        return new Promise(() => {});
      };
      const lost = session.call(`${back}__greet`);
      lost.catch(() => {});
      await asked.count(1);
      await nodes[0].kill();
      front.ports = [nodes[1].port];
      session.fill = () => ({ action: "accept", content: { name: "Ada" } });
      expect(await session.call(`${back}__greet`)).toBe("Hello, Ada!");
      await session.client.close();
      await nodes[1].kill();
    });
  });

  it("answers a session by whichever process a request reaches", async () => {
    const nodes = [await startGateway(redis), await startGateway(redis), await startGateway(redis)];
    front.ports = nodes.map(({ port }) => port);
    for (const open of [legacy, modern]) {
      const session = await open();
      session.fill = () => ({ action: "accept", content: { name: "Ada" } });
      for (let n = 0; n < 6; n++) expect(await session.call("v1__greet")).toBe("Hello, Ada!");
      for (let n = 0; n < 6; n++) expect(await session.call("v2__greet")).toBe("Hello, Ada!");
      await session.client.close();
    }
    await Promise.all(nodes.map((node) => node.kill()));
  });

  it("starts one program for a session, and another one when the process that has it is killed", async () => {
    const nodes = [await startGateway(redis), await startGateway(redis)];
    front.ports = nodes.map(({ port }) => port);
    const session = await legacy();
    session.fill = () => ({ action: "accept", content: { name: "Ada" } });
    const programs = () => nodes.map(({ child }) => programsOf(child));
    for (let n = 0; n < 6; n++) expect(await session.call("stdio__greet")).toBe("Hello, Ada!");
    // Each process has the one that all callers share; one of them has that of the session.
    expect(programs().sort()).toEqual([1, 2]);
    const owner = nodes[programs().indexOf(2)];
    await owner?.kill();
    front.ports = nodes.filter((node) => node !== owner).map(({ port }) => port);
    await patientlyCall(() => session.call("stdio__greet"));
    expect(nodes.filter((node) => node !== owner).map(({ child }) => programsOf(child))).toEqual([2]);
    await session.client.close();
    await Promise.all(nodes.map((node) => node.kill()));
  });

  it("runs workers at one port, and starts one again that was killed", async () => {
    const { child, port } = await startGateway(redis, "--workers", "2");
    front.ports = [port];
    const session = await legacy();
    session.fill = () => ({ action: "accept", content: { name: "Ada" } });
    for (let n = 0; n < 8; n++) expect(await session.call("v2__greet")).toBe("Hello, Ada!");
    const [first = 0, ...others] = childrenOf(child);
    expect(others).toHaveLength(1);
    process.kill(first, "SIGKILL");
    await expect.poll(() => childrenOf(child).filter((pid) => pid !== first).length, { timeout: 30_000 }).toBe(2);
    await patientlyCall(() => session.call("v2__greet"));
    await session.client.close();
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    expect(await ended).toEqual([0, null]);
  });
});
