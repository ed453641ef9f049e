import { describe, expect, it } from "vitest";
import { firstScopes, includesAll, readScopes, union, withOfflineAccess } from "./challenge.ts";

describe("scopes", () => {
  it("are words, each once", () => {
    expect(readScopes(" a  b a ")).toEqual(["a", "b"]);
    expect(readScopes(undefined)).toEqual([]);
    expect(union(["a"], ["b", "a"])).toEqual(["a", "b"]);
    expect(includesAll(["a", "b"], ["b"])).toBe(true);
    expect(includesAll(["a"], ["a", "b"])).toBe(false);
  });

  it.each([
    ["those of the challenge", { challenged: "a", wanted: undefined, supported: ["b"] }, ["a"]],
    ["those of the user too", { challenged: "a", wanted: ["c"], supported: ["b"] }, ["c", "a"]],
    ["those of the user", { challenged: undefined, wanted: ["c"], supported: ["b"] }, ["c"]],
    ["all that the server knows", { challenged: undefined, wanted: undefined, supported: ["b", "d"] }, ["b", "d"]],
    ["none", { challenged: undefined, wanted: undefined, supported: undefined }, []],
  ] as const)("are at first %s", (_what, facts, expected) => {
    expect(firstScopes(facts)).toEqual(expected);
  });

  it.each([
    [["a"], ["a", "offline_access"], ["a", "offline_access"]],
    [["a", "offline_access"], ["a"], ["a"]],
    [["a"], undefined, ["a"]],
    [[], ["offline_access"], []],
  ])("%j, where there are %j, are asked for as %j", (scopes, listed, expected) => {
    expect(withOfflineAccess(scopes, listed)).toEqual(expected);
  });
});
