import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../json/json.ts";
import type { Method } from "../protocol/methods.ts";
import { type CallSource, createCall, type Outcome, type Service } from "../protocol/service.ts";
import { LazyAbort } from "../std/lazy-abort.ts";
import { createManualClock } from "../testing/clock.ts";
import { createResponseCache } from "./response-cache.ts";
import type { ClientWarning } from "./warning.ts";

const warn = (warning: ClientWarning): void => expect.fail(warning.message);

const peer = { revision: "2026-07-28", capabilities: {} } as const;

function callOf(method: Method, params: JsonObject = {}, changes: Partial<CallSource> = {}) {
  return createCall({ method, params, peer, abort: new LazyAbort(), notify: () => undefined, ...changes });
}

function setUp(cacheable: JsonObject, maxValues?: number) {
  const clock = createManualClock();
  const hints: Record<string, Json | undefined> = { ...cacheable };
  let count = 0;
  const service = async () => ({ kind: "complete", result: { ...hints, count: ++count } });
  const cache = createResponseCache({ service: service as unknown as Service, clock, warn, maxValues });
  const countOf = async (outcome: Promise<Outcome>) => {
    const { result } = (await outcome) as unknown as { readonly result: { readonly count: number } };
    return result.count;
  };
  const read = (method: Method, params?: JsonObject, changes?: Partial<CallSource>) =>
    countOf(cache.reading(callOf(method, params, changes)));
  const refresh = (method: Method, params?: JsonObject) => countOf(cache.refreshing(callOf(method, params)));
  return { cache, clock, hints, read, refresh };
}

describe("results in the memory of a client", () => {
  it("keeps a result while it is fresh, and not a moment longer", async () => {
    const { clock, read } = setUp({ ttlMs: 100 });
    expect(await read("tools/list")).toBe(1);
    clock.advance(99);
    expect(await read("tools/list")).toBe(1);
    clock.advance(1);
    expect(await read("tools/list")).toBe(2);
  });

  it.each([[{}], [{ ttlMs: 0 }], [{ ttlMs: -5 }], [{ ttlMs: "100" }]])("keeps nothing of %j", async (cacheable) => {
    const { read } = setUp(cacheable);
    expect([await read("tools/list"), await read("tools/list")]).toEqual([1, 2]);
  });

  it("tells methods, uris and cursors apart; no cursor is not an empty one", async () => {
    const { read } = setUp({ ttlMs: 100 });
    const asked: [Method, JsonObject][] = [
      ["tools/list", {}],
      ["tools/list", { cursor: "" }],
      ["tools/list", { cursor: "a" }],
      ["prompts/list", { cursor: "a" }],
      ["resources/read", { uri: "a" }],
      ["resources/read", { uri: "b" }],
    ];
    for (const round of [1, 2]) {
      for (const [index, [method, params]] of asked.entries()) {
        expect(await read(method, params), `round ${round}`).toBe(index + 1);
      }
    }
  });

  it("keeps no result of a call that answers questions, nor of params it does not know", async () => {
    const { read } = setUp({ ttlMs: 100 });
    expect(await read("resources/read", { uri: "a" }, { state: "s" })).toBe(1);
    expect(await read("resources/read", { uri: "a" }, { answers: {} })).toBe(2);
    expect(await read("resources/read", { uri: "a", version: 2 })).toBe(3);
    expect(await read("resources/read", { uri: "a" })).toBe(4);
  });

  it("asks again when told to, and keeps what it gets", async () => {
    const { read, refresh } = setUp({ ttlMs: 100 });
    expect([await read("tools/list"), await refresh("tools/list"), await read("tools/list")]).toEqual([1, 2, 2]);
  });

  it.each([
    [{ kind: "tools" }, ["tools/list"]],
    [{ kind: "prompts" }, ["prompts/list"]],
    [{ kind: "resources" }, ["resources/list", "resources/templates/list"]],
    [{ kind: "resource", uri: "a" }, ["resources/read"]],
  ] as const)("drops on %j only %j", async (change, dropped) => {
    const { cache, read } = setUp({ ttlMs: 100 });
    const methods = [
      "server/discover",
      "tools/list",
      "prompts/list",
      "resources/list",
      "resources/templates/list",
      "resources/read",
    ] as const;
    const readAll = async () => {
      const counts = new Map<Method, number>();
      for (const method of methods)
        counts.set(method, await read(method, method === "resources/read" ? { uri: "a" } : {}));
      return counts;
    };
    const before = await readAll();
    cache.invalidate(change);
    const after = await readAll();
    expect(methods.filter((method) => before.get(method) !== after.get(method))).toEqual(dropped);
  });

  it("does not keep what was asked before a change and came after it", async () => {
    const clock = createManualClock();
    const answers: ((outcome: object) => void)[] = [];
    const service = () => new Promise((resolve) => answers.push(resolve));
    const cache = createResponseCache({ service: service as Service, clock, warn });
    const first = cache.reading(callOf("tools/list"));
    cache.invalidate({ kind: "tools" });
    answers[0]?.({ kind: "complete", result: { ttlMs: 100, tools: [] } });
    await first;
    void cache.reading(callOf("tools/list"));
    expect(answers).toHaveLength(2);
  });

  it("keeps no failure", async () => {
    let count = 0;
    const failing = async () => ({ kind: "failed", failure: { code: "internal", message: `${++count}` } });
    const cache = createResponseCache({ service: failing as unknown as Service, clock: createManualClock(), warn });
    await cache.reading(callOf("tools/list"));
    await cache.reading(callOf("tools/list"));
    expect(count).toBe(2);
  });

  it("forgets what expires first when it is full", async () => {
    const { read, hints } = setUp({ ttlMs: 100 }, 2);
    await read("resources/read", { uri: "a" });
    hints.ttlMs = 50;
    await read("resources/read", { uri: "b" });
    hints.ttlMs = 100;
    await read("resources/read", { uri: "c" });
    expect([await read("resources/read", { uri: "a" }), await read("resources/read", { uri: "c" })]).toEqual([1, 3]);
    expect(await read("resources/read", { uri: "b" })).toBe(4);
  });

  it("keeps more than it has parsed", async () => {
    const { read } = setUp({ ttlMs: 100, contents: [{ uri: "a:b" }] });
    for (let n = 0; n < 600; n++) await read("resources/read", { uri: `${n}` });
    expect(await read("resources/read", { uri: "0" })).toBe(1);
  });

  it("stays of use while many resources change that nobody reads", async () => {
    const { cache, clock, read } = setUp({ ttlMs: 1_000 }, 20);
    await read("tools/list");
    for (let n = 0; n < 200; n++) {
      clock.advance(1);
      cache.invalidate({ kind: "resource", uri: `a:${n}` });
    }
    const count = await read("tools/list");
    expect(await read("tools/list")).toBe(count);
  });
});
