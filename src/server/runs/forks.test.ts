import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { passing } from "../../../test/support/cluster.ts";
import { askedBy, failureOf, peer, send } from "../../../test/support/direct.ts";
import { gate } from "../../../test/support/served.ts";
import type { JsonObject } from "../../json/json.ts";
import type { Outcome } from "../../protocol/service.ts";
import { loadCompiler } from "../../schema/to-validator.ts";
import { memoryStore } from "../../store/memory-store.ts";
import { createManualClock } from "../../testing/clock.ts";
import type { ServerOptions } from "../options.ts";
import { createServer } from "../server.ts";
import { tool } from "../tool.ts";

const form = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] } as const;
const answers = {
  yes: { action: "accept", content: { ok: true } },
  no: { action: "accept", content: { ok: false } },
  malformed: { action: "accept", content: { ok: "perhaps" } },
} as const;

const usedAlready = { code: "invalid-params", message: "the request state is refused: it was used already" };

beforeAll(async () => {
  await loadCompiler();
});

/** Steps before, between and after two rounds of questions, and a client that may bring back any state it ever got. */
function shop(given: Partial<ServerOptions>, requestBound = false) {
  const clock = Object.assign(createManualClock(), { requestBound });
  const options = { askTimeoutMs: 1e9, ...given };
  const effects: string[] = [];
  const done = (key: string) => () => void effects.push(key);
  const buy = tool({
    run: async (_, { ask, step }) => {
      await step("hold", done("hold"));
      const [one, two] = await Promise.all([ask("One?", form, { key: "one" }), ask("Two?", form, { key: "two" })]);
      await step("charge", done("charge"));
      const three = await ask("Three?", form, { key: "three" });
      await step("mail", done("mail"));
      return [one.ok, two.ok, three.ok].join();
    },
  });
  const server = createServer({
    name: "shop",
    version: "1",
    stateKeys: ["3cEDg27oIL_V-ILeoe_VehUlnEJoLp6vI9k6eSlNG8E"],
    clock,
    timeoutMs: 0,
    onError: () => {},
    ...options,
    tools: { buy },
  });
  const call = (n: number, parts: { state?: string | undefined; answers?: JsonObject } = {}): Promise<Outcome> =>
    passing(clock)(send(server, "tools/call", { name: "buy", arguments: { n } }, { ...parts, peer: peer() }));
  return { effects, call };
}

const answer = fc.constantFrom<(keyof typeof answers | undefined)[]>("yes", "no", "malformed", undefined);
const attempt = fc.record({ state: fc.nat(20), one: answer, two: answer, three: answer, other: fc.boolean() });

const places: readonly [where: string, options: () => Partial<ServerOptions>, requestBound?: boolean][] = [
  ["in one process", () => ({})],
  ["on a store", () => ({ store: memoryStore() })],
  ["where one handler may wait", () => ({ budgets: { principal: { maxParkedCalls: 1 } } })],
  ["where there is no room to keep outcomes", () => ({ budgets: { principal: { maxHeldBytes: 6_000 } } })],
  ["where a handler ends with its request", () => ({}), true],
];

describe.each(places)("a state %s", (_, options, requestBound) => {
  it("has every step done once, whatever is brought back how often and in which order (S8)", async () => {
    const property = fc.asyncProperty(fc.array(attempt, { minLength: 1, maxLength: 25 }), async (attempts) => {
      const { effects, call } = shop(options(), requestBound);
      const states = [askedBy(await call(1)).state];
      for (const { state, other, ...chosen } of attempts) {
        // Another run of the same caller, whose journal takes room.
        const asked = other ? await call(2) : undefined;
        if (asked !== undefined) await call(2, { state: askedBy(asked).state });
        const given = Object.entries(chosen).flatMap(([key, how]) => (how === undefined ? [] : [[key, answers[how]]]));
        const outcome = await call(1, { state: states[state % states.length], answers: Object.fromEntries(given) });
        if (outcome.kind === "input-required" && outcome.state !== undefined) states.push(outcome.state);
      }
      const own = effects.filter((key, index) => key !== "hold" && effects.indexOf(key) !== index);
      expect(own).toEqual([]);
    });
    await fc.assert(property, { numRuns: 60, endOnFailure: true });
  });

  it("with its answers gets what came of them, and is refused with others (S8)", async () => {
    const { effects, call } = shop(options(), requestBound);
    const one = askedBy(await call(1));
    const empty = await call(1, { state: one.state, answers: {} });
    expect(failureOf(await call(1, { state: one.state, answers: { one: answers.malformed } })).code).toBe(
      "invalid-params",
    );
    const both = { one: answers.yes, two: answers.no };
    const two = askedBy(await call(1, { state: askedBy(empty).state, answers: both }));
    expect(Object.keys(two.questions)).toEqual(["three"]);
    const end = await call(1, { state: two.state, answers: { three: answers.yes } });
    expect(end).toMatchObject({ result: { content: [{ text: "true,false,true" }] } });
    for (const { state } of [one, askedBy(empty)]) {
      const refused = await call(1, { state, answers: { ...both, two: answers.yes } });
      expect(failureOf(refused)).toEqual(usedAlready);
    }
    expect(effects).toEqual(["hold", "charge", "mail"]);
  });
});

it("a step that a waiting handler did is done once, also when the handler has to make room (S8)", async () => {
  const clock = createManualClock();
  const more = gate();
  const effects: string[] = [];
  const buy = tool({
    run: async ({ n }: { n: number }, { ask, step }) => {
      const later = n === 1 ? more.opened.then(() => step("later", () => void effects.push("later"))) : undefined;
      const { ok } = await ask("Sure?", form);
      await later;
      return ok;
    },
    input: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
  });
  const budgets = { principal: { maxParkedCalls: 1 } };
  const server = createServer({ name: "shop", version: "1", clock, budgets, tools: { buy } });
  const call = (n: number, parts = {}) => send(server, "tools/call", { name: "buy", arguments: { n } }, parts);
  const { state } = askedBy(await call(1));
  more.open();
  await clock.advanceAsync(0);
  expect(effects).toEqual(["later"]);
  await call(2);
  await clock.advanceAsync(0);
  expect(await call(1, { state, answers: { "ask-1": answers.yes } })).toMatchObject({ kind: "complete" });
  expect(effects).toEqual(["later"]);
});
