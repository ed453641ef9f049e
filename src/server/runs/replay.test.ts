import { beforeAll, describe, expect, it } from "vitest";
import { passing } from "../../../test/support/cluster.ts";
import { askedBy, failureOf, faultLog, resultOf, send } from "../../../test/support/direct.ts";
import { gate } from "../../../test/support/served.ts";
import type { Json, JsonObject } from "../../json/json.ts";
import { loadCompiler } from "../../schema/to-validator.ts";
import { createManualClock } from "../../testing/clock.ts";
import type { Context } from "../context.ts";
import { createServer } from "../server.ts";
import { tool } from "../tool.ts";

const form = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] } as const;
const yes = { action: "accept", content: { ok: true } };
const no = { action: "accept", content: { ok: false } };
const stateKeys = ["GUaCGLOvc4jP4tCyKo1uKgQBSKx8AG73xnBjdlIjQ4Q"];

beforeAll(async () => {
  await loadCompiler();
});

type Run = (context: Context, node: string) => unknown;

/** Two processes that serve the same tool, and a client whose calls reach either. */
function cluster(run: Run) {
  const clock = createManualClock();
  const { faults, onError } = faultLog();
  const node = (name: string) => {
    const it = tool({ run: (_, context) => run(context, name) });
    return createServer({ name: "shop", version: "1", stateKeys, clock, onError, tools: { it } });
  };
  const nodes = { a: node("a"), b: node("b") };
  return {
    clock,
    faults,
    call: (name: "a" | "b", state?: string, answers?: JsonObject) =>
      send(nodes[name], "tools/call", { name: "it" }, { state, answers }),
  };
}

const textOf = (outcome: Awaited<ReturnType<typeof send>>): unknown => {
  const { content } = resultOf(outcome as never) as { content: readonly { text?: string }[] };
  return content[0]?.text;
};

/** Answers everything, round after round, on alternating nodes or always the same. */
async function talk(call: ReturnType<typeof cluster>["call"], nodes: readonly ("a" | "b")[], answer: Json) {
  let outcome = await call("a");
  for (const node of nodes) {
    if (outcome.kind !== "input-required") break;
    const { questions, state } = askedBy(outcome);
    const answers = Object.fromEntries(Object.keys(questions).map((key) => [key, answer]));
    outcome = await call(node, state, answers);
  }
  return outcome;
}

