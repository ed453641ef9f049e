import { describe, expect, it } from "vitest";
import { makeCall, peer } from "../../test/support/direct.ts";
import type { JsonObject } from "../json/json.ts";
import type { CallOf, OutcomeOf } from "../protocol/service.ts";
import { createServer, tool } from "../server/index.ts";
import { type Gateway, openGateway } from "./open-gateway.ts";
import type { GatewayRule } from "./rule.ts";

const form = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] } as const;

/** A bank that counts what it does. */
function createBank() {
  const done: string[] = [];
  const bank = createServer({
    name: "bank",
    version: "1",
    stateKeys: ["0123456789abcdef".repeat(4)],
    tools: {
      pay: tool({
        run: async (_, ctx) => {
          const { ok } = await ctx.ask("Really?", form);
          done.push(`paid ${ok}`);
          return "paid";
        },
      }),
      give: tool({ run: () => void done.push("given") }),
    },
  });
  return { bank, done };
}

const open = (bank: ReturnType<typeof createBank>["bank"], rules: readonly GatewayRule[]): Promise<Gateway> =>
  openGateway({ bank }, { rules, stateKeys: ["0123456789abcdef".repeat(4)] });

const as = (principal: string) => ({ ...peer({ elicitation: {} }), auth: { principal } });

type ToolOutcome = OutcomeOf<"tools/call">;

interface Parts extends Partial<CallOf> {
  readonly args?: JsonObject;
  readonly name?: string;
}

/** A call of a client of 2026-07-28, as it comes. */
function call(gateway: Gateway, principal: string, parts: Parts = {}) {
  const { args = {}, name = "pay", ...more } = parts;
  const made = makeCall("tools/call", { name: `bank__${name}`, arguments: args }, {
    peer: as(principal),
    ...more,
  } as never);
  return gateway(made.call as CallOf<"tools/call">);
}

async function approveNext({ approvals }: Gateway): Promise<void> {
  for await (const { kind, approval } of approvals.changes()) {
    if (kind === "waiting") return approvals.answer(approval.id, { approved: true, by: "boss" });
  }
}

/** The state of an approved call whose server has asked, and the answer to it. */
async function askedState(gateway: Gateway, rule: "queue" | "caller"): Promise<Partial<CallOf>> {
  const answered = rule === "queue" ? approveNext(gateway) : undefined;
  const first = await call(gateway, "ann");
  await answered;
  const outcome = rule === "queue" ? first : await call(gateway, "ann", answerTo(first, { approve: true }));
  return answerTo(outcome, { ok: true });
}

function answerTo(outcome: ToolOutcome, content: JsonObject): Partial<CallOf> {
  if (outcome.kind !== "input-required") throw new Error(`no question: ${JSON.stringify(outcome)}`);
  const answers = Object.fromEntries(Object.keys(outcome.questions).map((key) => [key, { action: "accept", content }]));
  return { answers, state: outcome.state };
}

describe.each(["queue", "caller"] as const)("a call that is approved by the %s", (approve) => {
  const rules: GatewayRule[] = [{ action: "approve", tools: "bank:pay", approve }];

  it("goes on once with what its server has asked", async () => {
    const { bank, done } = createBank();
    await using gateway = await open(bank, rules);
    const back = await askedState(gateway, approve);
    const both = await Promise.all([call(gateway, "ann", back), call(gateway, "ann", back)]);
    expect(both.map(({ kind }) => kind).sort()).toEqual(["complete", "failed"]);
    expect(both).toContainEqual(expect.objectContaining({ failure: expect.objectContaining({ code: "denied" }) }));
    expect(done).toEqual(["paid true"]);
  });

  it("cannot be gone on with by another caller, or with other arguments", async () => {
    const { bank, done } = createBank();
    await using gateway = await open(bank, rules);
    const back = await askedState(gateway, approve);
    await expectUnapproved(gateway, () => call(gateway, "eve", back));
    await expectUnapproved(gateway, () => call(gateway, "ann", { ...back, args: { to: "eve" } }));
    expect(done).toEqual([]);
    expect(await call(gateway, "ann", back)).toMatchObject({ kind: "complete" });
  });

  it("is not approved by a state that somebody made up", async () => {
    const { bank, done } = createBank();
    await using gateway = await open(bank, rules);
    for (const state of ["", "1.AAAA", "x".repeat(10_000)]) {
      await expectUnapproved(gateway, () => call(gateway, "ann", { state, answers: {}, args: { state } }));
    }
    expect(done).toEqual([]);
  });
});

/** A call that is refused, or waits for an approval of its own. */
async function expectUnapproved(gateway: Gateway, make: () => Promise<ToolOutcome>): Promise<void> {
  const waiting = waitFor(gateway);
  const ended = await Promise.race([make(), waiting]);
  expect(ended === "waiting" || ended.kind === "failed").toBe(true);
}

async function waitFor({ approvals }: Gateway): Promise<"waiting"> {
  for await (const { kind } of approvals.changes()) if (kind === "waiting") break;
  return "waiting";
}

it("a state from before there was a rule is no approval", async () => {
  const { bank, done } = createBank();
  const free = await open(bank, []);
  const outcome = await call(free, "ann");
  const back = answerTo(outcome, { ok: true });
  await free.close();
  await using gateway = await open(bank, [{ action: "approve" }]);
  expect(await Promise.race([call(gateway, "ann", back), waitFor(gateway)])).toBe("waiting");
  expect(done).toEqual([]);
});

it("a yes of the caller that arrives twice is used once", async () => {
  const { bank, done } = createBank();
  await using gateway = await open(bank, [{ action: "approve", approve: "caller" }]);
  const yes = { name: "give", ...answerTo(await call(gateway, "ann", { name: "give" }), { approve: true }) };
  await Promise.all([call(gateway, "ann", yes), call(gateway, "ann", yes)]);
  await call(gateway, "ann", yes);
  expect(done).toEqual(["given"]);
  const no = answerTo(await call(gateway, "ann", { name: "give" }), { approve: "true" });
  expect(await call(gateway, "ann", { name: "give", ...no })).toMatchObject({ failure: { code: "declined" } });
  expect(done).toEqual(["given"]);
});
