import { beforeAll, describe, expect, it } from "vitest";
import { passing } from "../../../test/support/cluster.ts";
import {
  askedBy,
  failureOf,
  faultLog,
  makeCall,
  type Parts,
  peer,
  resultOf,
  send,
} from "../../../test/support/direct.ts";
import { gate } from "../../../test/support/served.ts";
import type { JsonObject } from "../../json/json.ts";
import type { Method, Params } from "../../protocol/methods.ts";
import { loadCompiler } from "../../schema/to-validator.ts";
import { createManualClock } from "../../testing/clock.ts";
import type { Context } from "../context.ts";
import type { ServerOptions } from "../options.ts";
import { prompt } from "../prompt.ts";
import { resource } from "../resource.ts";
import { createServer, type Server } from "../server.ts";
import { tool } from "../tool.ts";

const info = { name: "shop", version: "1", stateKeys: ["3cEDg27oIL_V-ILeoe_VehUlnEJoLp6vI9k6eSlNG8E"] };
const form = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] } as const;
const yes = { action: "accept", content: { ok: true } };
const no = { action: "accept", content: { ok: false } };
const decline = { action: "decline" };

beforeAll(async () => {
  await loadCompiler();
});

type Run = (input: JsonObject, context: Context) => unknown;

/** A server with one tool, whose client can only be asked by an outcome. */
function asking(run: Run, options: Partial<ServerOptions> = {}) {
  const clock = createManualClock();
  const { faults, onError } = faultLog();
  const it = tool({ run: (input, context) => run(input as JsonObject, context) });
  const server = createServer({ ...info, clock, onError, ...options, tools: { it } });
  return { clock, faults, server, passing: passing(clock), ...speaker(server, "tools/call", { name: "it" }) };
}

/** Makes the same call again and again, as a client does that is asked. */
function speaker<M extends Method>(server: Server, method: M, params: Params<M>) {
  return {
    first: (parts?: Parts<M>) => send(server, method, params, parts),
    again: (state: string, answers?: JsonObject, parts: Parts<M> = {}) =>
      send(server, method, params, { ...parts, state, answers }),
  };
}

const textOf = (outcome: Awaited<ReturnType<typeof send>>): unknown => {
  const { content } = resultOf(outcome as never) as { content: readonly { text?: string }[] };
  return content[0]?.text;
};