describe("another process", () => {
  it("runs the handler again from its start", async () => {
    const log: string[] = [];
    const { call } = cluster(async ({ ask }, node) => {
      log.push(`${node} starts`);
      const { ok } = await ask("Sure?", form);
      return `${node}: ${ok}`;
    });
    const { state } = askedBy(await call("a"));
    expect(textOf(await call("b", state, { "ask-1": yes }))).toBe("b: true");
    expect(log).toEqual(["a starts", "b starts"]);
  });

  it("runs no step again, and gives the result it had", async () => {
    const log: string[] = [];
    const { call } = cluster(async ({ ask, step }, node) => {
      const hold = await step("hold", () => {
        log.push(`${node} holds`);
        return { id: `hold of ${node}`, legs: [1, 2] };
      });
      const { ok } = await ask("Sure?", form);
      const charge = await step("charge", async () => {
        log.push(`${node} charges`);
        return node;
      });
      await ask("Receipt?", form);
      return `${hold.id}, ${hold.legs.length} legs, ${ok}, charged by ${charge}`;
    });
    const one = askedBy(await call("a"));
    const two = askedBy(await call("b", one.state, { "ask-1": yes }));
    expect(Object.keys(two.questions)).toEqual(["ask-2"]);
    expect(textOf(await call("a", two.state, { "ask-2": no }))).toBe("hold of a, 2 legs, true, charged by b");
    expect(log).toEqual(["a holds", "b charges"]);
  });

  it.each<[string, Json | undefined]>([
    ["nothing", undefined],
    ["null", null],
    ["false", false],
    ["an empty list", []],
  ])("runs no step again that had %s as its result", async (_, result) => {
    const log: unknown[] = [];
    const { call } = cluster(async ({ ask, step }, node) => {
      const value = await step("note", () => {
        log.push(node);
        return result;
      });
      await ask("Sure?", form);
      log.push([value]);
    });
    const { state } = askedBy(await call("a"));
    await call("b", state, { "ask-1": yes });
    expect(log).toStrictEqual(["a", [result]]);
  });

  it("has the answers of all earlier rounds", async () => {
    const run: Run = async ({ ask }) => {
      const given = [];
      for (const message of ["A?", "B?", "C?"]) given.push((await ask(message, form)).ok);
      return given.join();
    };
    const { call } = cluster(run);
    const one = askedBy(await call("a"));
    const two = askedBy(await call("b", one.state, { "ask-1": yes }));
    const three = askedBy(await call("a", two.state, { "ask-2": no }));
    expect(textOf(await call("b", three.state, { "ask-3": yes }))).toBe("true,false,true");
  });

  it("asks for what is still missing of several questions", async () => {
    const { call } = cluster(async ({ ask }) => {
      const [a, b] = await Promise.all([ask("A?", form, { key: "a" }), ask("B?", form, { key: "b" })]);
      return `${a.ok},${b.ok}`;
    });
    const one = askedBy(await call("a"));
    const two = askedBy(await call("b", one.state, { b: no }));
    expect(Object.keys(two.questions)).toEqual(["a"]);
    expect(textOf(await call("a", two.state, { a: yes }))).toBe("true,false");
  });

  it("reads the answers as strictly", async () => {
    const { call } = cluster(async ({ ask }) => (await ask("Sure?", form)).ok);
    const { state } = askedBy(await call("a"));
    const bad = { action: "accept", content: { ok: "yes" } };
    for (let attempt = 0; attempt < 2; attempt++) {
      const failure = failureOf(await call("b", state, { "ask-1": bad }));
      expect(failure).toMatchObject({ code: "invalid-params", message: expect.stringContaining("/ok") });
    }
    expect(textOf(await call("b", state, { "ask-1": yes }))).toBe("true");
  });

  it("lets a handler that got a malformed answer clean up, without a word of it", async () => {
    const log: string[] = [];
    const { call, faults } = cluster(async ({ ask, signal }, node) => {
      try {
        await ask("Sure?", form);
      } catch (error) {
        log.push(`${node} ${(error as { code: string }).code}, aborted: ${signal.aborted}`);
        throw error;
      }
    });
    const { state } = askedBy(await call("a"));
    await call("b", state, { "ask-1": 1 });
    expect(log).toEqual(["b cancelled, aborted: true"]);
    expect(faults).toEqual([]);
  });

  it("uses a state once: the same answers again get the recorded outcome, others are refused", async () => {
    const runs: string[] = [];
    const { call, clock } = cluster(async ({ ask }, node) => {
      const { ok } = await ask("Sure?", form);
      return `run ${runs.push(node)}: ${ok}`;
    });
    const { state } = askedBy(await call("a"));
    const same = () => call("b", state, { "ask-1": yes });
    const together = await passing(clock)(Promise.all([same(), same()]));
    expect([...together, await same()].map(textOf)).toEqual(Array.from({ length: 3 }, () => "run 1: true"));
    expect(failureOf(await call("b", state, { "ask-1": no })).message).toContain("used already");
    expect(runs).toEqual(["b"]);
  });

  it("without the keys refuses", async () => {
    const it = tool({ run: async (_, { ask }) => (await ask("Sure?", form)).ok });
    const [mine, other] = [
      createServer({ name: "shop", version: "1", stateKeys, tools: { it } }),
      createServer({ name: "shop", version: "1", tools: { it } }),
    ];
    const { state } = askedBy(await send(mine, "tools/call", { name: "it" }));
    const failure = failureOf(await send(other, "tools/call", { name: "it" }, { state, answers: { "ask-1": yes } }));
    expect(failure).toEqual({
      code: "invalid-params",
      message: "the request state is refused: it was not issued here, or was changed",
    });
  });
});

