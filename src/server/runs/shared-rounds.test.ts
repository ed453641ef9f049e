import { describe, expect, it } from "vitest";
import {
  type Attempt,
  all,
  cluster,
  form,
  no,
  type Run,
  textOf,
  trip,
  usedAlready,
  yes,
} from "../../../test/support/cluster.ts";
import { askedBy, failureOf, send } from "../../../test/support/direct.ts";
import { gate } from "../../../test/support/served.ts";
import { McpError } from "../../protocol/errors.ts";
import type { Ask, Outcome, Service } from "../../protocol/service.ts";
import type { ServerOptions } from "../options.ts";

const bad = { action: "accept", content: { ok: "perhaps" } };

describe("a process that ends at any moment", () => {
  type Way = "names its call and begins anew" | "repeats what it said last";
  const ways: readonly Way[] = ["names its call and begins anew", "repeats what it said last"];

  /** Makes the call on `a`, and on `b` when that is dead. */
  async function drive({ call, passing, process }: ReturnType<typeof cluster>, way: Way): Promise<Outcome> {
    const key = way === ways[0] ? { key: "order 1" } : {};
    let node: "a" | "b" = "a";
    let attempt: Attempt = key;
    for (let rounds = 0; rounds < 10; rounds++) {
      const outcome = await passing(Promise.race([call(node, attempt), ...(node === "a" ? [process("a").death] : [])]));
      if (outcome === undefined) {
        node = "b";
        if (way === ways[0]) attempt = key;
      } else if (outcome.kind === "input-required") {
        attempt = { ...key, state: askedBy(outcome).state, answers: all(outcome, yes) };
      } else {
        return outcome;
      }
    }
    throw new Error("too many rounds");
  }

  const lives = async (way: Way): Promise<number> => {
    const system = cluster(trip().run);
    await drive(system, way);
    return system.process("a").calls;
  };

  it.each(ways)("is replaced by another, to a client that %s", async (way) => {
    const calls = await lives(way);
    expect(calls).toBeGreaterThan(10);
    for (let at = 1; at <= calls; at++) {
      for (const carriedOut of [true, false]) {
        const { done, run } = trip();
        const system = cluster(run, {}, { a: { at, carriedOut } });
        const { hold, charge, mail, ...answers } = JSON.parse(String(textOf(await drive(system, way))));
        expect(answers).toEqual({ first: true, second: true });
        // What was done but could not be written down any more is done again: nobody could know.
        const again = done.length - new Set(done).size;
        expect({ at, carriedOut, again, steps: [...new Set(done)] }).toEqual({
          at,
          carriedOut,
          again: carriedOut ? 0 : again,
          steps: ["hold", "charge", "mail"],
        });
        expect(again).toBeLessThanOrEqual(1);
        expect([hold, charge, mail].map((text: string) => text.split(" ")[0])).toEqual(["hold", "charge", "mail"]);
        expect(system.faults).toEqual([]);
      }
    }
  });
});

