import { describe, expect, it } from "vitest";
import { failureOf, faultLog, makeCall, type Parts, resultOf } from "../../test/support/direct.ts";
import { gate } from "../../test/support/served.ts";
import { type LogLevel, logLevels } from "../protocol/logging.ts";
import type { Context } from "./context.ts";
import { createServer, type Server } from "./server.ts";
import { tool } from "./tool.ts";

const info = { name: "shop", version: "1" };

type Run = (input: unknown, context: Context) => unknown;

const withTool = (run: Run, logging = true): Server =>
  createServer({ ...info, logging, onError: faultLog().onError, tools: { it: tool({ run }) } });

/** What a tool says while it runs, and how it ends. */
async function heard(run: Run, parts: Parts<"tools/call"> = {}) {
  const { call, notes } = makeCall("tools/call", { name: "it" }, parts);
  const outcome = await withTool(run)(call);
  return { notes, outcome };
}

const wantsProgress = true;

describe("progress", () => {
  it("C23: has total and message when they are given, and only then", async () => {
    const { notes } = await heard(
      async (_, { progress }) => {
        progress(0);
        progress(0.5, 2);
        progress(1, undefined, "half");
        progress(2, 2, "done");
      },
      { wantsProgress },
    );
    expect(notes).toStrictEqual([
      ["notifications/progress", { progress: 0 }],
      ["notifications/progress", { progress: 0.5, total: 2 }],
      ["notifications/progress", { progress: 1, message: "half" }],
      ["notifications/progress", { progress: 2, total: 2, message: "done" }],
    ]);
  });

  it("C21: is a no-op when the caller does not listen", async () => {
    const { notes, outcome } = await heard(async (_, { progress }) => progress(1, 2, "x"));
    expect(notes).toEqual([]);
    expect(outcome.kind).toBe("complete");
  });

  it("C22: only grows", async () => {
    const { notes } = await heard(
      async (_, { progress }) => {
        for (const value of [1, 1, 0, 3, 2, Number.NaN, 3, Number.POSITIVE_INFINITY, 4]) progress(value);
      },
      { wantsProgress },
    );
    expect(notes.map(([, { progress }]) => progress)).toEqual([1, 3, 4]);
  });

  it.each(["sync", "async"])("C22: none after the end of a handler that is %s", async (kind) => {
    const contexts: Context[] = [];
    const { notes } = await heard(
      (_, context) => {
        contexts.push(context);
        context.progress(1);
        return kind === "sync" ? "done" : Promise.resolve("done");
      },
      { wantsProgress, logLevel: "debug" },
    );
    contexts[0]?.progress(2);
    contexts[0]?.log("info", "late");
    expect(notes).toEqual([["notifications/progress", { progress: 1 }]]);
  });

  it("C22: none after a handler that threw", async () => {
    const contexts: Context[] = [];
    const { notes } = await heard(
      (_, context) => {
        contexts.push(context);
        throw new Error("x");
      },
      { wantsProgress },
    );
    contexts[0]?.progress(1);
    expect(notes).toEqual([]);
  });
});

describe("track", () => {
  const progressOf = (notes: readonly (readonly [string, object])[]) => notes.map(([, params]) => params);

  async function* later<T>(items: readonly T[]): AsyncGenerator<T> {
    for (const item of items) yield item;
  }

  it.each<[string, () => Iterable<string> | AsyncIterable<string>, object]>([
    ["an array", () => ["a", "b"], { total: 2 }],
    ["a set", () => new Set(["a", "b"]), { total: 2 }],
    ["an iterator", () => ["a", "b"].values(), {}],
    ["a list that tells its size another way", () => Object.assign(["a", "b"].values(), { size: () => 2 }), {}],
    ["an async iterable", () => later(["a", "b"]), {}],
  ])("hands out %s and reports each item when it is done", async (_, items, total) => {
    const order: string[] = [];
    const { notes } = await heard(
      async (_, { track }) => {
        for await (const item of track(items())) order.push(item);
      },
      { wantsProgress },
    );
    expect(order).toEqual(["a", "b"]);
    expect(progressOf(notes)).toStrictEqual([
      { progress: 1, ...total },
      { progress: 2, ...total },
    ]);
  });

  it("takes the total it is told", async () => {
    const { notes } = await heard(
      async (_, { track }) => {
        for await (const _item of track(later([1]), 7));
      },
      { wantsProgress },
    );
    expect(progressOf(notes)).toEqual([{ progress: 1, total: 7 }]);
  });

  it("reports an item after it, not before", async () => {
    const { call, notes } = makeCall("tools/call", { name: "it" }, { wantsProgress });
    const counts: number[] = [];
    await withTool(async (_, { track }) => {
      for await (const _item of track(["a", "b"])) counts.push(notes.length);
    })(call);
    expect(counts).toEqual([0, 1]);
  });

  it("stops when the call is aborted, and ends the source", async () => {
    const seen: number[] = [];
    let ended = false;
    async function* source() {
      try {
        for (let item = 1; ; item++) yield item;
      } finally {
        ended = true;
      }
    }
    const { call, abort } = makeCall("tools/call", { name: "it" });
    const outcome = withTool(async (_, { track }) => {
      for await (const item of track(source())) {
        seen.push(item);
        if (item === 2) abort.abort("enough");
      }
    })(call);
    expect(failureOf(await outcome).code).toBe("cancelled");
    expect(seen).toEqual([1, 2]);
    expect(ended).toBe(true);
  });
});

