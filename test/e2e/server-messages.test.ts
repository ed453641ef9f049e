import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { connect } from "../../src/connect/index.ts";
import type { LogLevel } from "../../src/protocol/logging.ts";
import { patiently } from "../support/patience.ts";
import { redisProgram, startRedis, type TestRedis } from "../support/redis.ts";

// What a server says outside of calls, in real processes on one Redis.

interface SpeakingNode {
  readonly url: string;
  readonly child: ChildProcess;
}

async function startNode(redisUrl: string): Promise<SpeakingNode> {
  const path = fileURLToPath(new URL("../fixtures/children/speaking-server.ts", import.meta.url));
  const child = fork(path, [redisUrl], { execArgv: ["--import", import.meta.resolve("tsx")] });
  const failed = once(child, "exit").then(() => Promise.reject(new Error("the process did not start")));
  failed.catch(() => {});
  const [{ port }] = (await Promise.race([once(child, "message"), failed])) as [{ port: number }];
  return { url: `http://127.0.0.1:${port}/mcp`, child };
}

const clients: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

/** A client with a session, and what it hears. */
async function listener({ url }: SpeakingNode, user: string, logLevel: LogLevel = "info") {
  const heard: unknown[] = [];
  const client = await connect(url, {
    revision: "2025-11-25",
    headers: { "x-user": user },
    logLevel,
    onLog: ({ data }) => void heard.push(data),
    onNotification: ({ method, params }) => void heard.push([method, params.door]),
  });
  clients.push(client);
  const { content } = await client.callTool("session");
  const session = content[0]?.type === "text" ? content[0].text : "";
  return { heard, session };
}

describe.skipIf(redisProgram === undefined)("messages outside of calls, with two processes on Redis", () => {
  let redis: TestRedis;
  let nodes: readonly SpeakingNode[] = [];
  beforeAll(async () => {
    redis = await startRedis();
    nodes = await Promise.all([startNode(redis.url), startNode(redis.url)]);
  });
  afterAll(async () => {
    for (const { child } of nodes) child.kill("SIGKILL");
    await redis?.[Symbol.asyncDispose]();
  });

  it("reach a principal wherever its clients are, one session, or everybody, and nobody else", async () => {
    const [one, two] = nodes as readonly [SpeakingNode, SpeakingNode];
    const [annHere, annThere, bob] = [
      await listener(one, "ann"),
      await listener(two, "ann"),
      await listener(two, "bob"),
    ];
    const all = [annHere, annThere, bob];
    one.child.send({ log: "warning", data: "for ann", to: { principal: "ann" } });
    one.child.send({ log: "warning", data: "for one session", to: { session: annThere.session } });
    two.child.send({ notify: "com.example/door", params: { door: "bob's" }, to: { principal: "bob" } });
    // Messages of one process come in their order: who has heard the last one has heard all that it was to hear.
    one.child.send({ log: "error", data: "one is done" });
    two.child.send({ log: "error", data: "two is done" });
    await vi.waitFor(() => {
      for (const { heard } of all) expect(heard).toEqual(expect.arrayContaining(["one is done", "two is done"]));
    }, patiently);
    const rest = all.map(({ heard }) => heard.filter((said) => !String(said).endsWith("done")));
    expect(rest).toEqual([["for ann"], ["for ann", "for one session"], [["com.example/door", "bob's"]]]);
  });

  it("of a level that a client does not want are not sent to it", async () => {
    const [one, two] = nodes as readonly [SpeakingNode, SpeakingNode];
    const [calm, curious] = [await listener(two, "ann", "error"), await listener(one, "ann", "debug")];
    one.child.send({ log: "debug", data: "detail" });
    one.child.send({ log: "error", data: "broken" });
    await vi.waitFor(() => expect(calm.heard).toEqual(["broken"]), patiently);
    await vi.waitFor(() => expect(curious.heard).toEqual(["detail", "broken"]), patiently);
  });
});