describe("a question", () => {
  it("ends the call, and the answer goes on with it", async () => {
    const { first, again } = asking(async (_, { ask }) => `ok: ${(await ask("Sure?", form)).ok}`);
    const outcome = await first();
    expect(outcome).toEqual({
      kind: "input-required",
      questions: { "ask-1": { method: "elicitation/create", params: { message: "Sure?", requestedSchema: form } } },
      state: expect.stringMatching(/^1\.[\w-]+$/),
    });
    expect(textOf(await again(askedBy(outcome).state, { "ask-1": yes }))).toBe("ok: true");
  });

  it("has the key it was given, numbers count the others", async () => {
    const { first } = asking((_, { ask, sample, roots }) =>
      Promise.all([
        ask("A?", form, { key: "a" }),
        ask("B?", form),
        roots({ key: "places" }),
        sample({ messages: [], maxTokens: 1 }),
      ]),
    );
    const { questions } = askedBy(await first());
    expect(Object.entries(questions).map(([key, { method }]) => [key, method])).toEqual([
      ["a", "elicitation/create"],
      ["ask-1", "elicitation/create"],
      ["places", "roots/list"],
      ["ask-2", "sampling/createMessage"],
    ]);
  });

  it.each(["__proto__", "constructor"])("may have the key %s", async (key) => {
    const { first, again } = asking(async (_, { ask }) => `ok: ${(await ask("Sure?", form, { key })).ok}`);
    const { questions, state } = askedBy(await first());
    expect(Object.keys(questions)).toEqual([key]);
    expect(textOf(await again(state, { [key]: yes }))).toBe("ok: true");
  });

  it("each round has a state of its own", async () => {
    const { first, again } = asking(async (_, { ask }) => {
      const answers = [];
      for (const message of ["A?", "B?", "C?"]) answers.push((await ask(message, form)).ok);
      return answers.join();
    });
    const one = askedBy(await first());
    const two = askedBy(await again(one.state, { "ask-1": yes }));
    expect(Object.keys(two.questions)).toEqual(["ask-2"]);
    const three = askedBy(await again(two.state, { "ask-2": no }));
    expect(textOf(await again(three.state, { "ask-3": yes }))).toBe("true,false,true");
    expect(new Set([one.state, two.state, three.state]).size).toBe(3);
  });

  it("and others of the same turn go out together, also behind awaits", async () => {
    const { first, again } = asking(async (_, { ask }) => {
      const askAfter = async (ticks: number, key: string) => {
        for (let tick = 0; tick < ticks; tick++) await undefined;
        return (await ask(key, form, { key })).ok;
      };
      return (await Promise.all([askAfter(0, "a"), askAfter(3, "b"), askAfter(10, "c")])).join();
    });
    const { questions, state } = askedBy(await first());
    expect(Object.keys(questions)).toEqual(["a", "b", "c"]);
    expect(textOf(await again(state, { a: yes, b: no, c: yes }))).toBe("true,false,true");
  });

  it("a user who declines is told to the handler like everywhere", async () => {
    const { first, again } = asking(async (_, { ask }) => {
      try {
        return await ask("Sure?", form);
      } catch (error) {
        return (error as { code: string }).code;
      }
    });
    const { state } = askedBy(await first());
    expect(textOf(await again(state, { "ask-1": decline }))).toBe("declined");
  });

  it("with a key that is taken is refused", async () => {
    const { first, faults } = asking((_, { ask }) =>
      Promise.all([ask("A?", form, { key: "k" }), ask("B?", form, { key: "k" })]),
    );
    expect(resultOf(await first())).toMatchObject({ isError: true });
    expect(faults).toMatchObject([[{ code: "invalid-definition", message: "the question key k is used twice" }, {}]]);
  });

  it("C49: is not asked of a client that cannot answer", async () => {
    const { first } = asking((_, { ask }) => ask("Sure?", form));
    expect(failureOf(await first({ peer: peer({}) }))).toMatchObject({ code: "missing-capability" });
  });

  it("can be asked by prompts and resources", async () => {
    const server = createServer({
      ...info,
      prompts: { p: prompt({ get: async (_, { ask }) => `ok: ${(await ask("Sure?", form)).ok}` }) },
      resources: [resource("a://{x}", { read: async ({ x }, { ask }) => `${x}: ${(await ask("Sure?", form)).ok}` })],
    });
    const p = speaker(server, "prompts/get", { name: "p" });
    const prompted = await p.again(askedBy(await p.first()).state, { "ask-1": yes });
    expect(resultOf(prompted)).toEqual({ messages: [{ role: "user", content: { type: "text", text: "ok: true" } }] });
    const r = speaker(server, "resources/read", { uri: "a://b" });
    const read = await r.again(askedBy(await r.first()).state, { "ask-1": no });
    expect(resultOf(read)).toMatchObject({ contents: [{ uri: "a://b", text: "b: false" }] });
  });

  it("cannot be asked by a method of its own, which the protocol does not let ask", async () => {
    const { faults, onError } = faultLog();
    const server = createServer({
      ...info,
      onError,
      methods: { "x/y": async (_, { ask }) => ({ ok: (await ask("Sure?", form)).ok }) },
    });
    const outcome = await send(server, "x/y" as "tools/list", {});
    expect(failureOf(outcome)).toMatchObject({ code: "internal" });
    expect(faults).toMatchObject([[{ code: "unsupported", message: "x/y cannot ask this client" }, {}]]);
    const ask = async () => yes;
    expect(await send(server, "x/y" as "tools/list", {}, { ask })).toEqual({ kind: "complete", result: { ok: true } });
  });
});

