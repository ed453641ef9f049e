import { describe, expect, it } from "vitest";
import { codecFor } from "../../../test/support/codecs.ts";
import type { JsonObject } from "../../json/json.ts";
import { LazyAbort } from "../../std/lazy-abort.ts";
import type { Method, Params } from "../methods.ts";
import { type CallSource, createCall } from "../service.ts";

const codec = codecFor("2026-07-28");
const version = "io.modelcontextprotocol/protocolVersion";
const capabilities = "io.modelcontextprotocol/clientCapabilities";
const clientInfo = "io.modelcontextprotocol/clientInfo";
const logLevel = "io.modelcontextprotocol/logLevel";
const subscriptionId = "io.modelcontextprotocol/subscriptionId";

const stated = { [version]: "2026-07-28", [capabilities]: {} };

function decode(method: string, params: JsonObject) {
  return codec.decodeCall({ kind: "request", id: 1, method, params });
}

function decoded(method: string, params: JsonObject) {
  const result = decode(method, params);
  if (!result.ok) throw new Error(result.failure.message);
  return result.value;
}

function call<M extends Method>(method: M, params: Params<M>, more: Partial<CallSource<M>> = {}) {
  const peer = { revision: "2026-07-28", capabilities: {} } as const;
  return createCall<M>({ method, params, peer, abort: new LazyAbort(), notify: () => undefined, ...more });
}

describe("decodeCall", () => {
  const call = { name: "buy" };

  it.each([
    ["no _meta", undefined, "params._meta must be an object"],
    ["_meta is null", null, "params._meta must be an object"],
    ["no version", { [capabilities]: {} }, `params._meta.${version} must be a string`],
    ["no capabilities", { [version]: "2026-07-28" }, `params._meta.${capabilities} must be an object`],
    ["capabilities are null", { ...stated, [capabilities]: null }, `params._meta.${capabilities} must be an object`],
    ["an unknown log level", { ...stated, [logLevel]: "loud" }, `params._meta.${logLevel} is not a known log level`],
    ["a log level of null", { ...stated, [logLevel]: null }, `params._meta.${logLevel} is not a known log level`],
  ])("refuses %s", (_, _meta, message) => {
    const failure = { code: "invalid-params", message };
    expect(decode("tools/call", _meta === undefined ? call : { ...call, _meta })).toEqual({ ok: false, failure });
  });

  it.each([null, 1.5, true, {}, 2 ** 60])("refuses the progress token %j", (progressToken) => {
    expect(decode("tools/call", { ...call, _meta: { ...stated, progressToken } })).toMatchObject({
      failure: { code: "invalid-params", message: "params._meta.progressToken must be a string or an integer" },
    });
  });

  it.each(["2025-11-25", "2027-01-01", ""])("refuses version %j and lists what it speaks", (requested) => {
    const supported = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
    expect(decode("tools/call", { ...call, _meta: { ...stated, [version]: requested } })).toMatchObject({
      failure: { code: "unsupported-revision", data: { supported, requested } },
    });
  });

  it("misses a required key before it judges the version", () => {
    expect(decode("tools/call", { ...call, _meta: { [version]: "1" } })).toMatchObject({
      failure: { code: "invalid-params" },
    });
  });

  it.each([
    ["inputResponses", null],
    ["inputResponses", []],
    ["inputResponses", "x"],
    ["requestState", 1],
    ["requestState", null],
  ])("refuses %s %j", (member, value) => {
    expect(decode("tools/call", { ...call, _meta: stated, [member]: value })).toMatchObject({
      failure: { code: "invalid-params", message: expect.stringContaining(`params.${member}`) },
    });
  });

  it("passes params on as they came, and reads the rest beside them", () => {
    const _meta = {
      ...stated,
      [capabilities]: { elicitation: {}, "com.example/own": 1 },
      [clientInfo]: { name: "host", version: "2", extra: 1 },
      [logLevel]: "warning",
      progressToken: 0,
      "com.example/tag": "t",
    };
    const params = { ...call, unknown: [1], inputResponses: { a: { action: "accept" } }, requestState: "", _meta };
    const value = decoded("tools/call", params);
    expect(value.params).toBe(params);
    expect(value).toMatchObject({
      method: "tools/call",
      peer: { revision: "2026-07-28", info: _meta[clientInfo], capabilities: _meta[capabilities] },
      progressToken: 0,
      logLevel: "warning",
      answers: params.inputResponses,
      state: "",
    });
    expect(value.meta).toBe(_meta);
  });

  it("serves a client that does not say who it is", () => {
    expect(decoded("tools/list", { _meta: stated }).peer).toEqual({ revision: "2026-07-28", capabilities: {} });
  });

  it("does not count a capability that is no object", () => {
    const _meta = { ...stated, [capabilities]: { elicitation: null, sampling: true, roots: {}, mine: null } };
    expect(decoded("tools/list", { _meta }).peer.capabilities).toEqual({ roots: {}, mine: null });
  });

  it("passes unknown methods on, with whatever they carry", () => {
    const params = { inputResponses: null, requestState: 1, _meta: stated };
    expect(decoded("example/own", params)).toMatchObject({ method: "example/own", params, answers: undefined });
    expect(decoded("constructor", { _meta: stated }).method).toBe("constructor");
  });

  it("takes a member called __proto__ for a member", () => {
    const params = JSON.parse(`{"name":"buy","arguments":{"__proto__":{"admin":true}},"__proto__":{"name":"x"}}`);
    const value = decoded("tools/call", { ...params, _meta: stated });
    expect(Object.hasOwn(value.params, "__proto__")).toBe(true);
    expect(({} as { admin?: boolean }).admin).toBeUndefined();
  });
});

describe("encodeCall", () => {
  it("states who calls, and keeps the caller's own meta", () => {
    const peer = {
      revision: "2026-07-28",
      info: { name: "host", version: "1" },
      capabilities: { roots: { listChanged: true } },
    } as const;
    const meta = { traceparent: "t", [version]: "2025-11-25", progressToken: "old", [subscriptionId]: 1 };
    expect(codec.encodeCall(call("tools/list", { cursor: "" }, { peer, meta, logLevel: "info" }), 3)).toEqual({
      cursor: "",
      _meta: {
        traceparent: "t",
        [version]: "2026-07-28",
        [capabilities]: { roots: {} },
        [clientInfo]: peer.info,
        [logLevel]: "info",
        progressToken: 3,
      },
    });
  });

  it("says only what it must when nothing else is known", () => {
    expect(codec.encodeCall(call("tools/list", {}))).toEqual({ _meta: stated });
  });

  it("strips what belonged to an earlier hop, and sends answers and state exactly as given", () => {
    const params = {
      name: "buy",
      inputResponses: { old: {} },
      requestState: "old",
      task: {},
      _meta: { a: 1 },
      more: 1,
    };
    expect(codec.encodeCall(call("tools/call", params))).toEqual({
      name: "buy",
      arguments: {},
      more: 1,
      _meta: stated,
    });
    expect(codec.encodeCall(call("tools/call", params, { answers: {}, state: "" }))).toEqual({
      name: "buy",
      arguments: {},
      more: 1,
      inputResponses: {},
      requestState: "",
      _meta: stated,
    });
  });
});
