import { afterEach, describe, expect, it } from "vitest";
import { createLog } from "../../test/e2e/support/events.ts";
import { makeCall, peer } from "../../test/support/direct.ts";
import type { Question } from "../protocol/input.ts";
import { type ClientInfo, session } from "../protocol/peer.ts";
import type { CallOf, CallSource, Outcome } from "../protocol/service.ts";
import { createServer, tool } from "../server/index.ts";
import { serveHttp } from "../transport/node/serve-http.ts";
import { type Gateway, type GatewayOptions, openGateway } from "./open-gateway.ts";

const open: AsyncDisposable[] = [];

afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each[Symbol.asyncDispose]();
});

const form = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] } as const;

/** A server of 2025-11-25 whose calls ask when all of them run. */
async function start(calls: number, options: GatewayOptions = {}) {
  const running = createLog<string>();
  const shop = createServer({
    name: "shop",
    version: "1",
    tools: {
      buy: tool({
        input: { type: "object", properties: { what: { type: "string" } }, required: ["what"] } as const,
        run: async ({ what }, ctx) => {
          running.add(what);
          await running.count(calls);
          const { ok } = await ctx.ask(`Buy ${what}?`, form);
          return `${what}: ${ok}`;
        },
      }),
    },
  });
  const upstream = await serveHttp(shop, { port: 0 });
  const target = { target: upstream.url, connectOptions: { revision: "2025-11-25" as const } };
  const gateway = await openGateway({ shop: target }, options);
  open.push(upstream, gateway);
  return gateway;
}

const ann: ClientInfo = { ...peer({ elicitation: { form: {} } }), auth: { principal: "ann" } };

function buy(gateway: Gateway, what: string, given: Partial<CallSource<"tools/call">> = {}) {
  const params = { name: "shop__buy", arguments: { what } };
  const { call } = makeCall("tools/call", params, { peer: ann, ...given } as never);
  return gateway(call as CallOf<"tools/call">) as Promise<Outcome<"tools/call">>;
}

const messagesOf = (outcome: Outcome): readonly string[] =>
  outcome.kind === "input-required"
    ? Object.values(outcome.questions).map(({ params }) => String((params as { message?: string }).message))
    : [`no question: ${JSON.stringify(outcome)}`];

describe("calls of one user at the same time", () => {
  it("get their own questions, however many windows the user has open", async () => {
    const things = ["tea", "jam", "bread"];
    const gateway = await start(things.length);
    const outcomes = await Promise.all(things.map((what) => buy(gateway, what)));
    expect(outcomes.map(messagesOf)).toEqual(things.map((what) => [`Buy ${what}?`]));
    const done = outcomes.map(async (outcome, index) => {
      if (outcome.kind !== "input-required") throw new Error("not asked");
      const answer = { action: "accept", content: { ok: index === 1 } };
      const answers = Object.fromEntries(Object.keys(outcome.questions).map((key) => [key, answer]));
      const last = await buy(gateway, things[index] ?? "", { answers, state: outcome.state });
      return last.kind === "complete" ? last.result.content : last;
    });
    const texts = things.map((what, index) => [{ type: "text", text: `${what}: ${index === 1}` }]);
    expect(await Promise.all(done)).toEqual(texts);
  });

  it("in one session get their questions by the streams that bring them", async () => {
    const things = ["tea", "jam", "bread"];
    const gateway = await start(things.length);
    const known = { ...ann, revision: "2025-11-25", [session]: { id: "s", state: undefined } } as unknown as ClientInfo;
    const asked: string[] = [];
    const ask = (what: string) => async (question: Question) => {
      asked.push(`${what}: ${(question.params as { message?: string }).message}`);
      return { action: "accept", content: { ok: true } } as const;
    };
    await Promise.all(things.map((what) => buy(gateway, what, { peer: known, ask: ask(what) })));
    expect(asked.sort()).toEqual(things.map((what) => `${what}: Buy ${what}?`).sort());
    expect(gateway.status().servers[0]?.callerConnections).toBe(1);
  });

  it("share a connection where the user has all there may be", async () => {
    const gateway = await start(2, { maxUpstreamSessionsPerCaller: 1 });
    const outcomes = await Promise.all(["tea", "jam"].map((what) => buy(gateway, what)));
    expect(outcomes.map(messagesOf)).toEqual([["Buy tea?"], ["Buy jam?"]]);
    expect(gateway.status().servers[0]?.callerConnections).toBe(1);
  });
});
