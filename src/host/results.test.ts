import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CallToolResult } from "../protocol/tool.ts";
import { createManualClock } from "../testing/clock.ts";
import { createResults, cutKey } from "./results.ts";

const text = (length: number, letter = "x"): CallToolResult => ({
  content: [{ type: "text", text: letter.repeat(length) }],
});

function pagesOf(results: ReturnType<typeof createResults>, cut: CallToolResult): readonly string[] {
  const { uri, pages } = cutOf(cut);
  return Array.from({ length: pages }, (_, index) => {
    const page = results.read(uri.replace(/\/1$/, `/${index + 1}`))?.contents[0];
    return page === undefined ? "" : "text" in page ? page.text : page.blob;
  });
}

function cutOf(result: CallToolResult): { readonly uri: string; readonly pages: number } {
  return result._meta?.[cutKey] as unknown as { uri: string; pages: number };
}

describe("results over a budget", () => {
  it("are left alone within it, the very same object", () => {
    const results = createResults({ maxChars: 10 }, createManualClock());
    const small = text(10);
    expect(results.fit("t", small)).toBe(small);
  });

  it("begin with a preview, and say where the rest is", () => {
    const results = createResults({ maxChars: 100, previewChars: 5, pageChars: 40 }, createManualClock());
    const cut = results.fit("log", text(101));
    expect(cut.content[0]).toEqual({ type: "text", text: "xxxxx" });
    expect(cut.content[1]).toMatchObject({ text: expect.stringContaining("101 characters on 3 pages") });
    expect(cut.content[2]).toMatchObject({ type: "resource_link", name: "log, page 1 of 3" });
    expect(pagesOf(results, cut).map(({ length }) => length)).toEqual([40, 40, 21]);
  });

  it("lose nothing: the pages together are the text, and no character is torn apart", () => {
    const results = createResults({ maxChars: 10, pageChars: 7 }, createManualClock());
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", minLength: 11, maxLength: 200 }), (given) => {
        const pages = pagesOf(results, results.fit("t", { content: [{ type: "text", text: given }] }));
        expect(pages.join("")).toBe(given);
        expect(pages.every((page) => page.isWellFormed?.() ?? true)).toBe(true);
      }),
    );
  });

  it("keep errors errors, and structured content and pictures as pages of their own", () => {
    const results = createResults({ maxChars: 20, pageChars: 100 }, createManualClock());
    const cut = results.fit("t", {
      isError: true,
      structuredContent: { rows: ["a".repeat(30)] },
      content: [{ type: "image", data: "b".repeat(40), mimeType: "image/png" }],
    });
    expect(cut.isError).toBe(true);
    expect(cut.structuredContent).toBeUndefined();
    expect(pagesOf(results, cut)).toEqual(["b".repeat(40), JSON.stringify({ rows: ["a".repeat(30)] })]);
  });

  it("weigh structured content without text", () => {
    const results = createResults({ maxChars: 20 }, createManualClock());
    const cut = results.fit("t", { content: [], structuredContent: { rows: Array.from({ length: 50 }, () => 1) } });
    expect(cut._meta?.[cutKey]).toBeDefined();
  });

  it("can be read for a time", () => {
    const clock = createManualClock();
    const results = createResults({ maxChars: 10, keepMs: 1_000 }, clock);
    const { uri } = cutOf(results.fit("t", text(11)));
    clock.advance(999);
    expect(results.read(uri)).toBeDefined();
    clock.advance(1);
    expect(() => results.read(uri)).toThrow(expect.objectContaining({ code: "resource-not-found" }));
  });

  it("make room for newer ones", () => {
    const results = createResults({ maxChars: 10, maxKeptChars: 25 }, createManualClock());
    const uris = ["a", "b", "c"].map((letter) => cutOf(results.fit("t", text(11, letter))).uri);
    expect(() => results.read(uris[0] ?? "")).toThrow();
    expect(results.read(uris[1] ?? "")).toBeDefined();
    expect(results.read(uris[2] ?? "")).toBeDefined();
  });

  it("of one caller push out only its own, or those of whoever has more", () => {
    const results = createResults({ maxChars: 10, maxKeptChars: 100 }, createManualClock());
    const keep = (principal: string | undefined, letter: string): string =>
      cutOf(results.fit("t", text(20, letter), { principal })).uri;
    const isKept = (uri: string, principal?: string): boolean => {
      try {
        return results.read(uri, principal) !== undefined;
      } catch {
        return false;
      }
    };
    const anns = keep("ann", "a");
    const own = cutOf(results.fit("t", text(20, "o"))).uri;
    const eves = Array.from({ length: 50 }, () => keep("eve", "e"));
    expect([isKept(anns, "ann"), isKept(own)]).toEqual([true, true]);
    expect(eves.map((uri) => isKept(uri, "eve")).lastIndexOf(false)).toBe(46);
    const bobs = keep("bob", "b");
    expect([isKept(anns, "ann"), isKept(bobs, "bob"), isKept(eves[47] ?? "", "eve")]).toEqual([true, true, false]);
  });

  it.each(["file:///x", "http://a/b"])("%s is none of theirs", (uri) => {
    expect(createResults({}, createManualClock()).read(uri)).toBeUndefined();
  });

  it.each(["plugbay-result:", "plugbay-result:///x/1", `plugbay-result:///${"0".repeat(36)}/0`])(
    "%s is kept by nobody",
    (uri) => {
      expect(() => createResults({}, createManualClock()).read(uri)).toThrow(
        expect.objectContaining({ code: "resource-not-found" }),
      );
    },
  );
});
