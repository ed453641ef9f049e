import { expect, it } from "vitest";
import { defined } from "./defined.ts";

it("leaves out members that are undefined, and no others", () => {
  const members = { a: 1, b: undefined, c: null, d: false, e: "", f: 0 };
  expect(defined(members)).toStrictEqual({ a: 1, c: null, d: false, e: "", f: 0 });
  expect(Object.keys(members)).toContain("b");
});
