import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { able, askedBy, failureOf, type Parts, resultOf, send } from "../../../test/support/direct.ts";
import type { JsonObject } from "../../json/json.ts";
import type { Method, Params } from "../../protocol/methods.ts";
import { loadCompiler } from "../../schema/to-validator.ts";
import { createManualClock } from "../../testing/clock.ts";
import type { ServerOptions } from "../options.ts";
import { prompt } from "../prompt.ts";
import { resource } from "../resource.ts";
import { createServer } from "../server.ts";
import { tool } from "../tool.ts";
import { newId } from "./ticket.ts";

const form = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] } as const;
const answers = { "ask-1": { action: "accept", content: { ok: true } } };
const stateKeys = ["KXnZTXoiyrcQMW6czKs-zDymBYXuXckvnfvRrwwowRI"];

beforeAll(async () => {
  await loadCompiler();
});

function bank(keys: readonly string[] = stateKeys, options: Partial<ServerOptions> = {}) {
  const clock = createManualClock(1_000_000);
  const pay = tool({ run: async (_, { ask }) => (await ask("Pay?", form)).ok });
  const server = createServer({
    name: "bank",
    version: "1",
    stateKeys: keys,
    clock,
    askTimeoutMs: 1_000,
    ...options,
    tools: { pay, paint: pay },
    prompts: { pay: prompt({ get: async (_, { ask }) => String((await ask("Pay?", form)).ok) }) },
    resources: [resource("pay://{to}", { read: async (_, { ask }) => (await ask("Pay?", form)).ok })],
  });
  return { clock, server };
}

const as = (principal?: string): Parts<Method> => ({
  peer: { revision: "2026-07-28", capabilities: able, ...(principal !== undefined && { auth: { principal } }) },
});

const payBob: Params<"tools/call"> = { name: "pay", arguments: { to: "bob", items: [{ a: 1, b: 2 }] } };

