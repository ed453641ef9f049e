import { describe, expect, it } from "vitest";
import { inEveryMember } from "../../legacy/codec/older-shapes.ts";
import { type Change, inEach, inMember, inOrder, keeping, ofType, same, without, withoutMeta } from "./dialect.ts";

const dropB = without("b");

describe("a change", () => {
  it.each<[string, Change, object, object]>([
    ["without", dropB, { a: 1, b: 2 }, { a: 1 }],
    ["keeping", keeping("a"), { a: 1, b: 2 }, { a: 1 }],
    ["inMember", inMember("x", dropB), { x: { a: 1, b: 2 }, y: 1 }, { x: { a: 1 }, y: 1 }],
    ["inEach", inEach("x", dropB), { x: [{ b: 1 }, 2, { a: 1 }] }, { x: [{}, 2, { a: 1 }] }],
    ["inEveryMember", inEveryMember(dropB), { x: { b: 1 }, y: 2 }, { x: {}, y: 2 }],
    ["ofType", ofType("t", dropB), { type: "t", b: 1 }, { type: "t" }],
    ["withoutMeta", withoutMeta("b"), { _meta: { a: 1, b: 2 } }, { _meta: { a: 1 } }],
    ["withoutMeta, the last key", withoutMeta("b"), { a: 1, _meta: { b: 2 } }, { a: 1 }],
    ["inOrder", inOrder(dropB, undefined, without("a")), { a: 1, b: 2, c: 3 }, { c: 3 }],
  ])("%s leaves the original alone", (_, change, before, after) => {
    const copy = structuredClone(before);
    expect(change(before as never)).toEqual(after);
    expect(before).toEqual(copy);
  });

  it.each<[string, Change, object]>([
    ["without", dropB, { a: 1 }],
    ["keeping", keeping("a", "b"), { a: 1 }],
    ["inMember", inMember("x", dropB), { x: { a: 1 } }],
    ["inMember, no object", inMember("x", dropB), { x: ["b"] }],
    ["inEach", inEach("x", dropB), { x: [{ a: 1 }, null] }],
    ["inEach, no array", inEach("x", dropB), { x: { b: 1 } }],
    ["inEveryMember", inEveryMember(dropB), { x: { a: 1 }, y: null }],
    ["ofType", ofType("t", dropB), { type: "u", b: 1 }],
    ["withoutMeta", withoutMeta("b"), { _meta: { a: 1 } }],
    ["withoutMeta, empty", withoutMeta("b"), { _meta: {} }],
  ])("%s returns the value itself when there is nothing to change", (_, change, value) => {
    expect(change(value as never)).toBe(value);
  });

  it("that changes nothing costs nothing to combine", () => {
    expect(inOrder(same, undefined, same)).toBe(same);
    expect(inOrder(same, dropB)).toBe(dropB);
    expect(inMember("x", same)).toBe(same);
    expect(inEach("x", same)).toBe(same);
    expect(ofType("x", same)).toBe(same);
  });

  it("copies a member called __proto__ as a member", () => {
    const value = JSON.parse('{"__proto__":{"b":1},"b":2}');
    const changed = inEveryMember(dropB)(dropB(value));
    expect(Object.getPrototypeOf(changed)).toBe(Object.prototype);
    expect(JSON.stringify(changed)).toBe('{"__proto__":{}}');
  });
});