describe("answers", () => {
  const asking = () => {
    const effects: string[] = [];
    const run: Run = async ({ ask }, node) => {
      const { ok } = await ask("Charge?", form);
      effects.push(`${node} charges`);
      return `${node}: ${ok}`;
    };
    return { effects, ...cluster(run) };
  };

  it("that were given already get the outcome they had, on every process", async () => {
    const { call, effects, passing } = asking();
    const { state } = askedBy(await call("a"));
    const answers = { "ask-1": yes };
    const outcomes = await passing(Promise.all([call("a", { state, answers }), call("b", { state, answers })]));
    const later = [await call("a", { state, answers }), await call("c", { state, answers })];
    expect(effects).toHaveLength(1);
    expect(new Set([...outcomes, ...later].map(textOf)).size).toBe(1);
  });

  it.each(["a", "b"] as const)("count once on all processes: others are refused on %s", async (node) => {
    const { call, effects } = asking();
    const { state } = askedBy(await call("a"));
    expect(textOf(await call("a", { state, answers: { "ask-1": yes } }))).toBe("a: true");
    expect(failureOf(await call(node, { state, answers: { "ask-1": no } }))).toEqual({
      code: "invalid-params",
      message: usedAlready,
    });
    expect(effects).toEqual(["a charges"]);
  });

  it("of an earlier round get what the run has come to", async () => {
    const { run } = trip();
    const { call } = cluster(run);
    const one = askedBy(await call("a"));
    const two = await call("b", { state: one.state, answers: { "ask-1": yes } });
    expect(await call("c", { state: one.state, answers: { "ask-1": yes } })).toEqual(two);
    const end = await call("a", { state: askedBy(two).state, answers: { "ask-2": no } });
    expect(await call("b", { state: one.state, answers: { "ask-1": yes } })).toEqual(end);
    const other = await call("b", { state: one.state, answers: { "ask-1": no } });
    expect(failureOf(other).message).toBe(usedAlready);
  });

  it("that are malformed leave the state good, wherever they go", async () => {
    const { call, effects } = asking();
    const { state } = askedBy(await call("a"));
    for (const node of ["a", "b", "b", "a"] as const) {
      const failure = failureOf(await call(node, { state, answers: { "ask-1": bad } }));
      expect(failure).toMatchObject({ code: "invalid-params", message: expect.stringContaining("/ok") });
    }
    expect(textOf(await call("b", { state, answers: { "ask-1": yes } }))).toBe("b: true");
    expect(effects).toEqual(["b charges"]);
  });

  it("that are missing are asked for again", async () => {
    const { call } = asking();
    const one = await call("a");
    const two = await call("b", { state: askedBy(one).state });
    expect(askedBy(two).questions).toEqual(askedBy(one).questions);
    expect(await call("c", { state: askedBy(two).state, answers: {} })).toEqual(two);
    expect(textOf(await call("a", { state: askedBy(one).state, answers: { "ask-1": yes } }))).toBe("a: true");
    const late = await call("a", { state: askedBy(two).state, answers: { "ask-1": no } });
    expect(failureOf(late).message).toBe(usedAlready);
  });

  it("to a question that the run does not wait for any more are refused", async () => {
    const enough = gate<string>();
    const { call } = cluster(({ ask }) => Promise.race([ask("Sure?", form), enough.opened]));
    const { state } = askedBy(await call("a"));
    enough.open("too late to ask");
    expect(textOf(await call("a", { state }))).toBe("too late to ask");
    expect(failureOf(await call("b", { state, answers: { "ask-1": yes } })).message).toBe(usedAlready);
  });

  it.each(["__proto__", "constructor"])("may have the key %s", async (key) => {
    const { call } = cluster(async ({ ask, step }) => {
      const { ok } = await ask("Sure?", form, { key });
      await step(key, () => 1);
      await ask("Really?", form);
      return `ok: ${ok}`;
    });
    const one = askedBy(await call("a"));
    const two = askedBy(await call("b", { state: one.state, answers: { [key]: yes } }));
    expect(failureOf(await call("c", { state: one.state, answers: { [key]: no } })).message).toBe(usedAlready);
    expect(textOf(await call("a", { state: two.state, answers: { "ask-1": yes } }))).toBe("ok: true");
  });
});