describe("a run that waits", () => {
  it("goes on where it stood: what came before happens once", async () => {
    const effects: string[] = [];
    const { first, again } = asking(async (_, { ask }) => {
      effects.push("before");
      const { ok } = await ask("Sure?", form);
      effects.push("after");
      return ok;
    });
    const { state } = askedBy(await first());
    await again(state, { "ask-1": yes });
    expect(effects).toEqual(["before", "after"]);
  });

  it("speaks to the call of the moment, and to none between", async () => {
    const contexts: Context[] = [];
    const { server } = asking(
      async (_, context) => {
        contexts.push(context);
        context.progress(1);
        await context.ask("Sure?", form);
        context.progress(3);
        context.log("info", "second");
      },
      { logging: true },
    );
    const parts = { wantsProgress: true, logLevel: "debug" } as const;
    const one = makeCall("tools/call", { name: "it" }, { ...parts, meta: { n: 1 } });
    const { state } = askedBy(await server(one.call));
    contexts[0]?.progress(2);
    contexts[0]?.log("info", "between");
    expect(contexts[0]?.meta).toEqual({ n: 1 });
    const two = makeCall("tools/call", { name: "it" }, { ...parts, meta: { n: 2 }, state, answers: { "ask-1": yes } });
    await server(two.call);
    expect(contexts[0]?.meta).toEqual({ n: 2 });
    expect(one.notes).toEqual([["notifications/progress", { progress: 1 }]]);
    expect(two.notes).toEqual([
      ["notifications/progress", { progress: 3 }],
      ["notifications/message", { level: "info", data: "second" }],
    ]);
  });

  it("is not aborted by the call that asked, but by the one that answers", async () => {
    const signals: AbortSignal[] = [];
    const resumed = gate();
    const { server } = asking(async (_, { signal, ask }) => {
      signals.push(signal);
      await ask("Sure?", form);
      resumed.open();
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      signal.throwIfAborted();
    });
    const one = makeCall("tools/call", { name: "it" });
    const { state } = askedBy(await server(one.call));
    one.abort.abort("the request is over");
    expect(signals[0]?.aborted).toBe(false);
    const two = makeCall("tools/call", { name: "it" }, { state, answers: { "ask-1": yes } });
    const outcome = server(two.call);
    await resumed.opened;
    two.abort.abort("stop");
    expect(failureOf(await outcome).code).toBe("cancelled");
    expect(signals[0]?.reason).toBe("stop");
  });

  it("can be aborted by the call that answers also when it never looks", async () => {
    const hold = gate<string>();
    const resumed = gate();
    const { server } = asking(async (_, { ask }) => {
      await ask("Sure?", form);
      resumed.open();
      return hold.opened;
    });
    const { state } = askedBy(await send(server, "tools/call", { name: "it" }));
    const { call, abort } = makeCall("tools/call", { name: "it" }, { state, answers: { "ask-1": yes } });
    const outcome = server(call);
    await resumed.opened;
    expect(() => abort.abort("stop")).not.toThrow();
    hold.open("done anyway");
    expect(textOf(await outcome)).toBe("done anyway");
  });

  it("takes one place, however many questions it asks", async () => {
    const effects: string[] = [];
    const { first, again } = asking(
      async (_, { ask }) => {
        effects.push("start");
        return (await Promise.all(["a", "b", "c"].map((key) => ask(key, form, { key })))).length;
      },
      { budgets: { principal: { maxParkedCalls: 1 } } },
    );
    const { state } = askedBy(await first());
    expect(textOf(await again(state, { a: yes, b: yes, c: yes }))).toBe("3");
    expect(effects).toEqual(["start"]);
  });

  it("has a signal that is not aborted by a call of the past, also when it is read late", async () => {
    const contexts: Context[] = [];
    const { server } = asking(async (_, context) => {
      contexts.push(context);
      await context.ask("Sure?", form);
    });
    const one = makeCall("tools/call", { name: "it" });
    askedBy(await server(one.call));
    one.abort.abort("the request is over");
    expect(contexts[0]?.signal.aborted).toBe(false);
  });

  it("is given up when its call was cancelled before it could ask", async () => {
    const order: string[] = [];
    const { server, faults } = asking(async (_, { ask }) => {
      try {
        await ask("Sure?", form);
      } finally {
        order.push("finally");
      }
    });
    const { call, abort } = makeCall("tools/call", { name: "it" });
    const outcome = server(call);
    abort.abort("never mind");
    expect(failureOf(await outcome).code).toBe("cancelled");
    expect(order).toEqual(["finally"]);
    expect(faults).toEqual([]);
  });

  it("is not timed while it waits, and is when it goes on", async () => {
    const resumed = gate();
    const { clock, first, again } = asking(
      async (_, { ask }) => {
        await ask("Sure?", form);
        resumed.open();
        await new Promise(() => {});
      },
      { timeoutMs: 100 },
    );
    const { state } = askedBy(await first());
    await clock.advanceAsync(10_000);
    const outcome = again(state, { "ask-1": yes });
    await resumed.opened;
    await clock.advanceAsync(100);
    expect(failureOf(await outcome).code).toBe("timeout");
  });

  it("may end without its answer: the next call gets the outcome", async () => {
    const enough = gate<string>();
    const { first, again } = asking((_, { ask }) => Promise.race([ask("Sure?", form), enough.opened]));
    const { state } = askedBy(await first());
    enough.open("too late to ask");
    expect(textOf(await again(state, { "ask-1": yes }))).toBe("too late to ask");
  });

  it("is left alone once it has ended, also when nobody comes for its outcome", async () => {
    const contexts: Context[] = [];
    const enough = gate<string>();
    const { clock, first } = asking((_, context) => {
      contexts.push(context);
      return Promise.race([context.ask("Sure?", form), enough.opened]);
    });
    askedBy(await first());
    enough.open("enough");
    await clock.advanceAsync(600_000);
    expect(contexts[0]?.signal.aborted).toBe(false);
  });

  it("may ask more while it waits: the next round asks it", async () => {
    const more = gate();
    const { first, again } = asking(async (_, { ask }) => {
      const late = more.opened.then(() => ask("B?", form, { key: "b" }));
      const [a, b] = await Promise.all([ask("A?", form, { key: "a" }), late]);
      return `${a.ok},${b.ok}`;
    });
    const one = askedBy(await first());
    expect(Object.keys(one.questions)).toEqual(["a"]);
    more.open();
    const two = askedBy(await again(one.state, { a: yes }));
    expect(Object.keys(two.questions)).toEqual(["b"]);
    expect(textOf(await again(two.state, { b: no }))).toBe("true,false");
  });
});

