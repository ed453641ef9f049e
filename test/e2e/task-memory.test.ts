import { once } from "node:events";
import { expect, it } from "vitest";
import { type Client, connect } from "../../src/connect/index.ts";
import { as } from "../support/who.ts";
import { createCaller, expectAnswered, startBundled, whileCalling } from "./support/attack.ts";

// Results of tasks are kept for clients that come for them: so much of each principal, and no more.

const TASKS = 10_000;
const AT_ONCE = 16;
const LARGE = 100_000;
/**
 * V8 lets garbage lie until its heap is several times what is in use. With little room for it, what the process takes is what
 * is held.
 */
const heap = ["--max-old-space-size=80", "--max-semi-space-size=4"];

async function print(client: Client, count: number, size: number): Promise<string> {
  let left = count;
  let id: string | undefined;
  const work = async (): Promise<void> => {
    while (left > 0) id = (await client.tasks.start("print", { n: left--, size })).id;
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return id ?? "";
}

it("10,000 finished tasks of one principal with large results take less than 100 MB, and no result of another (S9)", async () => {
  await using attacked = await startBundled("task-memory.ts", [], heap);
  await using calm = await startBundled("task-memory.ts", [], heap);
  const rss = async (wish: "collect" | "report"): Promise<number> => {
    attacked.child.send(wish);
    const [report] = (await once(attacked.child, "message")) as [{ rss: number }];
    return report.rss;
  };
  const url = `http://127.0.0.1:${attacked.port}/mcp`;
  await using ann = await connect(url, { headers: as("ann") });
  await using eve = await connect(url, { headers: as("eve") });
  const anns = await print(ann, 20, LARGE);
  await print(eve, 1_000, 10);
  using one = createCaller(attacked.port, as("bob"));
  using other = createCaller(calm.port, as("bob"));
  for (let n = 0; n < 500; n++) await Promise.all([one.call(), other.call()]);
  const before = await rss("collect");
  let most = before;
  const { calls } = await whileCalling([one, other], async () => {
    for (let done = 0; done < TASKS; done += 500) {
      const eves = await print(eve, 500, LARGE);
      expect(await (await eve.tasks.resume(eves)).result()).toBeDefined();
      most = Math.max(most, await rss("report"));
    }
  });
  expect(await (await ann.tasks.resume(anns)).result()).toBeDefined();
  if (process.env.TELL) console.log(JSON.stringify({ ...calls, growth: Math.round((most - before) / 1e6) }));
  expectAnswered(calls);
  expect(most - before).toBeLessThan(100e6);
}, 300_000);
