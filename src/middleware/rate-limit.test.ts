import { afterEach, describe, expect, it, vi } from "vitest";
import { failureOf, faultLog, makeCall, peer, send } from "../../test/support/direct.ts";
import { connect } from "../connect/index.ts";
import type { Method } from "../protocol/methods.ts";
import { type Call, type Service, withMiddleware } from "../protocol/service.ts";
import { createServer, tool } from "../server/index.ts";
import { memoryStore } from "../store/memory-store.ts";
import { type Store, StoreError } from "../store/store.ts";
import { createManualClock, type ManualClock } from "../testing/clock.ts";
import { toFetchHandler } from "../transport/http/fetch-handler.ts";
import { type RateLimitOptions, rateLimit } from "./rate-limit.ts";

const windowMs = 60_000;

function setUp(options: Partial<RateLimitOptions> = {}, clock: ManualClock = createManualClock(10 * windowMs)) {
  const { faults, onError } = faultLog();
  const limit = rateLimit({ limit: 2, windowMs, clock, ...options });
  const tools = { echo: tool({ run: () => "done" }) };
  const server = createServer({ name: "limited", version: "1", onError, middleware: [limit], tools });
  const call = (principal?: string) =>
    send(
      server,
      "tools/call",
      { name: "echo" },
      {
        peer: { ...peer(), ...(principal !== undefined && { auth: { principal } }) },
      },
    );
  const kinds = async (count: number, principal?: string) => {
    const all: string[] = [];
    for (let n = 0; n < count; n++) all.push((await call(principal)).kind);
    return all;
  };
  return { clock, server, call, kinds, faults };
}

/** A store that says nothing, or nothing good. */
function brokenStore(add: () => Promise<number>): Store {
  const store = memoryStore();
  return { ...store, values: { ...store.values, add } };
}

const away = () => Promise.reject(new StoreError("unavailable", "it is away"));
const silent = () => new Promise<number>(() => {});

afterEach(() => {
  vi.restoreAllMocks();
});

