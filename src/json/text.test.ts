import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { keepText, toText } from "./text.ts";

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

describe("keepText", () => {
  it("returns the value itself", () => {
    const value = { a: 1 };
    expect(keepText(value)).toBe(value);
  });

  it("turns the value into text once", () => {
    let times = 0;
    const value = keepText({ toJSON: () => ({ times: ++times }) });
    keepText(value);
    expect([toText(value), toText(value)]).toEqual(['{"times":1}', '{"times":1}']);
  });

  it("goes by identity, not by what the value looks like", () => {
    const kept = keepText({ a: 1 });
    kept.a = 2;
    expect(toText(kept)).toBe('{"a":1}');
    expect(toText({ a: 2 })).toBe('{"a":2}');
  });
});
