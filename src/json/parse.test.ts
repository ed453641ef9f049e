import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import type { Json } from "./json.ts";
import { parseJson } from "./parse.ts";
import { defaultJsonLimits, type JsonLimits, type JsonShape } from "./shape.ts";

const off: JsonLimits = { maxJsonDepth: 0, maxJsonNodes: 0 };
const tooDeep = { ok: false, reason: "nested deeper than 64 levels (maxJsonDepth)" };
const tooWide = { ok: false, reason: "more than 262144 values (maxJsonNodes)" };

describe("parseJson", () => {
  it("gives what JSON.parse gives", () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(parseJson(text)).toEqual({ ok: true, value: JSON.parse(text) });
      }),
    );
  });

  it("never throws, on any text and any limits", () => {
    const text = fc.oneof(fc.string({ unit: codeUnit }), fc.json(), damaged);
    const limits = fc.record({ maxJsonDepth: fc.nat(4), maxJsonNodes: fc.nat(4) });
    fc.assert(
      fc.property(text, limits, (text, limits) => {
        expect(typeof parseJson(text, limits).ok).toBe("boolean");
      }),
      { numRuns: 500 },
    );
  });

  it.each(["", " ", "{", "[1,]", "{'a':1}", "undefined", "NaN", "01", '"\n"', '{"secret":'])("refuses %j", (text) => {
    expect(parseJson(text)).toEqual({ ok: false, reason: "not valid JSON" });
  });
});

describe("limits", () => {
  it("C151: allow 64 levels and 262,144 values unless told otherwise", () => {
    expect(defaultJsonLimits).toEqual({ maxJsonDepth: 64, maxJsonNodes: 262_144 });
  });

  it.each<[name: string, nested: (levels: number) => string]>([
    ["arrays", (levels) => "[".repeat(levels) + "]".repeat(levels)],
    ["objects", (levels) => `${'{"a":'.repeat(levels - 1)}{}${"}".repeat(levels - 1)}`],
    ["arrays with something before", (levels) => `${"[0,[],".repeat(levels - 1)}[]${"]".repeat(levels - 1)}`],
    [
      "arrays in objects",
      (levels) => `${'{"a":['.repeat(levels / 2)}${levels % 2 ? "{}" : ""}${"]}".repeat(levels / 2)}`,
    ],
  ])("C151: 64 levels of %s pass, 65 do not", (_name, nested) => {
    expect(parseJson(nested(64))).toMatchObject({ ok: true });
    expect(parseJson(nested(65))).toMatchObject(tooDeep);
    expect(parseJson(`${nested(64)}${" ".repeat(1_000)}`)).toMatchObject({ ok: true });
  });

  it.each<[name: string, wide: (count: number) => string]>([
    ["an array", (count) => `[${"0,".repeat(count - 2)}0]`],
    ["an object", (count) => `{${Array.from({ length: count - 1 }, (_, index) => `"${index}":0`).join()}}`],
    ["an inner array", (count) => `{"a":[[],{"b":[${"0,".repeat(count - 6)}0]}]}`],
    ["empty objects", (count) => `[${"{},".repeat(count - 2)}{}]`],
    ["small arrays", (count) => `[${"[0],".repeat(count / 2 - 1)}${count % 2 ? "[0]" : "0"}]`],
  ])("C151: 262,144 values of %s pass, 262,145 do not (S3)", (_name, wide) => {
    expect(parseJson(wide(262_144))).toMatchObject({ ok: true });
    expect(parseJson(wide(262_145))).toEqual(tooWide);
  });

  it("count the values of all containers together (S3)", () => {
    const text = JSON.stringify(Array.from({ length: 300 }, () => new Array(300).fill(0)));
    expect(parseJson(text, { maxJsonDepth: 2, maxJsonNodes: 90_301 })).toMatchObject({ ok: true });
    expect(parseJson(text, { maxJsonDepth: 2, maxJsonNodes: 90_300 })).toMatchObject({ ok: false });
  });

  it("C152: are off at 0 and Infinity", () => {
    const deep = "[".repeat(100_000) + "]".repeat(100_000);
    const wide = `[${"0,".repeat(100_000)}0]`;
    const none = { maxJsonDepth: Number.POSITIVE_INFINITY, maxJsonNodes: Number.POSITIVE_INFINITY };
    for (const limits of [off, none]) {
      expect(parseJson(deep, limits).ok).toBe(true);
      expect(parseJson(wide, limits).ok).toBe(true);
    }
    expect(parseJson(deep, { maxJsonDepth: 0, maxJsonNodes: 100_000 }).ok).toBe(true);
    expect(parseJson(wide, { maxJsonDepth: 1, maxJsonNodes: 0 }).ok).toBe(true);
  });

  it("may be higher than any stack", () => {
    const text = "[".repeat(100_000) + "]".repeat(100_000);
    expect(parseJson(text, { maxJsonDepth: 99_999, maxJsonNodes: 0 }).ok).toBe(false);
    expect(parseJson(`${text}  `, { maxJsonDepth: 100_000, maxJsonNodes: 0 }).ok).toBe(true);
  });

  it("refuse exactly what is deeper or wider, in short texts and in long ones (S3)", () => {
    const limit = fc.integer({ min: 1, max: 8 });
    fc.assert(
      fc.property(fc.jsonValue(), limit, limit, fc.boolean(), (value, maxJsonDepth, maxJsonNodes, isLong) => {
        const text = JSON.stringify(value, undefined, isLong ? 1 : 0) + (isLong ? " ".repeat(20_000) : "");
        const { depth, nodes } = shapeOf(JSON.parse(text));
        expect(parseJson(text, { maxJsonDepth, maxJsonNodes }).ok).toBe(depth <= maxJsonDepth && nodes <= maxJsonNodes);
      }),
      { numRuns: 1_000 },
    );
  });

  it("are told apart before a long text is parsed (S3)", () => {
    const text = `[${"{},".repeat(1_000_000)}{}]`;
    const parse = vi.spyOn(JSON, "parse");
    expect(parseJson(text)).toEqual(tooWide);
    expect(parse).not.toHaveBeenCalled();
    parse.mockRestore();
  });
});

