import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../json/json.ts";
import { cacheText } from "../json/text.ts";
import {
  encodeMessage,
  type Id,
  type Incoming,
  type Message,
  parseMessage,
  parseText,
  rpcCodes,
  unreadableText,
} from "./message.ts";

describe("parseText", () => {
  it("never throws, on any text", () => {
    const text = fc.oneof(fc.string({ unit: codeUnit }), fc.json(), almostMessage);
    fc.assert(
      fc.property(text, (text) => {
        expect(kinds).toContain(parseText(text).kind);
      }),
      { numRuns: 500 },
    );
  });

  it.each(["", "{", "not json", '{"jsonrpc":"2.0",'])("C32: answers %j with a parse error and no id", (text) => {
    expect(parseText(text)).toEqual({
      kind: "malformed",
      id: null,
      error: { code: rpcCodes.parseError, message: "parse error: not valid JSON" },
      answerable: true,
    });
  });

  it("C151: answers JSON beyond the limits with a parse error", () => {
    const deep = call({ params: JSON.parse(`${'{"a":'.repeat(64)}0${"}".repeat(64)}`) });
    const { id } = JSON.parse(deep);
    const error = { code: rpcCodes.parseError };
    expect(parseText(deep)).toMatchObject({ kind: "malformed", id, error, answerable: true });
    const answer = JSON.stringify({ jsonrpc: "2.0", id: "a", result: JSON.parse(deep) });
    expect(parseText(answer)).toMatchObject({ kind: "malformed", id: "a", error, answerable: false });
    expect(parseText(deep, { maxJsonDepth: 65, maxJsonNodes: 0 })).toMatchObject({ kind: "request" });
    expect(parseText(deep, { maxJsonDepth: 0, maxJsonNodes: 0 })).toMatchObject({ kind: "request" });
  });

  it.each([
    ['{"jsonrpc":"2.0","id":7,"result":{"content', { id: 7, answerable: false }],
    ['{"jsonrpc":"2.0","id":"7","error":{', { id: "7", answerable: false }],
    ['{"jsonrpc":"2.0","id":7,"method":"tools/call"', { id: 7, answerable: true }],
    ['{"result":{"id":7}', { id: null, answerable: true }],
    ["", { id: null, answerable: true }],
  ])("tells whose a text was that begins with %j", (head, known) => {
    const error = { code: rpcCodes.parseError, message: "parse error: too long" };
    expect(unreadableText("too long", head)).toEqual({ kind: "malformed", error, ...known });
  });

  it("does not repeat the text in what it answers", () => {
    expect(JSON.stringify(parseText('{"password":"hunter2"'))).not.toContain("hunter2");
  });
});

describe("parseMessage", () => {
  it("reads what encodeMessage writes", () => {
    fc.assert(
      fc.property(message, (message) => {
        expect(parseMessage(JSON.parse(encodeMessage(message)))).toEqual(message);
      }),
      { numRuns: 500 },
    );
  });

  it.each<[text: string, expected: Message]>([
    ['{"jsonrpc":"2.0","id":1,"method":"ping"}', { kind: "request", id: 1, method: "ping", params: {} }],
    [
      '{"jsonrpc":"2.0","method":"notifications/initialized"}',
      { kind: "notification", method: "notifications/initialized", params: {} },
    ],
    ['{"jsonrpc":"2.0","id":"a","result":{"x":1},"extra":true}', { kind: "success", id: "a", result: { x: 1 } }],
    [
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}',
      { kind: "failure", id: null, error: { code: -32700, message: "?" } },
    ],
    [
      '{"jsonrpc":"2.0","error":{"code":1,"message":"?","data":[1]}}',
      { kind: "failure", id: null, error: { code: 1, message: "?", data: [1] } },
    ],
  ])("reads %s", (text, expected) => {
    expect(parseText(text)).toEqual(expected);
  });

  it.each<[why: string, text: string]>([
    ["no object", "1"],
    ["null", "null"],
    ["a string", '"ping"'],
    ["an empty object", "{}"],
    ["no version", '{"id":1,"method":"ping"}'],
    ["another version", '{"jsonrpc":"1.0","id":1,"method":"ping"}'],
    ["a version that is a number", '{"jsonrpc":2.0,"id":1,"method":"ping"}'],
    ["a method that is no string", '{"jsonrpc":"2.0","id":1,"method":1}'],
    ["an empty batch", "[]"],
  ])("answers -32600 to %s", (_why, text) => {
    expect(parseText(text)).toMatchObject({
      kind: "malformed",
      error: { code: rpcCodes.invalidRequest },
      answerable: true,
    });
  });

  it("names the request in the answer where it can", () => {
    expect(parseText('{"id":7,"method":"ping"}')).toMatchObject({ kind: "malformed", id: 7 });
    expect(parseText('{"jsonrpc":"2.0","id":"7","method":null}')).toMatchObject({ kind: "malformed", id: "7" });
    expect(parseText(call({ params: [1] }))).toMatchObject({ id: 1, error: { code: rpcCodes.invalidParams } });
  });

  it.each(["[1]", "null", '"a"'])("answers params that are %s only to a request", (params) => {
    const error = { code: rpcCodes.invalidParams };
    const text = `{"jsonrpc":"2.0","method":"ping","params":${params}}`;
    expect(parseText(text)).toMatchObject({ kind: "malformed", id: null, error, answerable: false });
    expect(parseText(call({ params: JSON.parse(params) }))).toMatchObject({
      kind: "malformed",
      error,
      answerable: true,
    });
  });
});

