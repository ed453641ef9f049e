import { describe, expect, it } from "vitest";
import { codecFor } from "../../../test/support/codecs.ts";
import type { JsonObject } from "../../json/json.ts";
import { toText } from "../../json/text.ts";
import { type Method, methodRow, type Params } from "../../protocol/methods.ts";
import { type CallSource, createCall } from "../../protocol/service.ts";
import { LazyAbort } from "../../std/lazy-abort.ts";
import type { Session } from "./codec.ts";

const legacy = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] as const;
const codec = codecFor("2025-11-25");
const session: Session = {
  peer: { revision: "2025-11-25", info: { name: "host", version: "1" }, capabilities: { roots: {} } },
  logLevel: "error",
};

function request(method: string, params: JsonObject) {
  return { kind: "request", id: 1, method, params } as const;
}

function call<M extends Method>(method: M, params: Params<M>, more: Partial<CallSource<M>> = {}) {
  return createCall<M>({
    method,
    params,
    peer: session.peer,
    abort: new LazyAbort(),
    notify: () => undefined,
    ...more,
  });
}

describe("decodeCall", () => {
  it.each(legacy)("%s needs a session", (revision) => {
    expect(codecFor(revision).decodeCall(request("tools/list", {}))).toEqual({
      ok: false,
      failure: { code: "invalid-request", message: expect.stringMatching(/^not initialized: send initialize first/) },
    });
  });

  it.each(legacy)("%s does not know methods that came later", (revision) => {
    for (const method of ["server/discover", "subscriptions/listen"]) {
      expect(codecFor(revision).decodeCall(request(method, {}), session)).toMatchObject({
        failure: { code: "method-not-found", message: `unknown method ${method}` },
      });
    }
  });

  it("takes the peer and the log level from the session, and params as they came", () => {
    const params = { name: "buy", inputResponses: null, requestState: 1, _meta: { progressToken: "p", own: 1 } };
    const decoded = codec.decodeCall(request("tools/call", params), session);
    expect(decoded).toEqual({
      ok: true,
      value: {
        method: "tools/call",
        row: methodRow("tools/call"),
        params,
        peer: session.peer,
        meta: params._meta,
        progressToken: "p",
        logLevel: "error",
        answers: undefined,
        state: undefined,
      },
    });
    expect(decoded.ok && decoded.value.params).toBe(params);
  });

  it("refuses bad params and a bad token", () => {
    expect(codec.decodeCall(request("tools/call", {}), session)).toMatchObject({
      failure: { code: "invalid-params", message: "params.name must be a string" },
    });
    expect(codec.decodeCall(request("tools/list", { _meta: { progressToken: 0.5 } }), session)).toMatchObject({
      failure: { code: "invalid-params" },
    });
  });

  it("passes unknown methods on", () => {
    expect(codec.decodeCall(request("com.example/mine", { a: 1 }), session)).toMatchObject({ ok: true });
  });
});

describe("encodeCall", () => {
  const reserved = { "io.modelcontextprotocol/logLevel": "info", "io.modelcontextprotocol/clientInfo": {} };

  it("adds nothing when there is nothing to add", () => {
    const params = { name: "buy", arguments: {} };
    expect(codec.encodeCall(call("tools/call", params))).toBe(params);
  });

  it("strips what is modern and what belonged to an earlier hop", () => {
    const params = { name: "buy", inputResponses: {}, requestState: "s", task: {}, _meta: { old: 1 } };
    const more = { meta: { ...reserved, progressToken: 1 }, logLevel: "info", answers: {}, state: "s" } as const;
    expect(codec.encodeCall(call("tools/call", params, more))).toEqual({ name: "buy", arguments: {} });
  });

  it.each([
    ["2025-11-25", { traceparent: "t", own: 1, progressToken: 2 }],
    ["2025-06-18", { traceparent: "t", own: 1, progressToken: 2 }],
    ["2025-03-26", { traceparent: "t", progressToken: 2 }],
    ["2024-11-05", { traceparent: "t", progressToken: 2 }],
  ] as const)("%s sends the meta %j", (revision, _meta) => {
    const meta = { ...reserved, traceparent: "t", own: 1 };
    expect(codecFor(revision).encodeCall(call("tools/list", {}, { meta }), 2)).toEqual({ _meta });
  });

  it.each([
    ["2025-06-18", true],
    ["2025-03-26", false],
    ["2024-11-05", false],
  ] as const)("%s completes with titles and context: %s", (revision, known) => {
    const plain = { ref: { type: "ref/prompt", name: "p" }, argument: { name: "a", value: "" } } as const;
    const rich = { ...plain, ref: { ...plain.ref, title: "P" }, context: { arguments: { b: "c" } } } as const;
    expect(codecFor(revision).encodeCall(call("completion/complete", rich))).toEqual(known ? rich : plain);
  });
});

describe("encodeOutcome", () => {
  it("returns a result that has nothing to drop as it is", () => {
    const result = { content: [{ type: "text", text: "hi" }], structuredContent: {}, _meta: { own: 1 } } as const;
    const encoded = codec.encodeOutcome("tools/call", { kind: "complete", result });
    expect(encoded.ok && encoded.value).toBe(result);
  });

  it.each(legacy)("%s leaves out what only modern results say", (revision) => {
    const result = {
      tools: [],
      resultType: "complete",
      ttlMs: 1,
      cacheScope: "public",
      _meta: { "io.modelcontextprotocol/serverInfo": {}, own: 1 },
    } as const;
    const server = { name: "s", version: "1" };
    expect(codecFor(revision).encodeOutcome("tools/list", { kind: "complete", result }, server)).toEqual({
      ok: true,
      value: { tools: [], _meta: { own: 1 } },
    });
  });

  it("encodes a frozen list once", () => {
    const result = Object.freeze({ tools: [], ttlMs: 1 });
    const [first, second] = [1, 2].map(() => codec.encodeOutcome("tools/list", { kind: "complete", result }));
    expect(first?.ok && first.value).toBe(second?.ok && second.value);
    expect(first?.ok && toText(first.value)).toBe('{"tools":[]}');
    expect(codecFor("2025-06-18").encodeOutcome("tools/list", { kind: "complete", result })).toEqual(first);
  });

  it("cannot end with questions", () => {
    const outcome = { kind: "input-required", questions: {}, state: "s" } as const;
    expect(codec.encodeOutcome("tools/call", outcome)).toMatchObject({ ok: false, failure: { code: "internal" } });
    const failure = { code: "cancelled", message: "c" } as const;
    expect(codec.encodeOutcome("tools/call", { kind: "failed", failure })).toEqual({ ok: false, failure });
  });
});

describe("decodeResult", () => {
  it.each(legacy)("%s takes every result for complete, whatever it says", (revision) => {
    const wire = { resultType: "input_required", content: [] };
    const outcome = codecFor(revision).decodeResult("tools/call", wire);
    expect(outcome).toEqual({ kind: "complete", result: wire });
    expect(outcome.kind === "complete" && outcome.result).toBe(wire);
  });
});
