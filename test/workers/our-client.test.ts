import { describe, expect, it } from "vitest";
import { call, openTalk, talkWith } from "../e2e/support/talk.ts";
import { startWorker } from "./support/worker.ts";

// Our client against our server in workerd, in both eras.

const worker = await startWorker("test/fixtures/workers/probe.mjs", { compatibilityFlags: ["enable_request_signal"] });
const accepting = { onElicit: () => ({ ok: true }) };

const ways = [
  { revision: "2026-07-28", path: "/mcp" },
  { revision: "2025-11-25", path: "/mcp" },
  { revision: "2025-03-26", path: "/mcp" },
  { revision: "2024-11-05", path: "/sse" },
] as const;

describe.each(ways)("a Worker and our client of $revision at $path", ({ revision, path }) => {
  const open = (options = {}) => openTalk(`${worker.url}${path}`, { revision, ...accepting, ...options });

  it("gives each of many calls its own deadline (I2)", async () => {
    await using talk = await open();
    const { client } = talk;
    const names = ["hang_500", "hang_200", "hang_500", "hang_200"];
    const hanging = Promise.allSettled(names.map((name) => client.callTool(name)));
    // Those whose timers would be shared come and go meanwhile.
    const passing = [50, 150, 300].map((ms) => call(client, "wait", { ms }));
    expect(await Promise.all(passing)).toEqual([50, 150, 300].map((ms) => `waited ${ms} ms`));
    expect(await hanging).toEqual(
      names.map((name) => ({
        status: "rejected",
        reason: expect.objectContaining({ message: expect.stringContaining(`within ${name.slice(5)} ms`) }),
      })),
    );
  });

  it("asks in several rounds, and does every step once (I2, T8)", async () => {
    if (revision < "2025-06-18") return; // Clients can be asked forms since.
    await using talk = await open();
    const ids = Array.from({ length: 10 }, () => crypto.randomUUID());
    const asked = ids.map((id) => talk.client.callTool("rounds", { id, rounds: 4 }));
    for (const { structuredContent } of await Promise.all(asked)) expect(structuredContent).toEqual({ steps: 4 });
  });

  it("tells every client that watches, whichever request changes something (I2)", async () => {
    await using one = await open();
    await using other = await open();
    await using first = one.client.watch("probe://thing");
    await using second = other.client.watch("probe://thing");
    await Promise.all([first.ready, second.ready]);
    const watching = [first, second].map((watched) => watched[Symbol.asyncIterator]());
    for (const { client } of [one, other, one]) {
      await call(client, "touch");
      const heard = await Promise.all(watching.map((watched) => watched.next()));
      expect(heard).toEqual(Array(2).fill({ done: false, value: { uri: "probe://thing" } }));
    }
  });
});

describe("a Worker without sessions", () => {
  const talk = talkWith(`${worker.url}/stateless`, { revision: "2025-11-25" });

  it("answers clients of older revisions, each request on its own (I2)", async () => {
    expect(await call(talk().client, "wait", { ms: 1 })).toBe("waited 1 ms");
  });
});
