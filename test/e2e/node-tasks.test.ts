import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { connect } from "../../src/connect/index.ts";
import { type ServerNodes, startNodes } from "../support/nodes.ts";
import { patiently } from "../support/patience.ts";
import { redisProgram, startRedis, type TestRedis } from "../support/redis.ts";

// Tasks that three processes serve on one Redis. Whichever is asked, knows them
// all; when one dies, the others go on with what it ran.

const COUNT = 9;

describe.skipIf(redisProgram === undefined)("tasks that three processes serve", () => {
  let redis: TestRedis;
  let served: ServerNodes;

  beforeAll(async () => {
    redis = await startRedis();
    served = await startNodes(redis.url);
  });
  afterAll(async () => {
    await served?.[Symbol.asyncDispose]();
    await redis?.[Symbol.asyncDispose]();
  });

  const names = (prefix: string) => Array.from({ length: COUNT }, (_, n) => `${prefix} ${n}`);
  const steps = (prefix: string): readonly string[] =>
    served.nodes
      .flatMap(({ said }) => said.items.flatMap(({ step }) => step ?? []))
      .filter((step) => step.startsWith(prefix))
      .toSorted();
  const allSteps = (prefix: string, ...keys: readonly string[]) =>
    names(prefix)
      .flatMap((name) => keys.map((key) => `${name} ${key}`))
      .toSorted();

  it.each(["2026-07-28", "2025-11-25"] as const)("are known to all of them, %s", async (revision) => {
    const onElicit = () => ({ reply: "nobody asks before the result is waited for" });
    await using client = await connect(served.front.url, { revision, onElicit });
    const handle = await client.tasks.start("job", { text: `seen ${revision}` });
    await using other = await connect(served.front.url, { revision });
    const seen = await other.tasks.resume(handle.id ?? "");
    for (let n = 0; n < 6; n++) expect((await seen.status()).taskId).toBe(handle.id);
    await vi.waitFor(async () => expect((await seen.status()).status).toBe("input_required"), patiently);
    await seen.cancel();
    for (let n = 0; n < 6; n++) expect((await handle.status()).status).toBe("cancelled");
  });

  it("go on when Redis and one of them are killed, and do no step twice", async () => {
    const onElicit = () => ({ reply: "yes" });
    await using modern = await connect(served.front.url, { revision: "2026-07-28", onElicit });
    await using legacy = await connect(served.front.url, { revision: "2025-11-25", onElicit });
    const call = (client: typeof modern, prefix: string) =>
      names(prefix).map((text) => client.tools.job?.({ text }, { timeoutMs: 0, maxTotalMs: 0 }));
    const results = Promise.all([...call(modern, "modern"), ...call(legacy, "legacy")]);
    for (const prefix of ["modern", "legacy"]) {
      await vi.waitFor(() => expect(steps(prefix)).toEqual(allSteps(prefix, "first", "second")), patiently);
    }
    await redis.stop("SIGKILL");
    await redis.start();
    const [one, two, three] = served.nodes;
    served.front.ports = [one.port, three.port];
    await two.kill();
    one.release();
    three.release();
    const texts = (await results).map(String);
    for (const [at, name] of [...names("modern"), ...names("legacy")].entries()) {
      expect(texts[at]).toMatch(new RegExp(`^${name}: yes, begun at (one|two|three)$`));
    }
    expect(texts.some((text) => text.endsWith("two"))).toBe(true);
    for (const prefix of ["modern", "legacy"]) {
      expect(steps(prefix)).toEqual(allSteps(prefix, "first", "second", "third"));
    }
  }, 180_000);
});

describe.skipIf(redisProgram === undefined)("tasks whose Redis is away for longer than it is waited for", () => {
  it.each(["2026-07-28", "2025-11-25"] as const)("are waited for all the same, %s", async (revision) => {
    await using redis = await startRedis();
    await using served = await startNodes(redis.url, { waitMs: 3_000 });
    await using client = await connect(served.front.url, { revision, onElicit: () => ({ reply: "yes" }) });
    const call = client.tools.job?.({ text: "patient" }, { timeoutMs: 0, maxTotalMs: 0 });
    const did = () => served.nodes.flatMap(({ said }) => said.items.flatMap(({ step }) => step ?? []));
    await vi.waitFor(() => expect(did()).toHaveLength(2), patiently);
    await redis.stop("SIGKILL");
    await using other = await connect(served.front.url, { revision: "2026-07-28" });
    await expect(other.tasks.start("job", { text: "late" })).rejects.toMatchObject({
      code: "internal",
      message: "tasks cannot be reached now",
      data: { retryAfterMs: 1_000 },
    });
    await redis.start();
    for (const node of served.nodes) node.release();
    expect(await call).toMatch(/^patient: yes, begun at/);
    expect(did()).toEqual(["patient first", "patient second", "patient third"]);
  });
});