describe("rateLimit", () => {
  it("refuses what is one too many, and says of which window and when it could be tried again (X1)", async () => {
    const { call, kinds, clock } = setUp();
    expect(await kinds(2)).toEqual(["complete", "complete"]);
    clock.advance(15_000);
    expect(failureOf(await call())).toEqual({
      code: "limit-reached",
      message:
        "rate limit reached: the limit is 2 in 60 s for all callers together, " +
        "counted over this window and the one before; retry in 75 s",
      data: { reason: "limit-reached", limit: "rateLimit", max: 2, scope: "principal", retryAfterMs: 75_000, windowMs },
    });
    clock.advance(74_999);
    expect(await kinds(1)).toEqual(["failed"]);
    clock.advance(1);
    expect(await kinds(2)).toEqual(["complete", "failed"]);
  });

  it("is limit-reached with { limit, max, scope, retryAfterMs }: of one caller, by the name of the limit", async () => {
    const { call, kinds } = setUp({ limit: 1, windowMs: 1_500, name: "reports" });
    await kinds(1, "ann");
    expect(failureOf(await call("ann"))).toMatchObject({
      message: expect.stringMatching(/^rate limit reached: the limit is 1 in 1.5 s for this caller, counted over/),
      data: { limit: "reports", max: 1, scope: "principal", retryAfterMs: 3_000 },
    });
  });

  it("says that calls cannot be counted where the store fails, and not that a limit was reached", async () => {
    const onError = vi.fn();
    const { call } = setUp({ store: brokenStore(away), storeFailure: "refuse", onError });
    expect(failureOf(await call("ann"))).toEqual({
      code: "limit-reached",
      message: "calls cannot be counted for a rate limit right now; retry in 1 s",
      data: { reason: "limit-reached", limit: "rateLimit", max: 2, scope: "process", retryAfterMs: 1_000 },
    });
  });

  it("does not run what it refuses", async () => {
    const run = vi.fn(() => "done");
    const limit = rateLimit({ limit: 1, windowMs });
    const server = createServer({ name: "limited", version: "1", middleware: [limit], tools: { echo: tool({ run }) } });
    for (let n = 0; n < 3; n++) await send(server, "tools/call", { name: "echo" });
    expect(run).toHaveBeenCalledTimes(1);
  });

  it("counts each user apart, and those who are unknown together", async () => {
    const { kinds } = setUp();
    expect(await kinds(3, "ann")).toEqual(["complete", "complete", "failed"]);
    expect(await kinds(3, "bob")).toEqual(["complete", "complete", "failed"]);
    expect(await kinds(3)).toEqual(["complete", "complete", "failed"]);
  });

  it("counts what runs code of authors, unless it is told what to count", async () => {
    const pass: Service = async () => ({ kind: "complete", result: {} as never });
    const counted = async (options: Partial<RateLimitOptions>) => {
      const service = withMiddleware(pass, rateLimit({ limit: 1, windowMs, ...options }));
      const names = ["server/discover", "tools/list", "tools/call", "prompts/get", "tasks/get", "my/method"];
      const counts: string[] = [];
      for (const name of names as Method[]) {
        const [, second] = [await send(service, name, {} as never), await send(service, name, {} as never)];
        if (second.kind === "failed") counts.push(name);
      }
      return counts;
    };
    const by = ({ method }: Call) => method;
    expect(await counted({ by })).toEqual(["tools/call", "prompts/get", "my/method"]);
    expect(await counted({ by, methods: ["tools/list", "tasks/get"] })).toEqual(["tools/list", "tasks/get"]);
  });

  it("counts for whom it is told, and not at all for nobody", async () => {
    const by = vi.fn((call: Call) => (call.peer.auth === undefined ? undefined : "everybody"));
    const { kinds } = setUp({ by });
    expect(await kinds(3)).toEqual(["complete", "complete", "complete"]);
    expect(await kinds(2, "ann")).toEqual(["complete", "complete"]);
    expect(await kinds(1, "bob")).toEqual(["failed"]);
  });

  it("counts what calls cost", async () => {
    const cost = ({ peer }: Call) => (peer.auth?.principal === "free" ? 0 : 3);
    const { kinds } = setUp({ cost, limit: 6, by: () => "all" });
    expect(await kinds(3)).toEqual(["complete", "complete", "failed"]);
    expect(await kinds(2, "free")).toEqual(["complete", "complete"]);
  });

  it.each([-1, 0.5, Number.NaN, "1" as never])("takes a cost of %s for a mistake of the author", async (cost) => {
    const { call, faults } = setUp({ cost: () => cost });
    expect(failureOf(await call()).code).toBe("internal");
    expect(faults).toMatchObject([[{ code: "invalid-definition" }, { method: "tools/call" }]]);
  });

  it.each([
    [{ limit: 0 }, "limit must be a whole number"],
    [{ limit: 1.5 }, "limit must be a whole number"],
    [{ windowMs: -1 }, "windowMs must be a whole number"],
    [{ windowMs: Number.POSITIVE_INFINITY }, "windowMs must be a whole number"],
    [{ limit: 1e12, windowMs: 1e6 }, "more than can be counted"],
  ])("refuses %j", (options, problem) => {
    expect(() => setUp(options)).toThrow(problem);
  });

  it("tells long names apart, and takes any text for one", async () => {
    const { kinds } = setUp();
    const long = "x".repeat(1_000);
    for (const name of [`${long}a`, `${long}b`, "", "__proto__", "a\0b", "é 1", "é"]) {
      expect(await kinds(3, name)).toEqual(["complete", "complete", "failed"]);
    }
  });

  it("is told to a client by its code and data, and to what is between by the status (C112)", async () => {
    const { server } = setUp({ limit: 1 });
    const handle = toFetchHandler(server, { allowedHosts: ["shop.example"] });
    const fetched: number[] = [];
    const seen: typeof fetch = async (...request) => {
      const response = await handle(new Request(...request));
      fetched.push(response.status);
      return response;
    };
    const data = { reason: "limit-reached", limit: "rateLimit", max: 1, scope: "principal", windowMs };
    await using near = await connect(server);
    await near.callTool("echo");
    await expect(near.callTool("echo")).rejects.toMatchObject({ code: "limit-reached", data });
    for (const revision of ["2026-07-28", "2025-11-25"] as const) {
      await using far = await connect("https://shop.example/mcp", { fetch: seen, revision });
      await far.callTool("echo").catch(() => {});
      await expect(far.callTool("echo")).rejects.toMatchObject({ code: "limit-reached", data });
    }
    expect(new Set(fetched.filter((status) => status >= 300))).toEqual(new Set([429]));
  });
});

