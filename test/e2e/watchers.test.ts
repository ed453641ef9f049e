import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Client } from "../../src/client/client.ts";
import { connect } from "../../src/connect/index.ts";
import { patiently } from "../support/patience.ts";
import { redisProgram, startRedis, type TestRedis } from "../support/redis.ts";

// What `onSubscribe` starts, in real processes on one Redis, with clients of both eras.

const uri = "weather://rome";

interface WatchingNode {
  readonly url: string;
  readonly child: ChildProcess;
  /** What its hooks did. */
  readonly did: string[];
}

async function startWatchingNode(redisUrl: string): Promise<WatchingNode> {
  const path = fileURLToPath(new URL("../fixtures/children/watching-server.ts", import.meta.url));
  const child = fork(path, [redisUrl], { execArgv: ["--import", import.meta.resolve("tsx")] });
  const did: string[] = [];
  child.on("message", (said: { readonly watch?: string; readonly uri?: string }) => {
    if (said.watch !== undefined) did.push(`${said.watch} ${said.uri}`);
  });
  const failed = once(child, "exit").then(() => Promise.reject(new Error("the process did not start")));
  failed.catch(() => {});
  const [{ port }] = (await Promise.race([once(child, "message"), failed])) as [{ port: number }];
  return { url: `http://127.0.0.1:${port}/mcp`, child, did };
}

interface Subscriber {
  readonly client: Client;
  readonly watch: ReturnType<Client["watch"]>;
}

/** Subscribes with clients of both eras in turn. */
function subscribe({ url }: WatchingNode, count: number): Promise<Subscriber[]> {
  return Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const client = await connect(url, { revision: index % 2 === 0 ? "2026-07-28" : "2025-11-25" });
      const watch = client.watch(uri);
      await watch.ready;
      return { client, watch };
    }),
  );
}

const leave = (subscribers: readonly Subscriber[]): Promise<unknown> =>
  Promise.all(
    subscribers.map(async ({ client, watch }) => {
      await watch[Symbol.asyncDispose]();
      await client.close();
    }),
  );

describe.skipIf(redisProgram === undefined)("a watcher for 100 subscribers on two processes", () => {
  let redis: TestRedis;
  let nodes: readonly WatchingNode[] = [];
  beforeAll(async () => {
    redis = await startRedis();
    nodes = await Promise.all([startWatchingNode(redis.url), startWatchingNode(redis.url)]);
  });
  afterAll(async () => {
    await Promise.all(
      nodes.map(async ({ child }) => {
        const gone = once(child, "exit");
        child.kill("SIGKILL");
        await gone;
      }),
    );
    await redis?.[Symbol.asyncDispose]();
  });

  it("runs once, tells all of them, moves with its subscribers, and stops after the last", async () => {
    const [one, two] = nodes as readonly [WatchingNode, WatchingNode];
    const eldest = await subscribe(one, 1);
    await vi.waitFor(() => expect(one.did).toEqual([`starts ${uri}`]), patiently);
    const [others, elsewhere] = await Promise.all([subscribe(one, 49), subscribe(two, 50)]);

    // Leaving a loop would end the subscription.
    const heard = [...eldest, ...others, ...elsewhere].map(({ watch }) => watch[Symbol.asyncIterator]().next());
    one.child.send({ changed: uri });
    expect(await Promise.all(heard)).toEqual(Array(100).fill({ done: false, value: expect.objectContaining({ uri }) }));
    expect([one.did, two.did]).toEqual([[`starts ${uri}`], []]);

    const staying = await subscribe(two, 1);
    await leave([...eldest, ...others]);
    await vi.waitFor(() => expect(one.did.slice(1)).toEqual([`stops ${uri}`]), patiently);
    await vi.waitFor(() => expect(two.did).toEqual([`starts ${uri}`]), patiently);
    await leave([...elsewhere, ...staying]);
    await vi.waitFor(() => expect(two.did.slice(1)).toEqual([`stops ${uri}`]), patiently);
    expect(one.did).toHaveLength(2);
  });

  it.each(["2026-07-28", "2025-11-25"] as const)(
    "goes on while a client of %s that signed in subscribes to more resources, one after the other",
    async (revision) => {
      const [{ url, did }] = nodes as readonly [WatchingNode, WatchingNode];
      did.length = 0;
      const client = await connect(url, { revision, headers: { "x-api-key": "ann" } });
      const uris = ["weather://rome", "weather://oslo", "weather://lima"];
      for (const each of uris) {
        await client.watch(each).ready;
        await vi.waitFor(() => expect(did.at(-1)).toBe(`starts ${each}`), patiently);
      }
      await client.close();
      await vi.waitFor(() => expect(did.filter((what) => what.startsWith("stops"))).toHaveLength(3), patiently);
      expect(did.slice(0, 3)).toEqual(uris.map((each) => `starts ${each}`));
      expect(did).toHaveLength(6);
    },
  );
});