describe("an answer counts for the question it was given to", () => {
  it("and not for another with the same key", async () => {
    const prices = { a: 10, b: 12 };
    const { call } = cluster(async ({ ask }, node) => {
      const price = prices[node as "a" | "b"];
      return (await ask(`Pay ${price}?`, form, { key: "pay" })).ok ? `paid ${price}` : "not paid";
    });
    const one = askedBy(await call("a"));
    const two = askedBy(await call("b", one.state, { pay: yes }));
    expect(two.questions).toMatchObject({ pay: { params: { message: "Pay 12?" } } });
    expect(textOf(await call("b", two.state, { pay: yes }))).toBe("paid 12");
  });

  it("also where the order of questions differs between runs", async () => {
    const { call } = cluster(async ({ ask }, node) => {
      const files = node === "a" ? ["x", "y"] : ["y", "x"];
      const kept: string[] = [];
      const decide = async (file: string) => {
        if (!(await ask(`Delete ${file}?`, form)).ok) kept.push(file);
      };
      await Promise.all(files.map(decide));
      return `${node} keeps ${kept.join()}`;
    });
    const one = askedBy(await call("a"));
    const answers = Object.entries(one.questions).map(([key, { params }]) => {
      const { message } = params as { message: string };
      return [key, message === "Delete x?" ? yes : no] as const;
    });
    let outcome = await call("b", one.state, Object.fromEntries(answers));
    const again = askedBy(outcome);
    expect(Object.values(again.questions)).toMatchObject([
      { params: { message: "Delete y?" } },
      { params: { message: "Delete x?" } },
    ]);
    const mended = Object.entries(again.questions).map(([key, { params }]) => {
      const { message } = params as { message: string };
      return [key, message === "Delete x?" ? yes : no] as const;
    });
    outcome = await call("b", again.state, Object.fromEntries(mended));
    expect(textOf(outcome)).toBe("b keeps y");
  });
});

describe("handlers work the same, parked or run again", () => {
  const nodes = [
    ["parked", ["a", "a", "a", "a"]],
    ["run again", ["b", "a", "b", "a"]],
    ["parked, then run again", ["a", "b", "b", "a"]],
  ] as const;

  it.each(nodes)("try, catch and finally around a question: %s", async (_, way) => {
    const log: string[] = [];
    const { call } = cluster(async ({ ask }) => {
      try {
        await ask("Sure?", form);
        return "sure";
      } catch (error) {
        return `caught ${(error as { code: string }).code}`;
      } finally {
        await ask("Bye?", form).catch(() => {});
        log.push("finally");
      }
    });
    expect(textOf(await talk(call, way, { action: "decline" }))).toBe("caught declined");
    expect(log).toEqual(["finally"]);
  });

  it.each(nodes)("questions in a loop until the user is sure: %s", async (_, way) => {
    let times = 0;
    const { call } = cluster(async ({ ask, step }) => {
      for (let round = 1; ; round++) {
        if ((await ask("Sure?", form)).ok) return `sure after ${round}`;
        await step(`round ${round}`, () => void times++);
      }
    });
    let outcome = await call("a");
    for (const [index, node] of way.slice(0, 3).entries()) {
      const { questions, state } = askedBy(outcome);
      const [key = ""] = Object.keys(questions);
      outcome = await call(node, state, { [key]: index === 2 ? yes : no });
    }
    expect(textOf(outcome)).toBe("sure after 3");
    expect(times).toBe(2);
  });

  it.each(nodes)("branches that ask at their own pace: %s", async (_, way) => {
    const { call } = cluster(async ({ ask }) => {
      const twice = async (key: string) => {
        const one = await ask(`${key} 1?`, form, { key: `${key}1` });
        const two = await ask(`${key} 2?`, form, { key: `${key}2` });
        return `${key}${one.ok && two.ok}`;
      };
      const once = async () => `c${(await ask("c?", form, { key: "c" })).ok}`;
      return (await Promise.all([twice("a"), twice("b"), once()])).join();
    });
    expect(textOf(await talk(call, way, yes))).toBe("atrue,btrue,ctrue");
  });

  it.each(nodes)("questions of every kind: %s", async (_, way) => {
    const answers: JsonObject = {
      form: yes,
      page: { action: "accept" },
      model: { role: "assistant", content: { type: "text", text: "ho" }, model: "m" },
      places: { roots: [{ uri: "file:///a" }] },
    };
    const { call } = cluster(async ({ ask, askUrl, sample, roots }) => {
      const { ok } = await ask("Sure?", form, { key: "form" });
      await askUrl("Open", "https://x/y", { key: "page" });
      const { model } = await sample({ messages: [], maxTokens: 1 }, { key: "model" });
      const places = await roots({ key: "places" });
      return [ok, model, places.length].join();
    });
    let outcome = await call("a");
    for (const node of way) {
      const { questions, state } = askedBy(outcome);
      const given = Object.keys(questions).map((key) => [key, answers[key]]);
      outcome = await call(node, state, Object.fromEntries(given));
    }
    expect(textOf(outcome)).toBe("true,m,1");
  });
});

