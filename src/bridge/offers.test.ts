import { describe, expect, it } from "vitest";
import type { Tool } from "../protocol/tool.ts";
import { plainLowering } from "./lower/lower.ts";
import { createOffers } from "./offers.ts";

const names = { safe: /^[a-z]+$/, unsafe: /[^a-z]/g, maxLength: 64 };
const lowering = plainLowering({ portablePatterns: false, itemsRequired: false }, names);
const offer = (tools: readonly unknown[], limits = {}) =>
  createOffers(tools as readonly Tool[], { lowering, ...limits });
const fine: Tool = { name: "fine", inputSchema: { type: "object" } };

describe("createOffers", () => {
  it("C144: takes any object where there is no schema, and says nothing where there is no description", () => {
    const { list } = offer([{ name: "now" }, { name: "then", inputSchema: true }]);
    expect(list).toMatchObject([
      { alias: "now", description: "", lowered: { parameters: { type: "object" } } },
      { alias: "then", description: "", lowered: { parameters: { type: "object" } } },
    ]);
  });

  it.each([
    ["a schema that is none", { name: "bad", inputSchema: { type: "thing" } }, "#/type must be one of"],
    [
      "a reference to elsewhere",
      { name: "bad", inputSchema: { $ref: "https://a.b/c" } },
      "must point into this schema",
    ],
    ["a pattern that is none", { name: "bad", inputSchema: { properties: { a: { pattern: "(" } } } }, "cannot be used"],
    ["arguments that are no object", { name: "bad", inputSchema: { type: "array" } }, "accepts no object"],
    ["a schema that refuses all", { name: "bad", inputSchema: false }, "cannot be used"],
    ["a schema that is text", { name: "bad", inputSchema: "object" }, "cannot be used"],
    ["no name", { inputSchema: { type: "object" } }, "it has no name"],
    ["nothing at all", null, "it has no name"],
  ])("skips a tool with %s, and offers the others", (_, bad, reason) => {
    const { list, skipped } = offer([bad, fine]);
    expect(list.map(({ name }) => name)).toEqual(["fine"]);
    expect(skipped).toHaveLength(1);
    expect(skipped[0]?.reason).toContain(reason);
  });

  it("skips the second of two tools with one name", () => {
    const { list, skipped } = offer([fine, { ...fine, description: "other" }]);
    expect(list).toHaveLength(1);
    expect(skipped).toEqual([{ name: "fine", reason: "another tool has the same name" }]);
  });

  it("offers no more tools than it may", () => {
    const { list, skipped } = offer([{ name: "bad", inputSchema: [] }, fine, { ...fine, name: "more" }], {
      maxTools: 1,
    });
    expect(list.map(({ name }) => name)).toEqual(["fine"]);
    expect(skipped.map(({ name }) => name)).toEqual(["bad", "more"]);
    expect(skipped[1]?.reason).toBe("only 1 tools can be offered");
  });

  it("cuts a description that is too long, and notes it", () => {
    const { list, notes } = offer([{ ...fine, description: "0123456789" }], { maxDescriptionLength: 5 });
    expect(list[0]?.description).toBe("0123…");
    expect(notes).toEqual([{ tool: "fine", pointer: "", keyword: "description", message: "cut to 5" }]);
  });

  it("keeps the order of the tools", () => {
    const tools = ["c", "a:x", "b"].map((name) => ({ ...fine, name }));
    expect(offer(tools).list.map(({ alias }) => alias)).toEqual(["c", "a__x", "b"]);
  });
});
