import { describe, expect, it } from "vitest";
import { stubReason } from "../json/stub.ts";
import { parseText } from "./message.ts";
import { parseReply } from "./parse-reply.ts";

const limits = { maxJsonDepth: 5, maxJsonNodes: 24 };
const deep = [[[[[1]]]]];
const tooDeep = "nested deeper than 5 levels (maxJsonDepth)";

function reply(result: unknown): string {
  return JSON.stringify({ jsonrpc: "2.0", id: 1, result });
}

describe("parseReply", () => {
  it("reads what keeps the limits like parseText (B8)", () => {
    const request = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "m", params: { deep } });
    for (const text of [reply({ a: [[1]] }), "{", "[]", request, JSON.stringify({ jsonrpc: "2.0", method: "m" })]) {
      expect(parseReply(text, limits)).toEqual(parseText(text, limits));
    }
  });

  it("keeps a stub of each element that breaks a limit, of its members that are no containers (B8)", () => {
    const wide = { name: "wide", of: new Array(24).fill(1) };
    const parsed = parseReply(
      reply({ list: [{ name: "deep", size: 1, deep }, wide, { name: "fine", a: [] }] }),
      limits,
    );
    expect(parsed).toMatchObject({
      kind: "failure",
      id: 1,
      error: { code: -32700, message: `parse error: ${tooDeep}` },
    });
    const list = parsed.kind === "failure" && parsed.partial?.list;
    if (!Array.isArray(list)) throw new Error("nothing was kept");
    expect(JSON.stringify(list)).toBe('[{"name":"deep","size":1},{"name":"wide"},{"name":"fine","a":[]}]');
    const reasons = [tooDeep, "more than 24 values (maxJsonNodes)", undefined];
    expect(list.map((entry) => stubReason(entry))).toEqual(reasons);
    expect(list.map((entry) => stubReason({ ...entry }))).toEqual(reasons);
  });

  it.each([
    ["a member that is no list", { a: { deep }, list: [{ deep }] }],
    ["a list of too many elements", { list: new Array(24).fill(1) }],
    ["too many members", Object.fromEntries(new Array(24).fill(1).map((one, index) => [index, one]))],
    ["more than is looked at", { list: [{ wide: new Array(100).fill(1) }] }],
    ["a result that is a list", [{ deep }]],
  ])("keeps nothing where the limit is broken by %s (B8)", (_what, result) => {
    const parsed = parseReply(reply(result), limits);
    expect(parsed).toMatchObject({ kind: "failure", id: 1 });
    expect(parsed).not.toHaveProperty("partial");
  });

  it("reads nesting of any depth without exhausting the stack (B8)", () => {
    const text = reply({ list: ["deep"] }).replace('"deep"', `${"[".repeat(200_000)}${"]".repeat(200_000)}`);
    expect(parseReply(text)).toMatchObject({ kind: "failure", partial: { list: [{}] } });
  });
});