describe("answers", () => {
  const both: Run = async (_, { ask }) => {
    const [a, b] = await Promise.all([ask("A?", form, { key: "a" }), ask("B?", form, { key: "b" })]);
    return `${a.ok},${b.ok}`;
  };

  it("that are missing are asked for again, the others count", async () => {
    const { first, again } = asking(both);
    const one = askedBy(await first());
    const two = askedBy(await again(one.state, { a: no }));
    expect(Object.keys(two.questions)).toEqual(["b"]);
    expect(textOf(await again(two.state, { b: yes }))).toBe("false,true");
  });

  it.each<[string, JsonObject | undefined]>([
    ["missing altogether", undefined],
    ["none at all", {}],
    ["to questions nobody asked", { c: yes, __proto__: yes, constructor: yes }],
  ])("that are %s: the same questions come again", async (_, answers) => {
    const { first, again } = asking(both);
    const one = askedBy(await first());
    const two = askedBy(await again(one.state, answers));
    expect(two.questions).toEqual(one.questions);
    expect(textOf(await again(two.state, { a: yes, b: yes, c: no }))).toBe("true,true");
  });

  it.each([
    ["of the wrong type", { action: "accept", content: { ok: "yes" } }],
    ["of no known action", { action: "perhaps" }],
    ["that are no object", 12345],
    ["that are null", null],
  ])("%s are refused, and the run can still go on", async (_, bad) => {
    const effects: string[] = [];
    const { first, again } = asking(async (input, context) => {
      effects.push("start");
      return both(input, context);
    });
    const { state } = askedBy(await first());
    const failure = failureOf(await again(state, { a: yes, b: bad }));
    expect(failure.code).toBe("invalid-params");
    expect(failure.message).toMatch(/^the answer to b is malformed: /);
    expect(textOf(await again(state, { a: yes, b: no }))).toBe("true,false");
    expect(effects).toEqual(["start"]);
  });

  it("that are the same again get the recorded outcome, and others are refused: the handler runs once", async () => {
    const effects: string[] = [];
    const { again, first, passing } = asking(async (_, { ask }) => {
      const { ok } = await ask("Charge?", form);
      return `charge ${effects.push("charged")}: ${ok}`;
    });
    const { state } = askedBy(await first());
    const together = await passing(Promise.all([again(state, { "ask-1": yes }), again(state, { "ask-1": yes })]));
    const outcomes = [...together, await again(state, { "ask-1": yes })];
    expect(outcomes.map(textOf)).toEqual(Array.from({ length: 3 }, () => "charge 1: true"));
    expect(failureOf(await again(state, { "ask-1": no }))).toEqual({ code: "invalid-params", message: usedAlready });
    expect(effects).toEqual(["charged"]);
  });

  it("that are the same again are refused when too many outcomes have come since to keep theirs", async () => {
    const effects: string[] = [];
    const run: Run = async (_, { ask }) => {
      await ask("Charge?", form);
      effects.push("charged");
      return "x".repeat(12_000_000);
    };
    const { again, first } = asking(run, { budgets: { principal: { maxHeldBytes: 30_000_000 } } });
    const states: string[] = [];
    for (let calls = 0; calls < 3; calls++) states.push(askedBy(await first()).state);
    for (const state of states) expect((await again(state, { "ask-1": yes })).kind).toBe("complete");
    expect(failureOf(await again(String(states[0]), { "ask-1": yes })).message).toBe(usedAlready);
    expect((await again(String(states[2]), { "ask-1": yes })).kind).toBe("complete");
    expect(effects).toHaveLength(3);
  });

  it("count once also for an earlier round", async () => {
    const { first, again } = asking(both);
    const one = askedBy(await first());
    const two = askedBy(await again(one.state, { a: yes }));
    expect(failureOf(await again(one.state, { a: no })).message).toBe(usedAlready);
    expect(textOf(await again(two.state, { b: yes }))).toBe("true,true");
  });
});

