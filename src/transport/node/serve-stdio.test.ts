import { once } from "node:events";
import { PassThrough } from "node:stream";
import { expect, it, vi } from "vitest";
import type { ServerEvent } from "../../protocol/server-event.ts";
import { createServer } from "../../server/server.ts";
import { tool } from "../../server/tool.ts";
import { type ServeStdioOptions, serveStdio } from "./serve-stdio.ts";

const meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "c", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

/** A server that is asked over streams, as if they were those of its process. */
async function served(options: ServeStdioOptions, onEvent?: (event: ServerEvent) => void) {
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const server = createServer({
    name: "shop",
    version: "1",
    onEvent,
    tools: {
      where: tool({ run: (_, { platform, http }) => JSON.stringify([platform ?? null, http ?? null]) }),
      twice: tool({
        run: (_, context) => {
          const [first, second] = [context.platform, context.platform];
          return String(first === second);
        },
      }),
      wait: tool({ run: () => released }),
    },
  });
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  const handle = await serveStdio(server, { ...options, ...streams, exit: false, signals: false });
  const call = (id: number, name: string): void => {
    const params = { name, arguments: {}, _meta: meta };
    streams.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params })}\n`);
  };
  const answer = async (): Promise<string> => String((await once(streams.stdout, "data"))[0]);
  return { call, answer, release, close: () => handle.close() };
}

it("gives handlers what platform returns, once for a call, and no request of HTTP", async () => {
  const platform = vi.fn(() => ({ region: "eu" }));
  const { call, answer, close } = await served({ platform });
  call(1, "where");
  expect(await answer()).toContain(JSON.stringify(JSON.stringify([{ region: "eu" }, null])).slice(1, -1));
  expect(platform).toHaveBeenCalledTimes(1);
  call(2, "twice");
  expect(await answer()).toContain('"true"');
  expect(platform).toHaveBeenCalledTimes(2);
  await close();
});

it.each(["the option", "that of the server"])("tells of requests that a budget has no room for: %s", async (which) => {
  const events: ServerEvent[] = [];
  const onEvent = (event: ServerEvent): void => void events.push(event);
  const isOption = which === "the option";
  const budgets = { connection: { maxRunningCalls: 1, maxQueuedCalls: 1, maxOpenRequests: 3 } };
  const { call, answer, release, close } = await served(
    { budgets, ...(isOption && { onEvent }) },
    isOption ? undefined : onEvent,
  );
  for (let id = 1; id <= 2; id++) call(id, "wait");
  call(3, "where");
  expect(await answer()).toContain('"limit":"maxQueuedCalls"');
  expect(events).toEqual([{ kind: "refused", time: expect.any(String), code: "limit-reached" }]);
  release();
  await close();
});

it("goes on when onEvent throws", async () => {
  const report = vi.spyOn(console, "error").mockImplementation(() => {});
  const onEvent = (): void => {
    throw new Error("the disk is full");
  };
  const budgets = { connection: { maxOpenRequests: 1 } };
  const { call, answer, release, close } = await served({ budgets, onEvent });
  call(1, "wait");
  call(2, "where");
  expect(await answer()).toContain('"limit":"maxOpenRequests"');
  expect(report).toHaveBeenCalledWith("plugbay: onEvent threw:", expect.any(Error));
  release();
  await close();
  report.mockRestore();
});