describe("a request that looks like a response", () => {
  it.each(["result", "error"])("is refused when it has %s", (member) => {
    const value = { jsonrpc: "2.0", id: 1, method: "tools/list", [member]: { code: 1, message: "x" } };
    expect(parseMessage(value)).toMatchObject({ kind: "malformed", id: 1, error: { code: -32600 }, answerable: true });
  });
});

describe("ids", () => {
  it('C1: 1 and "1" differ', () => {
    expect(parseText(call({ id: 1 }))).toMatchObject({ kind: "request", id: 1 });
    expect(parseText(call({ id: "1" }))).toMatchObject({ kind: "request", id: "1" });
    expect(encodeMessage({ kind: "success", id: 1, result: {} })).toContain('"id":1,');
    expect(encodeMessage({ kind: "success", id: "1", result: {} })).toContain('"id":"1",');
  });

  it.each<Id>([0, -1, 2 ** 53 - 1, 1 - 2 ** 53, "", "a b", "null"])("%j is one", (id) => {
    expect(parseText(call({ id }))).toMatchObject({ kind: "request", id });
  });

  it.each([
    "null",
    "true",
    "false",
    "1.5",
    "9007199254740992",
    "9007199254740993",
    "-9007199254740993",
    "1e400",
    "{}",
    "[1]",
  ])("C33: %s is none: the request gets -32600 without an id", (id) => {
    const text = `{"jsonrpc":"2.0","id":${id},"method":"ping"}`;
    expect(parseText(text)).toEqual({
      kind: "malformed",
      id: null,
      error: { code: rpcCodes.invalidRequest, message: '"id" must be a string or an integer' },
      answerable: true,
    });
  });
});

describe("responses", () => {
  it.each<[why: string, text: string, id: Id | null]>([
    ["both result and error", '{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"?"}}', 1],
    ["both, one of them null", '{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":1,"message":"?"}}', 1],
    ["a result that is no object", '{"jsonrpc":"2.0","id":1,"result":[]}', 1],
    ["a result without an id", '{"jsonrpc":"2.0","result":{}}', null],
    ["a result with a null id", '{"jsonrpc":"2.0","id":null,"result":{}}', null],
    ["an id that is a float", '{"jsonrpc":"2.0","id":1.5,"result":{}}', null],
    ["no version", '{"id":"x","result":{}}', "x"],
    ["an error that is a string", '{"jsonrpc":"2.0","id":1,"error":"?"}', 1],
    ["an error without a code", '{"jsonrpc":"2.0","id":1,"error":{"message":"?"}}', 1],
    ["an error with a float code", '{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":"?"}}', 1],
    ["an error without a message", '{"jsonrpc":"2.0","id":1,"error":{"code":1}}', 1],
  ])("C12: with %s are malformed, and are not answered", (_why, text, id) => {
    expect(parseText(text)).toMatchObject({ kind: "malformed", id, answerable: false });
  });
});

