// A long job that outlives the process that runs it. Its steps are kept in a
// file, so that whoever goes on with it repeats none of them. Where Node has no
// SQLite (before 22.13) it is kept in memory, and lives as long as its process.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { connect } from "plugbay/client";
import { createServer, tool } from "plugbay/server";
import { openStore, StoreError } from "plugbay/store";

const folder = await mkdtemp(join(tmpdir(), "plugbay-task-"));
const store = await openStore(`sqlite:${join(folder, "bakery.db")}`).catch((error) => {
  if (error instanceof StoreError && error.code === "unsupported") return openStore("memory:");
  throw error;
});

const baked = []; // what was really done, by whom

const bakery = (place) =>
  createServer({
    name: "bakery",
    version: "1.0.0",
    store,
    tasks: { pollIntervalMs: 100 },
    tools: {
      bake: tool({
        task: "required",
        input: { type: "object", properties: { cakes: { type: "integer" } }, required: ["cakes"] },
        output: { type: "object", properties: { boxes: { type: "array", items: { type: "string" } } } },
        run: async ({ cakes }, ctx) => {
          const boxes = [];
          for (let cake = 1; cake <= cakes; cake++) {
            ctx.signal.throwIfAborted(); // the task was cancelled, or another process is to go on
            const box = await ctx.step(`cake ${cake}`, async () => {
              await wait(50);
              baked.push(`cake ${cake} at ${place}`);
              ctx.progress(cake, cakes, `${cake} of ${cakes} cakes`); // in the step: what is not done again is not told again
              return `cake ${cake} of ${place}`;
            });
            boxes.push(box);
          }
          return { boxes };
        },
      }),
    },
  });

const servers = [bakery("the old bakery")];
try {
  const client = await connect(servers[0]);
  const { id } = await client.tasks.start("bake", { cakes: 4 });
  while (baked.length < 2) await wait(10);
  await client.close(); // ends no task
  if (store.durable) await servers[0].close(); // leaves it to others; after a kill they wait until its lease has run out

  servers.push(bakery("the new bakery")); // in real life: in another process
  const other = await connect(servers[1]);
  const handle = await other.tasks.resume(id);
  for await (const { status, statusMessage } of handle) console.log(status, statusMessage ?? "");
  const { structuredContent } = await handle.result();
  console.log(structuredContent.boxes);
  assert.equal(structuredContent.boxes.length, 4);
  assert.equal(baked.length, 4); // every cake once
  await other.close();
} finally {
  await Promise.all(servers.map((server) => server.close()));
  await store.close();
  await rm(folder, { recursive: true });
}