describe("a call with a key", () => {
  const counting = (options?: Partial<ServerOptions>) => {
    const runs: string[] = [];
    return { runs, ...cluster((_, node) => `run ${runs.push(node)}`, options) };
  };

  it("is done once, and has the same outcome wherever it is tried again", async () => {
    const { call, runs, passing } = counting();
    const key = "order 1";
    const outcomes = await passing(Promise.all([call("a", { key }), call("b", { key }), call("a", { key })]));
    expect([...outcomes, await call("c", { key })].map(textOf)).toEqual(Array.from({ length: 4 }, () => "run 1"));
    expect(runs).toHaveLength(1);
  });

  it("is another one with another key, other arguments or another caller", async () => {
    const { call, runs } = counting();
    const attempts = [
      {},
      { key: "2" },
      { input: { n: 1 } },
      { input: { n: 2 } },
      { principal: "ann" },
      { principal: "bob" },
    ];
    for (const attempt of attempts) await call("a", { key: "1", ...attempt });
    for (const attempt of attempts) await call("b", { key: "1", ...attempt });
    expect(runs).toHaveLength(attempts.length);
  });

  it.each([undefined, 1, { a: 1 }])("is none with the key %j", async (key) => {
    const { runs, servers } = counting();
    const meta = { "plugbay/key": key };
    for (let i = 0; i < 2; i++) await send(servers.a, "tools/call", { name: "it" }, { meta });
    expect(runs).toHaveLength(2);
  });

  it("is a call like any other without a store that others share", async () => {
    const { call, runs } = counting({ store: undefined as never });
    for (let i = 0; i < 2; i++) await call("a", { key: "1" });
    expect(runs).toHaveLength(2);
  });

  it("keeps its outcome also when that is an error for the model", async () => {
    const { call, faults } = cluster((_, node) => {
      throw new Error(`no luck on ${node}`);
    });
    // What was thrown stays in the process that threw it.
    const { cause, ...outcome } = (await call("a", { key: "1" })) as Outcome & { readonly cause?: unknown };
    expect(outcome).toMatchObject({ kind: "complete", result: { isError: true } });
    expect(cause).toMatchObject({ message: "no luck on a" });
    expect(await call("b", { key: "1" })).toEqual(outcome);
    expect(faults).toHaveLength(1);
  });

  it("goes on when it is tried again after a failure that has no result: no step is repeated", async () => {
    const done: string[] = [];
    const { call } = cluster(async ({ step }, node) => {
      await step("hold", () => done.push(`${node} holds`));
      if (node === "a") throw new McpError("rejected", "not now");
      return `done by ${node}`;
    });
    expect(failureOf(await call("a", { key: "1" })).code).toBe("rejected");
    expect(textOf(await call("b", { key: "1" }))).toBe("done by b");
    expect(done).toEqual(["a holds"]);
  });

  it("that was cancelled goes on when it is tried again", async () => {
    const done: string[] = [];
    const held = gate();
    const { call, made, servers } = cluster(async ({ step, signal }, node) => {
      await step("hold", () => done.push(`${node} holds`));
      held.open();
      if (node === "a") await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      return `done by ${node}`;
    });
    const { call: first, abort } = made({ key: "1" });
    const outcome = servers.a(first);
    await held.opened;
    abort.abort("the client is gone");
    expect(failureOf(await outcome).code).toBe("cancelled");
    expect(textOf(await call("b", { key: "1" }))).toBe("done by b");
    expect(done).toEqual(["a holds"]);
  });

  it("asks with the same state when it is tried again, while there is time to answer", async () => {
    const { clock, call } = cluster(trip().run, { askTimeoutMs: 1_000 });
    const one = await call("a", { key: "1" });
    clock.advance(499);
    expect(await call("b", { key: "1" })).toEqual(one);
    clock.advance(1);
    const two = await call("b", { key: "1" });
    expect(askedBy(two).questions).toEqual(askedBy(one).questions);
    expect(askedBy(two).state).not.toBe(askedBy(one).state);
    expect(await call("a", { key: "1" })).toEqual(two);
  });

  it("takes answers to what it asked also without the state", async () => {
    const { done, run } = trip();
    const { call } = cluster(run);
    await call("a", { key: "1" });
    const two = await call("b", { key: "1", answers: { "ask-1": yes } });
    expect(Object.keys(askedBy(two).questions)).toEqual(["ask-2"]);
    expect(textOf(await call("c", { key: "1", answers: { "ask-1": yes, "ask-2": no } }))).toContain('"second":false');
    expect(done).toEqual(["hold", "charge", "mail"]);
  });

  it("needs no answer twice: what was answered is known to who begins anew", async () => {
    const { done, run } = trip();
    const { call } = cluster(run);
    const one = askedBy(await call("a", { key: "1" }));
    const two = await call("a", { key: "1", state: one.state, answers: { "ask-1": no } });
    expect(await call("b", { key: "1" })).toEqual(two);
    const end = await call("c", { state: askedBy(two).state, answers: { "ask-2": yes } });
    expect(textOf(end)).toContain('"first":false');
    expect(await call("a", { key: "1" })).toEqual(end);
    expect(done).toEqual(["hold", "charge", "mail"]);
  });

  it("repeats no step also for clients that are asked while the call waits", async () => {
    const { done, run } = trip();
    const { passing, process, servers } = cluster(run);
    const attempt = (server: Service, ask: Ask) =>
      send(server, "tools/call", { name: "it" }, { meta: { "plugbay/key": "1" }, ask });
    const asked = gate();
    void attempt(servers.a, () => {
      asked.open();
      return new Promise(() => {});
    });
    await asked.opened;
    process("a").kill();
    expect(textOf(await passing(attempt(servers.b, async () => yes)))).toContain("hold by a");
    expect(done).toEqual(["hold", "charge", "mail"]);
  });

  it("is forgotten when its state would have expired", async () => {
    const { call, clock, runs } = counting({ askTimeoutMs: 1_000 });
    await call("a", { key: "1" });
    clock.advance(61_000);
    await call("a", { key: "1" });
    expect(runs).toHaveLength(2);
  });
});
