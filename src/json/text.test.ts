import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cacheText, toText, toTextWithMeta } from "./text.ts";

describe("toText", () => {
  it("is JSON.stringify for a value nobody kept", () => {
    fc.assert(
      fc.property(fc.object(), (value) => {
        expect(toText(value)).toBe(JSON.stringify(value));
      }),
    );
  });

  it("leaves out members that are undefined", () => {
    expect(toText({ a: undefined, b: 1 })).toBe('{"b":1}');
  });
});

describe("cacheText", () => {
  it("returns the value itself", () => {
    const value = { a: 1 };
    expect(cacheText(value)).toBe(value);
  });

  it("turns the value into text once", () => {
    let times = 0;
    const value = cacheText({ toJSON: () => ({ times: ++times }) });
    cacheText(value);
    expect([toText(value), toText(value)]).toEqual(['{"times":1}', '{"times":1}']);
  });

  it("goes by identity, not by what the value looks like", () => {
    const kept = cacheText({ a: 1 });
    kept.a = 2;
    expect(toText(kept)).toBe('{"a":1}');
    expect(toText({ a: 2 })).toBe('{"a":2}');
  });
});

describe("toTextWithMeta", () => {
  it("says the same, whether or not the text of `_meta` was kept", () => {
    fc.assert(
      fc.property(fc.object(), fc.object(), fc.boolean(), (meta, members, kept) => {
        const value = { _meta: kept ? cacheText(meta) : meta, ...members };
        expect(JSON.parse(toTextWithMeta(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it("does not turn a kept `_meta` into text again", () => {
    let times = 0;
    const meta = cacheText({ toJSON: () => ({ times: ++times }) });
    expect([toTextWithMeta({ _meta: meta, a: 1 }), toTextWithMeta({ _meta: meta })]).toEqual([
      '{"_meta":{"times":1},"a":1}',
      '{"_meta":{"times":1}}',
    ]);
  });

  it("takes what has no `_meta`, or one that is no object", () => {
    expect([toTextWithMeta({}), toTextWithMeta({ _meta: null, a: 1 }), toTextWithMeta({ _meta: 1 })]).toEqual([
      "{}",
      '{"_meta":null,"a":1}',
      '{"_meta":1}',
    ]);
  });

  it("uses the text of the whole where that was kept", () => {
    const value = cacheText({ a: 1 });
    value.a = 2;
    expect(toTextWithMeta(value)).toBe('{"a":1}');
  });
});
