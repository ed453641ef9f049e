import { describe, expect, it } from "vitest";
import { codecFor } from "../../../test/support/codecs.ts";
import { toText } from "../../json/text.ts";
import type { Question } from "../../model/input.ts";
import type { Method } from "../../model/methods.ts";
import type { Outcome, OutcomeOf } from "../../model/service.ts";

const codec = codecFor("2026-07-28");
const serverInfo = "io.modelcontextprotocol/serverInfo";
const server = { name: "shop", version: "1" };

function encode<M extends Method>(method: M, outcome: OutcomeOf<M>, signer = undefined as typeof server | undefined) {
  const result = codec.encodeOutcome(method, outcome, signer);
  if (!result.ok) throw new Error(result.failure.message);
  return result.value;
}

describe("encodeOutcome", () => {
  it("makes one new object of a tool result, and leaves the old one alone", () => {
    const result = Object.freeze({ content: [], structuredContent: null, _meta: Object.freeze({ own: 1 }) });
    const wire = encode("tools/call", { kind: "complete", result }, server);
    expect(wire).toEqual({
      content: [],
      structuredContent: null,
      resultType: "complete",
      _meta: { own: 1, [serverInfo]: server },
    });
    expect(wire.content).toBe(result.content);
    expect(encode("tools/call", { kind: "complete", result })).toEqual({ ...result, resultType: "complete" });
  });

  it.each([
    [{}, 0, "private"],
    [{ ttlMs: 1500, cacheScope: "public" }, 1500, "public"],
    [{ ttlMs: 1.9 }, 1, "private"],
    [{ ttlMs: -1 }, 0, "private"],
    [{ ttlMs: Number.NaN }, 0, "private"],
    [{ ttlMs: Number.POSITIVE_INFINITY }, Number.MAX_SAFE_INTEGER, "private"],
  ] as const)("gives a list with %j the cache fields %d and %s", (hints, ttlMs, cacheScope) => {
    expect(encode("tools/list", { kind: "complete", result: { tools: [], ...hints } })).toEqual({
      tools: [],
      resultType: "complete",
      ttlMs,
      cacheScope,
    });
  });

  it("puts the server of a discovery where it signs", () => {
    const result = { supportedVersions: ["2026-07-28"], capabilities: { tasks: {}, tools: {} }, serverInfo: server };
    expect(encode("server/discover", { kind: "complete", result })).toEqual({
      supportedVersions: ["2026-07-28"],
      capabilities: { tools: {} },
      resultType: "complete",
      ttlMs: 0,
      cacheScope: "private",
      _meta: { [serverInfo]: server },
    });
  });

  it("encodes a frozen list once, for one server", () => {
    const result = Object.freeze({ tools: [{ name: "buy", inputSchema: { type: "object" }, execution: {} }] });
    const first = encode("tools/list", { kind: "complete", result }, server);
    expect(encode("tools/list", { kind: "complete", result }, server)).toBe(first);
    expect(toText(first)).toBe(JSON.stringify(first));
    expect(first.tools).toEqual([{ name: "buy", inputSchema: { type: "object" } }]);

    const other = encode("tools/list", { kind: "complete", result }, { name: "other", version: "1" });
    expect(other).not.toBe(first);
  });

  it.each([
    ["tools/list", { tools: [] }],
    ["resources/read", Object.freeze({ contents: [] })],
  ] as const)("encodes %s anew when it may have changed", (method, result) => {
    const outcome = { kind: "complete", result } as Outcome<typeof method>;
    expect(encode(method, outcome)).not.toBe(encode(method, outcome));
  });

  const ask: Question = {
    method: "elicitation/create",
    params: { mode: "url", message: "m", url: "u", elicitationId: "1" },
  };

  it("ends with questions", () => {
    const questions = { a: ask, b: { method: "roots/list", params: {} } } as const;
    expect(encode("tools/call", { kind: "input-required", questions, state: "s" }, server)).toEqual({
      resultType: "input_required",
      inputRequests: {
        a: { method: "elicitation/create", params: { mode: "url", message: "m", url: "u" } },
        b: { method: "roots/list", params: {} },
      },
      requestState: "s",
      _meta: { [serverInfo]: server },
    });
    expect(encode("tools/call", { kind: "input-required", questions: {}, state: "s" })).toEqual({
      resultType: "input_required",
      requestState: "s",
    });
  });

  it.each([
    ["tools/list", { kind: "input-required", questions: { a: ask } }],
    ["tools/call", { kind: "input-required", questions: {} }],
  ] as const)("does not let %s end with %j", (method, outcome) => {
    expect(codec.encodeOutcome(method, outcome)).toMatchObject({ ok: false, failure: { code: "internal" } });
  });

  it("ends with a failure", () => {
    const failure = { code: "internal", message: "no" } as const;
    expect(codec.encodeOutcome("tools/call", { kind: "failed", failure })).toEqual({ ok: false, failure });
  });
});
