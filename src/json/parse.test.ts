import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "./json.ts";
import { defaultJsonLimits, type JsonLimits, parseJson } from "./parse.ts";

const off: JsonLimits = { maxDepth: 0, maxWidth: 0 };
const tooDeep = { ok: false, reason: "nested deeper than 64 levels (maxDepth)" };
const tooWide = { ok: false, reason: "a container has more than 65536 elements (maxWidth)" };

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
    const limits = fc.record({ maxDepth: fc.nat(4), maxWidth: fc.nat(4) });
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
  it("C151: allow 64 levels and 65,536 elements unless told otherwise", () => {
    expect(defaultJsonLimits).toEqual({ maxDepth: 64, maxWidth: 65_536 });
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
    ["an array", (count) => `[${"0,".repeat(count - 1)}0]`],
    ["an object", (count) => `{${Array.from({ length: count }, (_, index) => `"${index}":0`).join()}}`],
    ["an inner array", (count) => `{"a":[[],{"b":[${"0,".repeat(count - 1)}0]}]}`],
  ])("C151: 65,536 elements of %s pass, 65,537 do not", (_name, wide) => {
    expect(parseJson(wide(65_536))).toMatchObject({ ok: true });
    expect(parseJson(wide(65_537))).toMatchObject(tooWide);
  });

  it("count each container for itself", () => {
    const text = JSON.stringify(Array.from({ length: 300 }, () => new Array(300).fill(0)));
    expect(parseJson(text, { maxDepth: 2, maxWidth: 300 })).toMatchObject({ ok: true });
  });

  it("C152: are off at 0", () => {
    const deep = "[".repeat(100_000) + "]".repeat(100_000);
    const wide = `[${"0,".repeat(100_000)}0]`;
    expect(parseJson(deep, off).ok).toBe(true);
    expect(parseJson(wide, off).ok).toBe(true);
    expect(parseJson(deep, { maxDepth: 0, maxWidth: 1 }).ok).toBe(true);
    expect(parseJson(wide, { maxDepth: 1, maxWidth: 0 }).ok).toBe(true);
  });

  it("may be higher than any stack", () => {
    const text = "[".repeat(100_000) + "]".repeat(100_000);
    expect(parseJson(text, { maxDepth: 99_999, maxWidth: 0 }).ok).toBe(false);
    expect(parseJson(`${text}  `, { maxDepth: 100_000, maxWidth: 0 }).ok).toBe(true);
  });

  it("refuse exactly what is deeper or wider", () => {
    fc.assert(
      fc.property(
        fc.jsonValue(),
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 5 }),
        (value, depth, width) => {
          const parsed = parseJson(JSON.stringify(value), { maxDepth: depth, maxWidth: width });
          const { deepest, widest } = measure(JSON.parse(JSON.stringify(value)));
          expect(parsed.ok).toBe(deepest <= depth && widest <= width);
        },
      ),
      { numRuns: 1_000 },
    );
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
    const limits = { maxDepth: 2, maxWidth: 2 };
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

function measure(value: Json | undefined): { readonly deepest: number; readonly widest: number } {
  if (typeof value !== "object" || value === null) return { deepest: 0, widest: 0 };
  const items = Object.values(value).map(measure);
  return {
    deepest: 1 + Math.max(0, ...items.map((item) => item.deepest)),
    widest: Math.max(items.length, ...items.map((item) => item.widest)),
  };
}