const usedAlready = "the request state is refused: it was used already";

it.each(["never", "required"] as const)(
  "a handler that blocks its process goes on: tool with task %s",
  async (task) => {
    const manual = createManualClock();
    let blockedMs = 0;
    const now = (): number => manual.now() + blockedMs;
    const clock = { after: manual.after, now, date: now };
    const run = async (_: unknown, { ask, step }: Context) => {
      if (task === "never") await ask("Sure?", form);
      // Longer than a lease lasts, and no timer runs meanwhile.
      blockedMs += 60_000;
      await manual.advanceAsync(20_000);
      return step("one", () => "done");
    };
    const server = createServer({ ...info, clock, tools: { it: tool({ task, timeoutMs: 0, run }) } });
    const { first, again } = speaker(server, "tools/call", { name: "it" });
    if (task === "never") {
      expect(textOf(await again(askedBy(await first()).state, { "ask-1": yes }))).toBe("done");
      return;
    }
    const tasks = { wanted: true };
    const outcome = await first({ tasks });
    const taskId = outcome.kind === "task" ? outcome.task.taskId : "";
    await manual.advanceAsync(30_000);
    const found = await send(server, "tasks/get", { taskId }, { tasks });
    expect(resultOf(found)).toMatchObject({ status: "completed", result: { content: [{ text: "done" }] } });
  },
);

describe("runs that wait too long, or too many", () => {
  function leaving(options: Partial<ServerOptions>) {
    const log: string[] = [];
    const server = asking(async ({ who }, { ask, signal }) => {
      log.push(`${who} starts`);
      try {
        await ask("Sure?", form);
        return `${who} done`;
      } catch (error) {
        log.push(`${who} ${(error as Error).message}, aborted: ${signal.aborted}`);
        throw error;
      } finally {
        log.push(`${who} leaves`);
      }
    }, options);
    const call = (who: string, parts?: Parts<"tools/call">) =>
      send(server.server, "tools/call", { name: "it", arguments: { who } }, parts);
    return { ...server, call, log };
  }

  it("are given up after the time they have, and their finally blocks run", async () => {
    const { call, clock, faults, log } = leaving({ askTimeoutMs: 1_000 });
    const { state } = askedBy(await call("ann"));
    await clock.advanceAsync(999);
    expect(log).toEqual(["ann starts"]);
    await clock.advanceAsync(1);
    expect(log).toEqual(["ann starts", "ann no answer came in time, aborted: true", "ann leaves"]);
    expect(failureOf(await call("ann", { state, answers: { "ask-1": yes } })).message).toBe(
      "the request state is refused: it has expired",
    );
    expect(faults).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  it("the oldest give way, and are run again when their client comes back", async () => {
    const { call, clock, faults, log } = leaving({ budgets: { principal: { maxParkedCalls: 2 } } });
    const states = [];
    for (const who of ["ann", "bob", "cid"]) states.push(askedBy(await call(who)).state);
    await clock.advanceAsync(0);
    expect(log).toEqual([
      "ann starts",
      "bob starts",
      "cid starts",
      "ann too many calls wait for answers, aborted: true",
      "ann leaves",
    ]);
    log.length = 0;
    expect(textOf(await call("bob", { state: states[1], answers: { "ask-1": yes } }))).toBe("bob done");
    expect(log).toEqual(["bob leaves"]);
    expect(textOf(await call("ann", { state: states[0], answers: { "ask-1": yes } }))).toBe("ann done");
    expect(log).toEqual(["bob leaves", "ann starts", "ann leaves"]);
    expect(faults).toEqual([]);
  });

  it("leave no timer behind when they are answered", async () => {
    const { call, clock } = leaving({});
    const { state } = askedBy(await call("ann"));
    await call("ann", { state, answers: { "ask-1": yes } });
    // The memory that knows of the run forgets it in the end, too.
    await clock.advanceAsync(7_200_000);
    expect(clock.pending).toBe(0);
  });

  it("cannot ask again once they are given up", async () => {
    const codes: string[] = [];
    const { clock, first } = asking(async (_, { ask }) => {
      for (let i = 0; i < 3; i++) await ask("Sure?", form).catch(({ code }: { code: string }) => codes.push(code));
    });
    askedBy(await first());
    await clock.advanceAsync(600_000);
    expect(codes).toEqual(["cancelled", "cancelled", "cancelled"]);
  });

  it("end nothing but themselves when a second question is never awaited", async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown): void => void unhandled.push(reason);
    process.on("unhandledRejection", note);
    try {
      const { clock, first } = asking(async (_, { ask }) => {
        const [a, b] = [ask("A?", form), ask("B?", form)];
        await a;
        await b;
      });
      askedBy(await first());
      await clock.advanceAsync(600_000);
      expect(unhandled).toEqual([]);
    } finally {
      process.off("unhandledRejection", note);
    }
  });
});