describe("a state", () => {
  it("is good for the same call of the same caller, however it is written", async () => {
    const { server } = bank();
    const { state } = askedBy(await send(server, "tools/call", payBob, as("ann")));
    const same = { arguments: { items: [{ b: 2, a: 1 }], to: "bob" }, name: "pay" };
    const outcome = await send(server, "tools/call", same, { ...as("ann"), state, answers });
    expect(resultOf(outcome).content).toEqual([{ type: "text", text: "true" }]);
  });

  it("is not bound to what only describes the request", async () => {
    const { server } = bank();
    const one = { ...payBob, _meta: { progressToken: 1 } };
    const two = { ...payBob, _meta: { progressToken: 2 }, requestState: "x", inputResponses: {} };
    const { state } = askedBy(await send(server, "tools/call", one));
    expect((await send(server, "tools/call", two, { state, answers })).kind).toBe("complete");
  });

  it.each<[string, Method, JsonObject, Parts<Method>]>([
    ["another caller", "tools/call", { ...payBob }, as("eve")],
    ["nobody", "tools/call", { ...payBob }, as()],
    ["other arguments", "tools/call", { name: "pay", arguments: { to: "eve", items: [{ a: 1, b: 2 }] } }, as("ann")],
    ["more arguments", "tools/call", { name: "pay", arguments: { ...payBob.arguments, x: 1 } }, as("ann")],
    ["no arguments", "tools/call", { name: "pay" }, as("ann")],
    ["another tool", "tools/call", { ...payBob, name: "paint" }, as("ann")],
    ["another method", "prompts/get", { ...payBob, name: "pay" }, as("ann")],
    ["a resource", "resources/read", { uri: "pay://bob" }, as("ann")],
  ])("is refused with %s", async (_, method, params, parts) => {
    const { server } = bank();
    const { state } = askedBy(await send(server, "tools/call", payBob, as("ann")));
    const outcome = await send(server, method, params as never, { ...parts, state, answers });
    expect(failureOf(outcome)).toEqual({
      code: "invalid-params",
      message: "the request state is refused: it belongs to another call or caller",
    });
    const honest = await send(server, "tools/call", payBob, { ...as("ann"), state, answers });
    expect(honest.kind).toBe("complete");
  });

  it("of one resource is refused with another", async () => {
    const { server } = bank();
    const { state } = askedBy(await send(server, "resources/read", { uri: "pay://bob" }));
    const outcome = await send(server, "resources/read", { uri: "pay://eve" }, { state, answers });
    expect(failureOf(outcome).message).toContain("another call or caller");
  });

  it.each(["on the node that keeps the run", "on another"])("expires %s", async (where) => {
    const { clock, server } = bank();
    const { state } = askedBy(await send(server, "tools/call", payBob));
    const other = bank();
    other.clock.advance(999);
    clock.advance(999);
    const node = where.endsWith("another") ? other : { clock, server };
    await node.clock.advanceAsync(1);
    const failure = failureOf(await send(node.server, "tools/call", payBob, { state, answers }));
    expect(failure).toEqual({ code: "invalid-params", message: "the request state is refused: it has expired" });
  });

  it("is good until the last moment", async () => {
    const { server } = bank();
    const { state } = askedBy(await send(server, "tools/call", payBob));
    const other = bank();
    other.clock.advance(999);
    expect((await send(other.server, "tools/call", payBob, { state, answers })).kind).toBe("complete");
  });

  const forged = {
    code: "invalid-params",
    message: "the request state is refused: it was not issued here, or was changed",
  };

  it("is refused after any change", async () => {
    const { server } = bank();
    const { state } = askedBy(await send(server, "tools/call", payBob));
    await fc.assert(
      fc.asyncProperty(fc.nat(state.length - 1), fc.constantFrom(..."AZaz09-_.=+/ "), async (at, char) => {
        fc.pre(state[at] !== char);
        const changed = state.slice(0, at) + char + state.slice(at + 1);
        expect(failureOf(await send(server, "tools/call", payBob, { state: changed, answers }))).toEqual(forged);
      }),
      { numRuns: 60 },
    );
    for (const changed of [`${state}-TAMPERED`, `${state}A`, state.slice(0, -1), "", "1.", "2.abc", "{}"]) {
      expect(failureOf(await send(server, "tools/call", payBob, { state: changed, answers }))).toEqual(forged);
    }
    expect((await send(server, "tools/call", payBob, { state, answers })).kind).toBe("complete");
  });

  it("shows nothing of what is in it, and is never the same twice", async () => {
    const { server } = bank();
    const states = [];
    for (let i = 0; i < 2; i++) states.push(askedBy(await send(server, "tools/call", payBob)).state);
    expect(states[0]).not.toBe(states[1]);
    const [, sealed = ""] = states[0]?.split(".") ?? [];
    expect(Buffer.from(sealed, "base64url").toString("latin1")).not.toMatch(/Pay|ask-1|expires/);
  });

  it("of an old key opens while the key is listed", async () => {
    const [old, fresh] = ["hPb2DqxzFZUZgs8vbb69vU--iUVGeQ0lZLNMa9h9rEU", "KjcaM2Cp773umIsMsIrgrqqrIWpFK13NUDZOpyAvumk"];
    const { state } = askedBy(await send(bank([old]).server, "tools/call", payBob));
    const attempt = async (keys: readonly string[]) =>
      (await send(bank(keys).server, "tools/call", payBob, { state, answers })).kind;
    expect(await attempt([fresh, old])).toBe("complete");
    expect(await attempt([fresh])).toBe("failed");
    const renewed = askedBy(await send(bank([fresh, old]).server, "tools/call", payBob));
    const sealed = await send(bank([old]).server, "tools/call", payBob, { state: renewed.state, answers });
    expect(sealed.kind).toBe("failed");
  });

  it.each<[string, Partial<ServerOptions>, Partial<ServerOptions>]>([
    ["of another name", {}, { name: "staging bank" }],
    ["of another audience", { stateAudience: "production" }, { stateAudience: "staging" }],
    ["that is named like the audience of the first", { stateAudience: "production" }, {}],
  ])("is refused by a server %s, though that has the same keys (S11)", async (_, own, others) => {
    const { server } = bank(stateKeys, own);
    const { state } = askedBy(await send(server, "tools/call", payBob, as("ann")));
    const outcome = await send(bank(stateKeys, others).server, "tools/call", payBob, { ...as("ann"), state, answers });
    expect(failureOf(outcome)).toEqual({
      code: "invalid-params",
      message: "the request state is refused: it belongs to another server",
    });
    const same = bank(stateKeys, own).server;
    expect((await send(same, "tools/call", payBob, { ...as("ann"), state, answers })).kind).toBe("complete");
  });

  it("is good for servers of other names with the same audience (S11)", async () => {
    const [one, two] = ["blue", "green"].map((name) => bank(stateKeys, { name, stateAudience: "bank" }).server);
    if (one === undefined || two === undefined) throw new Error("there are two");
    const { state } = askedBy(await send(one, "tools/call", payBob));
    expect((await send(two, "tools/call", payBob, { state, answers })).kind).toBe("complete");
  });

  it("is of no interest where the client can be asked", async () => {
    const { server } = bank();
    const ask = async () => answers["ask-1"];
    expect((await send(server, "tools/call", payBob, { state: "whatever", ask })).kind).toBe("complete");
  });
});

describe("a new id", () => {
  it("does not begin with a hyphen, so that it can be typed in a shell", () => {
    const starts = Array.from({ length: 5_000 }, () => newId()[0]);
    expect(starts).not.toContain("-");
  });
});