describe("hostile keys", () => {
  it("__proto__ becomes an ordinary member and changes no prototype", () => {
    const parsed = parseJson('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}');
    const value = parsed.ok ? parsed.value : undefined;
    expect(Object.keys(Object(value))).toEqual(["__proto__", "constructor"]);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect("polluted" in {}).toBe(false);
  });

  it("__proto__ hides no depth and no width", () => {
    const limits = { maxJsonDepth: 2, maxJsonNodes: 3 };
    expect(parseJson('{"__proto__":{"a":{}}}', limits).ok).toBe(false);
    expect(parseJson('{"__proto__":[1,2,3]}', limits).ok).toBe(false);
  });
});

/** Half of a surrogate pair, too. */
const codeUnit = fc.nat(0xffff).map((code) => String.fromCharCode(code));

/** JSON that lost a part, or got one too many. */
const damaged: fc.Arbitrary<string> = fc
  .tuple(fc.json(), fc.nat(), fc.nat(4), fc.string({ maxLength: 3 }))
  .map(([text, at, length, insert]) => {
    const start = at % (text.length + 1);
    return text.slice(0, start) + insert + text.slice(start + length);
  });

function shapeOf(value: Json | undefined): JsonShape {
  if (typeof value !== "object" || value === null) return { depth: 0, nodes: 1 };
  const items = Object.values(value).map(shapeOf);
  return {
    depth: 1 + Math.max(0, ...items.map(({ depth }) => depth)),
    nodes: items.reduce((sum, { nodes }) => sum + nodes, 1),
  };
}