describe("log", () => {
  const say = (level: LogLevel, data: unknown = "x", logger?: string): Run => {
    return (_, { log }) => log(level, data, logger);
  };

  it("C74: passes what is at least as severe as the caller wants", async () => {
    for (const threshold of logLevels) {
      const sayAll: Run = (_, { log }) => {
        for (const level of logLevels) log(level, level);
      };
      const { notes } = await heard(sayAll, { logLevel: threshold });
      const expected = logLevels.slice(logLevels.indexOf(threshold));
      expect(notes.map(([, { data }]) => data)).toEqual(expected);
    }
  });

  it("C74: says nothing to a caller that wants nothing, which is no error", async () => {
    const { notes, outcome } = await heard(say("emergency"));
    expect(notes).toEqual([]);
    expect(outcome.kind).toBe("complete");
  });

  it("has the logger when there is one", async () => {
    const named = await heard(say("info", { a: 1 }, "db"), { logLevel: "info" });
    expect(named.notes).toStrictEqual([["notifications/message", { level: "info", logger: "db", data: { a: 1 } }]]);
    const bare = await heard((_, { log }) => log("info", undefined), { logLevel: "info" });
    expect(bare.notes).toStrictEqual([["notifications/message", { level: "info", data: null }]]);
  });

  it("C75: hides what looks like a credential, and changes nothing the handler has", async () => {
    const data = { user: "ann", apiKey: "k", inner: [{ "X-Auth_Token": "t" }] };
    const before = structuredClone(data);
    const { notes } = await heard(say("info", data), { logLevel: "debug" });
    expect(notes[0]?.[1].data).toEqual({
      user: "ann",
      apiKey: "[REDACTED]",
      inner: [{ "X-Auth_Token": "[REDACTED]" }],
    });
    expect(data).toEqual(before);
  });

  it("can say what JSON cannot", async () => {
    const cycle: { self?: object; error: Error } = { error: new TypeError("odd") };
    cycle.self = cycle;
    const { notes } = await heard(say("error", cycle), { logLevel: "debug" });
    const said = JSON.parse(JSON.stringify(notes[0]?.[1].data));
    expect(said).toEqual({ error: { name: "TypeError", message: "odd" }, self: "[CIRCULAR]" });
  });

  it("C46: throws when the server does not advertise logging, and says nothing", async () => {
    const errors: unknown[] = [];
    const server = withTool((_, { log }) => {
      try {
        log("info", "x");
      } catch (error) {
        errors.push(error);
      }
    }, false);
    const { call, notes } = makeCall("tools/call", { name: "it" }, { logLevel: "debug" });
    await server(call);
    expect(errors).toMatchObject([{ code: "unsupported", message: expect.stringContaining("logging: true") }]);
    expect(notes).toEqual([]);
  });
});

describe("the rest", () => {
  it("says who calls, and with which meta", async () => {
    const peer = { revision: "2025-06-18", capabilities: { roots: {} }, auth: { principal: "ann" } } as const;
    const meta = { "acme/trace": "1" };
    const seen: unknown[] = [];
    await heard((_, context) => void seen.push(context.client, context.meta), { peer, meta });
    expect(seen).toEqual([peer, meta]);
  });

  it("its members work when they are taken apart", async () => {
    const parts = { wantsProgress, logLevel: "debug", ask: async () => ({ roots: [{ uri: "file:///a" }] }) } as const;
    const { notes, outcome } = await heard(async (_, context) => {
      const { signal, progress, track, log, step, roots, client: peer, meta } = context;
      progress(1);
      log("info", "x");
      for await (const _item of track([1, 2]));
      const done = await step("s", () => "stepped");
      return { done, roots: await roots(), aborted: signal.aborted, revision: peer.revision, meta };
    }, parts);
    expect(notes.map(([method]) => method)).toEqual([
      "notifications/progress",
      "notifications/message",
      "notifications/progress",
    ]);
    expect(resultOf(outcome)).toMatchObject({
      structuredContent: { done: "stepped", roots: [{ uri: "file:///a" }], aborted: false, revision: "2026-07-28" },
    });
  });

  it("two calls at once know nothing of each other", async () => {
    const hold = gate();
    const server = withTool(async (_, { progress, meta }) => {
      progress(Number(meta.n));
      await hold.opened;
      progress(Number(meta.n) + 1);
    });
    const first = makeCall("tools/call", { name: "it" }, { wantsProgress, meta: { n: 10 } });
    const second = makeCall("tools/call", { name: "it" }, { wantsProgress, meta: { n: 1 } });
    const outcomes = [server(first.call), server(second.call)];
    hold.open();
    await Promise.all(outcomes);
    expect(first.notes.map(([, { progress }]) => progress)).toEqual([10, 11]);
    expect(second.notes.map(([, { progress }]) => progress)).toEqual([1, 2]);
  });
});
