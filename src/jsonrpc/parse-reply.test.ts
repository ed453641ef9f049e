import { describe, expect, it } from "vitest";
import { stubReason } from "../json/stub.ts";
import { parseText } from "./message.ts";
import { parseReply } from "./parse-reply.ts";

const limits = { maxDepth: 5, maxWidth: 3 };
const deep = [[[[[1]]]]];
const tooDeep = "nested deeper than 5 levels (maxDepth)";

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
    const wide = { name: "wide", of: [1, 2, 3, 4] };
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
    const reasons = [tooDeep, "a container has more than 3 elements (maxWidth)", undefined];
    expect(list.map((entry) => stubReason(entry))).toEqual(reasons);
    expect(list.map((entry) => stubReason({ ...entry }))).toEqual(reasons);
  });

  it.each([
    ["a member that is no list", { a: { deep }, list: [{ deep }] }],
    ["a list of too many elements", { list: [1, 2, 3, 4] }],
    ["too many members", { a: 1, b: 2, c: 3, d: 4 }],
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