describe("a store", () => {
  it("makes servers share a limit", async () => {
    const clock = createManualClock(10 * windowMs);
    const store = memoryStore({ clock });
    const [one, other] = [setUp({ store }, clock), setUp({ store }, clock)];
    expect([...(await one.kinds(1, "ann")), ...(await other.kinds(2, "ann")), ...(await one.kinds(1, "ann"))]).toEqual([
      "complete",
      "complete",
      "failed",
      "failed",
    ]);
  });

  it("keeps limits apart by what they allow, or by their names", async () => {
    const clock = createManualClock(10 * windowMs);
    const store = memoryStore({ clock });
    const kinds = async (options: Partial<RateLimitOptions>) => setUp({ store, ...options }, clock).kinds(3, "ann");
    const twice = ["complete", "complete", "failed"];
    expect(await kinds({})).toEqual(twice);
    expect(await kinds({})).toEqual(["failed", "failed", "failed"]);
    expect(await kinds({ name: "reports" })).toEqual(twice);
    expect(await kinds({ windowMs: 1_000 })).toEqual(twice);
  });

  it("forgets its numbers", async () => {
    const clock = createManualClock(10 * windowMs);
    const { kinds } = setUp({ store: memoryStore({ clock }) }, clock);
    await kinds(3, "ann");
    clock.advance(3 * windowMs);
    expect(clock.pending).toBe(0);
  });

  it.each([
    ["allow", undefined, ["complete", "complete", "complete"]],
    ["allow", "allow", ["complete", "complete", "complete"]],
    ["refuse", "refuse", ["failed", "failed", "failed"]],
  ] as const)("that fails makes it %s calls, when it is told %s", async (_, storeFailure, expected) => {
    const onError = vi.fn();
    const { kinds, clock } = setUp({
      store: brokenStore(away),
      onError,
      ...(storeFailure && { storeFailure }),
    });
    expect(await kinds(3)).toEqual(expected);
    expect(onError.mock.calls).toMatchObject([[{ code: "unavailable" }]]);
    clock.advance(1_000);
    await kinds(1);
    expect(onError).toHaveBeenCalledTimes(2);
  });

  it("that says nothing holds up no call for long", async () => {
    const onError = vi.fn();
    const { call, kinds, clock } = setUp({ store: brokenStore(silent), onError });
    const first = call();
    await clock.advanceAsync(1_000);
    expect((await first).kind).toBe("complete");
    expect(await kinds(2)).toEqual(["complete", "complete"]);
    expect(onError).toHaveBeenCalledTimes(1);
  });

  it("that fails is told on stderr where nobody listens", async () => {
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    await setUp({ store: brokenStore(away) }).kinds(2);
    expect(error.mock.calls).toEqual([[expect.stringContaining("rate limit"), expect.any(StoreError)]]);
  });

  it("that cannot take anything back has still refused", async () => {
    const store = memoryStore();
    const { add } = store.values;
    const values = {
      ...store.values,
      add: (name: string, amount: number, ttlMs: number) => (amount < 0 ? away() : add(name, amount, ttlMs)),
    };
    const { kinds } = setUp({ store: { ...store, values } });
    expect(await kinds(3)).toEqual(["complete", "complete", "failed"]);
  });
});

it("a call that does not count goes on as it is", () => {
  const answer = Promise.resolve({ kind: "complete", result: {} } as never);
  const service = rateLimit({ limit: 1, windowMs })((() => answer) as Service);
  expect(service(makeCall("tools/list", {}).call)).toBe(answer);
});
