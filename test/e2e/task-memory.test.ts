import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { type Client, connect } from "../../src/connect/index.ts";
import { as } from "../support/who.ts";

// Results of tasks are kept for clients that come for them: so much of each principal, and no more.

const TASKS = 10_000;
const AT_ONCE = 16;
/** V8 lets garbage lie as long as there is room. With little of it, what the process takes is what is held. */
const heap = ["--max-old-space-size=80", "--max-semi-space-size=4"];

async function startServer() {
  const path = fileURLToPath(new URL("../fixtures/children/task-memory.ts", import.meta.url));
  const child = fork(path, [], { execArgv: [...heap, "--import", import.meta.resolve("tsx")] });
  const [{ port }] = (await once(child, "message")) as [{ port: number }];
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    async rss(): Promise<number> {
      child.send("how much?");
      const [{ rss }] = (await once(child, "message")) as [{ rss: number }];
      return rss;
    },
    async [Symbol.asyncDispose]() {
      child.disconnect();
      await once(child, "exit");
    },
  };
}

async function print(client: Client, from: number, through: number): Promise<string> {
  let next = from;
  let id: string | undefined;
  const work = async (): Promise<void> => {
    while (next < through) id = (await client.tasks.start("print", { n: next++ })).id;
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return id ?? "";
}

it("10,000 finished tasks of one principal with large results take less than 100 MB, and no result of another (S9)", async () => {
  await using server = await startServer();
  await using ann = await connect(server.url, { headers: as("ann") });
  await using eve = await connect(server.url, { headers: as("eve") });
  const anns = await print(ann, 0, 20);
  const before = await server.rss();
  let most = before;
  for (let done = 20; done < TASKS; done += 500) {
    const eves = await print(eve, done, done + 500);
    expect(await (await eve.tasks.resume(eves)).result()).toBeDefined();
    most = Math.max(most, await server.rss());
  }
  expect(await (await ann.tasks.resume(anns)).result()).toBeDefined();
  expect(most - before).toBeLessThan(100e6);
}, 300_000);