describe("batches", () => {
  it("are read item by item", () => {
    const text = '[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"b"},1,[]]';
    expect(parseText(text)).toMatchObject({
      kind: "batch",
      items: [
        { kind: "request", id: 1, method: "a" },
        { kind: "notification", method: "b" },
        { kind: "malformed", id: null, error: { code: rpcCodes.invalidRequest } },
        { kind: "malformed", id: null, error: { code: rpcCodes.invalidRequest } },
      ],
    });
  });

  it("are as good as their items one by one", () => {
    fc.assert(
      fc.property(fc.array(message, { minLength: 1, maxLength: 5 }), (items) => {
        const text = `[${items.map(encodeMessage).join()}]`;
        expect(parseText(text, { maxJsonDepth: 0, maxJsonNodes: 0 })).toEqual({ kind: "batch", items });
      }),
    );
  });
});

describe("hostile keys", () => {
  it("__proto__ in params changes no prototype", () => {
    const read = parseText('{"jsonrpc":"2.0","id":1,"method":"x","params":{"__proto__":{"polluted":true}}}');
    const params = read.kind === "request" ? read.params : undefined;
    expect(Object.keys(Object(params))).toEqual(["__proto__"]);
    expect(Object.getPrototypeOf(params)).toBe(Object.prototype);
    expect("polluted" in {}).toBe(false);
  });

  it("__proto__ lends a message no members", () => {
    const hidden = '{"__proto__":{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}}';
    expect(parseText(hidden)).toMatchObject({ kind: "malformed", id: null });
    const half = '{"__proto__":{"id":1,"params":{"a":1}},"jsonrpc":"2.0","method":"ping"}';
    expect(parseText(half)).toEqual({ kind: "notification", method: "ping", params: {} });
  });
});

describe("encodeMessage", () => {
  it("writes one line of well-formed Unicode", () => {
    const text = encodeMessage({ kind: "notification", method: "a\nb\r\u2028", params: { text: "\n\ud800" } });
    expect(text).toBe('{"jsonrpc":"2.0","method":"a\\nb\\r\u2028","params":{"text":"\\n\\ud800"}}');
  });

  it("writes a remembered result as it stands", () => {
    const result = cacheText({ tools: ["a"] });
    result.tools.push("b");
    expect(encodeMessage({ kind: "success", id: 1, result })).toBe('{"jsonrpc":"2.0","id":1,"result":{"tools":["a"]}}');
  });

  it("leaves out what is undefined", () => {
    expect(encodeMessage({ kind: "request", id: 1, method: "a", params: { b: undefined } })).toBe(
      '{"jsonrpc":"2.0","id":1,"method":"a","params":{}}',
    );
  });
});

const kinds: readonly Incoming["kind"][] = ["request", "notification", "success", "failure", "malformed", "batch"];

/** Half of a surrogate pair, too. */
const codeUnit = fc.nat(0xffff).map((code) => String.fromCharCode(code));

/** A value as it comes off the wire: without `-0`, which has no JSON text of its own. */
const json: fc.Arbitrary<Json> = fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.parse(JSON.stringify(value)));
const object: fc.Arbitrary<JsonObject> = fc.dictionary(fc.string(), json, { maxKeys: 4, noNullPrototype: true });
const id: fc.Arbitrary<Id> = fc.oneof(fc.string(), fc.maxSafeInteger());

const message: fc.Arbitrary<Message> = fc.oneof(
  fc.record({ kind: fc.constant("request" as const), id, method: fc.string(), params: object }),
  fc.record({ kind: fc.constant("notification" as const), method: fc.string(), params: object }),
  fc.record({ kind: fc.constant("success" as const), id, result: object }),
  fc.record({
    kind: fc.constant("failure" as const),
    id: fc.option(id),
    error: fc.record({ code: fc.integer(), message: fc.string(), data: json }, { requiredKeys: ["code", "message"] }),
  }),
);

/** Objects with the members of a message, each of them anything. */
const almostMessage: fc.Arbitrary<string> = fc
  .record(
    {
      jsonrpc: fc.oneof(fc.constant("2.0"), json),
      id: fc.oneof(id, json),
      method: fc.oneof(fc.string(), json),
      params: fc.oneof(object, json),
      result: fc.oneof(object, json),
      error: fc.oneof(object, json),
    },
    { requiredKeys: [] },
  )
  .map((value) => JSON.stringify(value));

/** The text of a request, with some members replaced. */
function call(members: { readonly id?: unknown; readonly params?: unknown }): string {
  return JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping", ...members });
}