it("a question that is no JSON fails the call that asks, and ends the run", async () => {
  const log: string[] = [];
  const { clock, first, faults } = asking(async (_, { sample }) => {
    try {
      await sample({ messages: [], maxTokens: 1n as never });
    } finally {
      log.push("finally");
    }
  });
  expect(resultOf(await first())).toMatchObject({ isError: true });
  await clock.advanceAsync(0);
  expect(faults).toMatchObject([[{ message: expect.stringContaining("BigInt") }, { name: "it" }]]);
  expect(log).toEqual(["finally"]);
});

describe("answers that come unasked", () => {
  it("count when the call brings no state, and extra ones are ignored", async () => {
    const { first } = asking(async (_input, { ask }) => `${(await ask("Sure?", form, { key: "sure" })).ok}`);
    expect(await first({ answers: { sure: yes, other: no } })).toMatchObject({
      kind: "complete",
      result: { content: [{ text: "true" }] },
    });
  });

  it("are not asked for again when another question suspends the handler", async () => {
    const { first, again } = asking(async (_input, { ask }) => {
      const one = await ask("One?", form, { key: "one" });
      const two = await ask("Two?", form, { key: "two" });
      return `${one.ok} ${two.ok}`;
    });
    const { questions, state } = askedBy(await first({ answers: { one: yes } }));
    expect(Object.keys(questions)).toEqual(["two"]);
    expect(resultOf(await again(state, { two: no }))).toMatchObject({
      content: [{ text: "true false" }],
    });
  });

  it("are refused when they are malformed, and the handler does not see them", async () => {
    const { first } = asking(async (_input, { ask }) => `${(await ask("Sure?", form, { key: "sure" })).ok}`);
    expect(failureOf(await first({ answers: { sure: 12345 } }))).toMatchObject({ code: "invalid-params" });
  });
});

describe("a question where a handler ends with its request", () => {
  it("runs the handler again in each round, and its steps once (T8)", async () => {
    const done: string[] = [];
    const run: Run = async (_, { ask, step }) => {
      done.push("run");
      await step("hold", () => done.push("hold"));
      const first = await ask("Sure?", form);
      await step("charge", () => done.push("charge"));
      const second = await ask("Really?", form);
      return `${first.ok} ${second.ok}`;
    };
    const clock = Object.assign(createManualClock(), { requestBound: true });
    const { first, again } = asking(run, { clock });
    const asked = await first();
    const askedAgain = await again(askedBy(asked).state, { "ask-1": yes });
    expect(textOf(await again(askedBy(askedAgain).state, { "ask-2": no }))).toBe("true false");
    expect(done).toEqual(["run", "hold", "run", "charge", "run"]);
    expect(failureOf(await again(askedBy(askedAgain).state, { "ask-2": yes }))).toMatchObject({
      code: "invalid-params",
    });
  });

  it("lets a client that sent a malformed answer send another one (T8)", async () => {
    const clock = Object.assign(createManualClock(), { requestBound: true });
    const { first, again } = asking(async (_, { ask }) => `${(await ask("Sure?", form)).ok}`, {
      clock,
    });
    const { state } = askedBy(await first());
    const malformed = { action: "accept", content: { ok: "perhaps" } };
    expect(failureOf(await again(state, { "ask-1": malformed }))).toMatchObject({ code: "invalid-params" });
    expect(textOf(await again(state, { "ask-1": yes }))).toBe("true");
  });
});
