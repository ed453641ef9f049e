import { expect, it } from "vitest";
import { createCall } from "../protocol/service.ts";
import { LazyAbort } from "../std/lazy-abort.ts";
import { createServer } from "./server.ts";
import { tool } from "./tool.ts";

it("does not pile up progress for a caller that is slow to read", async () => {
  const told: unknown[] = [];
  let catchUp = (): void => {};
  const server = createServer({
    name: "shop",
    version: "1",
    tools: {
      walk: tool({
        run: async (_input, { progress }) => {
          for (let step = 1; step <= 3; step++) progress(step);
          catchUp();
          await progress(4);
          progress(5);
          return "there";
        },
      }),
    },
  });
  await server(
    createCall({
      method: "tools/call",
      params: { name: "walk" },
      peer: { revision: "2026-07-28", capabilities: {} },
      abort: new LazyAbort(),
      wantsProgress: true,
      notify(_method, { progress }) {
        told.push(progress);
        return new Promise((resolve) => {
          catchUp = resolve;
        });
      },
    }),
  );
  expect(told).toEqual([1, 5]);
});
