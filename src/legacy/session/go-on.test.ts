import { describe, expect, it, vi } from "vitest";
import { McpError } from "../../protocol/errors.ts";
import type { Question } from "../../protocol/input.ts";
import { type Ask, type Call, createCall, type Outcome, type Service } from "../../protocol/service.ts";
import type { Clock } from "../../std/clock.ts";
import { LazyAbort } from "../../std/lazy-abort.ts";
import { createManualClock } from "../../testing/clock.ts";
import { resolveInputRequired } from "./live-call.ts";

const roots: Question = { method: "roots/list", params: {} };
const done: Outcome = { kind: "complete", result: { content: [] } };
const asks = (questions: Record<string, Question>, state?: string): Outcome =>
  state === undefined ? { kind: "input-required", questions } : { kind: "input-required", questions, state };

/** A service that ends its calls in this order, the last one again and again. */
function scripted(...outcomes: readonly Outcome[]) {
  const calls: Call[] = [];
  const service = (async (call: Call) => {
    calls.push(call);
    return outcomes[Math.min(calls.length, outcomes.length) - 1];
  }) as Service;
  return { calls, service };
}

function setUp() {
  const abort = new LazyAbort();
  const clock = createManualClock();
  const call = createCall({
    method: "tools/call",
    params: { name: "t" },
    peer: { revision: "2025-11-25", capabilities: {} },
    abort,
    notify: () => undefined,
  });
  return { abort, clock, call };
}

/** Calls a service, and goes on as long as it asks. */
async function askThenServe(service: Service, call: Call, ask: Ask, clock: Clock): Promise<Outcome> {
  return resolveInputRequired(service, call, await service(call), { ask, clock });
}

describe("going on with a call that asks", () => {
  it("calls a service that asks nothing once", async () => {
    const { call, clock } = setUp();
    const { calls, service } = scripted(done);
    const ask = vi.fn();
    expect(await askThenServe(service, call, ask, clock)).toBe(done);
    expect(calls).toEqual([call]);
    expect(ask).not.toHaveBeenCalled();
  });

  it("asks all questions of a round at once, and calls again with the answers and the very state", async () => {
    const { call, clock } = setUp();
    const { calls, service } = scripted(asks({ a: roots, b: roots }, "s1"), asks({ c: roots }), done);
    let open = 0;
    const ask = vi.fn(async () => {
      open++;
      await Promise.resolve();
      return { roots: [], open };
    });
    expect(await askThenServe(service, call, ask, clock)).toBe(done);
    expect(calls.map(({ params, answers, state }) => ({ params, answers, state }))).toEqual([
      { params: { name: "t" }, answers: undefined, state: undefined },
      { params: { name: "t" }, answers: { a: { roots: [], open: 2 }, b: { roots: [], open: 2 } }, state: "s1" },
      { params: { name: "t" }, answers: { c: { roots: [], open: 3 } }, state: undefined },
    ]);
  });

  it("gives up on a service that never has enough", async () => {
    const { call, clock } = setUp();
    const { calls, service } = scripted(asks({ a: roots }));
    expect(await askThenServe(service, call, async () => ({}), clock)).toMatchObject({
      kind: "failed",
      failure: { code: "internal", message: "still asking after 10 rounds" },
    });
    expect(calls).toHaveLength(11);
  });

  it("fails the call with the refusal of the client, as plain data", async () => {
    const { call, clock } = setUp();
    const ask = () => Promise.reject(new McpError("rejected", "no", { data: { why: 1 } }));
    expect(await askThenServe(scripted(asks({ a: roots })).service, call, ask, clock)).toEqual({
      kind: "failed",
      failure: { code: "rejected", message: "no", data: { why: 1 } },
    });
  });

  it("passes on what else is thrown", async () => {
    const { call, clock } = setUp();
    const ask = () => Promise.reject(new TypeError("broken"));
    await expect(askThenServe(scripted(asks({ a: roots })).service, call, ask, clock)).rejects.toThrow(TypeError);
  });

  it("gives a service that is only busy more and more time, and then no answers but its state", async () => {
    const { call, clock } = setUp();
    const { calls, service } = scripted(asks({}, "busy"), asks({}, "busier"), done);
    const outcome = askThenServe(service, call, vi.fn(), clock);
    await clock.advanceAsync(49);
    expect(calls).toHaveLength(1);
    await clock.advanceAsync(1);
    expect(calls).toHaveLength(2);
    await clock.advanceAsync(99);
    expect(calls).toHaveLength(2);
    await clock.advanceAsync(1);
    expect(await outcome).toBe(done);
    expect(calls.map(({ answers, state }) => [answers, state])).toEqual([
      [undefined, undefined],
      [undefined, "busy"],
      [undefined, "busier"],
    ]);
  });

  it("does not wait for a busy service once the call is cancelled", async () => {
    const { call, clock, abort } = setUp();
    const { service } = scripted(asks({}, "busy"), done);
    const outcome = askThenServe(service, call, vi.fn(), clock);
    await clock.advanceAsync(0);
    abort.abort("enough");
    expect(await outcome).toBe(done);
    expect(clock.pending).toBe(0);
  });
});
