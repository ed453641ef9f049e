import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { connect } from "../../src/connect/index.ts";
import { patiently } from "../support/patience.ts";
import { redisProgram, startRedis, type TestRedis } from "../support/redis.ts";

// Questions from outside of a handler, in real processes on one Redis, to clients of both eras.

interface AskingNode {
  readonly url: string;
  readonly child: ChildProcess;
  readonly said: { readonly began?: string; readonly answer?: unknown }[];
}

async function startNode(redisUrl: string): Promise<AskingNode> {
  const path = fileURLToPath(new URL("../fixtures/children/asking-node.ts", import.meta.url));
  const child = fork(path, [redisUrl], { execArgv: ["--import", import.meta.resolve("tsx")] });
  const failed = once(child, "exit").then(() => Promise.reject(new Error("the process did not start")));
  failed.catch(() => {});
  const [{ port }] = (await Promise.race([once(child, "message"), failed])) as [{ port: number }];
  const said: AskingNode["said"] = [];
  child.on("message", (news: AskingNode["said"][number]) => void said.push(news));
  return { url: `http://127.0.0.1:${port}/mcp`, child, said };
}

async function end({ child }: AskingNode): Promise<void> {
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}

describe.skipIf(redisProgram === undefined)("a question from outside of a handler, with processes on Redis", () => {
  let redis: TestRedis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(async () => {
    await redis?.[Symbol.asyncDispose]();
  });

  it.each(["2026-07-28", "2025-11-25"] as const)(
    "reaches a client of %s at another process, and its answer the one that asked, or its successor",
    async (revision) => {
      const [one, two] = await Promise.all([startNode(redis.url), startNode(redis.url)]);
      const asked: string[] = [];
      let answer = (_: { readonly ok: boolean }): void => {};
      const client = await connect(one.url, {
        revision,
        onElicit: ({ message }) => {
          asked.push(message);
          if (message === "Express?") return { ok: true };
          return new Promise((resolve) => {
            answer = resolve;
          });
        },
      });
      await client.listTools();
      const paying = client.callTool("pay");
      await vi.waitFor(() => expect(one.said).toEqual([{ began: expect.any(String) }]), patiently);
      const id = one.said[0]?.began ?? "";

      two.child.send({ ask: "Express?", id });
      await vi.waitFor(() => expect(two.said).toEqual([{ answer: { ok: true } }]), patiently);

      // Who asked is killed before the answer; who asks again with the same key gets it.
      two.child.send({ ask: "Insured?", id, key: "insured" });
      await vi.waitFor(() => expect(asked).toEqual(["Express?", "Insured?"]), patiently);
      await end(two);
      answer({ ok: false });
      const three = await startNode(redis.url);
      three.child.send({ ask: "Insured?", id, key: "insured" });
      await vi.waitFor(() => expect(three.said).toEqual([{ answer: { ok: false } }]), patiently);
      expect(asked).toEqual(["Express?", "Insured?"]);

      three.child.send({ finish: id });
      expect((await paying).content).toEqual([{ type: "text", text: "paid" }]);
      await client.close();
      await Promise.all([end(one), end(three)]);
    },
  );
});