/** Time for a question to go out, if nothing held it back. */
async function turns(count: number): Promise<string> {
  for (let turn = 0; turn < count; turn++) await new Promise<void>((resolve) => setTimeout(resolve, 0));
  return "still waiting";
}

describe("steps", () => {
  it("that run when a question is asked are waited for, so that they are not run again", async () => {
    const log: string[] = [];
    const hold = gate();
    const { call } = cluster(async ({ ask, step }, node) => {
      const slow = step("slow", async () => {
        await hold.opened;
        log.push(`${node} did it`);
      });
      const [{ ok }] = await Promise.all([ask("Sure?", form), slow]);
      return ok;
    });
    const asked = call("a");
    expect(await Promise.race([asked, turns(5)])).toBe("still waiting");
    hold.open();
    const { state } = askedBy(await asked);
    expect(textOf(await call("b", state, { "ask-1": yes }))).toBe("true");
    expect(log).toEqual(["a did it"]);
  });

  it("share one run for one key", async () => {
    const log: string[] = [];
    const { call } = cluster(async ({ step }) => {
      const work = async () => {
        log.push("run");
        return log.length;
      };
      return (await Promise.all([step("s", work), step("s", work)])).join() + (await step("s", work));
    });
    expect(textOf(await call("a"))).toBe("1,11");
    expect(log).toEqual(["run"]);
  });

  it("that fail throw, and count as not run", async () => {
    const log: string[] = [];
    const { call } = cluster(async ({ step, ask }, node) => {
      const attempt = () =>
        step("flaky", async () => {
          log.push(node);
          if (log.length === 1) throw new Error("not yet");
          return "done";
        });
      await attempt().catch(() => {});
      const done = await attempt();
      await ask("Sure?", form);
      return done;
    });
    const { state } = askedBy(await call("a"));
    expect(textOf(await call("b", state, { "ask-1": yes }))).toBe("done");
    expect(log).toEqual(["a", "a"]);
  });

  it("give JSON, and the same to every run whatever a handler does with it", async () => {
    const at = new Date(0);
    const { call } = cluster(async ({ step, ask }) => {
      const kept = await step("kept", () => ({ at, list: [1, 2], none: undefined }));
      kept.list.pop();
      await ask("Sure?", form);
      await ask("Really?", form);
      const again = await step("kept", () => ({ at, list: [9], none: undefined }));
      return JSON.stringify([kept, again === kept, typeof again.at]);
    });
    const expected = JSON.stringify([{ at: at.toJSON(), list: [1] }, true, "string"]);
    expect(textOf(await talk(call, ["a", "a"], yes))).toBe(expected);
    expect(textOf(await talk(call, ["b", "a"], yes))).toBe(expected);
  });

  it("that are no JSON fail", async () => {
    const { call, faults } = cluster(({ step }) => step("odd", () => 1n));
    expect(resultOf(await call("a"))).toMatchObject({ isError: true });
    expect(faults).toMatchObject([[{ message: expect.stringContaining("BigInt") }, {}]]);
  });

  it("may be called like members of every object", async () => {
    const { call } = cluster(async ({ step, ask }, node) => {
      const values = [];
      for (const key of ["__proto__", "constructor", "toString"]) values.push(await step(key, () => `${key} ${node}`));
      await ask("Sure?", form);
      return values.join();
    });
    const { state } = askedBy(await call("a"));
    const text = textOf(await call("b", state, { "ask-1": yes }));
    expect(text).toBe("__proto__ a,constructor a,toString a");
  });
});
