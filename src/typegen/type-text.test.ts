import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { docComment, inComment } from "./type-text.ts";

const text = (words: string): string => docComment({ text: words }, "");

describe("docComment", () => {
  it("is one line, or as many as the text has", () => {
    expect(text("Finds things.")).toBe("/** Finds things. */\n");
    expect(docComment({ text: "One\r\ntwo  \n\n\n\n  three\n\n" }, "  ")).toBe(
      "  /**\n   * One\n   * two\n   *\n   *   three\n   */\n",
    );
    expect(docComment({ text: "Page", tags: [{ name: "deprecated" }, { name: "default", text: "1" }] }, "")).toBe(
      "/**\n * Page\n * @deprecated\n * @default 1\n */\n",
    );
  });

  it("is nothing when there is nothing to say", () => {
    expect(docComment(undefined, "")).toBe("");
    expect(docComment({}, "")).toBe("");
    expect(text(" \n\t\n ")).toBe("");
  });

  it.each([
    ["ends the comment", "a */ export const evil = 1; /*", "/** a *\\/ export const evil = 1; /* */\n"],
    ["ends it twice", "**/*/", "/** **\\/*\\/ */\n"],
    ["is an order to the compiler", "@ts-expect-error", "/** \\@ts-expect-error */\n"],
    ["is a tag", "see @deprecated and {@link x}", "/** see \\@deprecated and {\\@link x} */\n"],
    ["has an address", "mail ann@example.com", "/** mail ann@example.com */\n"],
    ["turns the writing around", "a\u202eb\u2066c", "/** a\\u202eb\\u2066c */\n"],
    ["hides something", "a\u200bb\u{e0041}c\ufeff\u{e0100}", "/** a\\u200bb\\u{e0041}c\\ufeff\\u{e0100} */\n"],
    ["has half a character", "a\ud800b", "/** a\\ud800b */\n"],
    ["hides the end", "*\u200b/", "/** *\\u200b/ */\n"],
    ["has emoji", "👩‍🔬 ❤️ é", "/** 👩‍🔬 ❤️ é */\n"],
    ["opens a quote", "`a` and `b", "/** 'a' and 'b */\n"],
    ["quotes", "`a` and `b`", "/** `a` and `b` */\n"],
  ])("is harmless where the text %s", (_, words, comment) => {
    expect(text(words)).toBe(comment);
  });

  it.each(["\n", "\r\n", "\r", "\v", "\f", "\u0085", "\u2028", "\u2029"])("takes %j for a line end", (end) => {
    expect(text(`a${end}b`)).toBe("/**\n * a\n * b\n */\n");
    expect(inComment(`a${end}b`)).toBe("a b");
  });

  it("ends long texts", () => {
    expect(text("x".repeat(100_000)).length).toBeLessThan(4_100);
  });

  it("has one end and no tag, whatever the text", () => {
    const nasty = fc.string({
      unit: fc.constantFrom("*", "/", "@", "\\", "`", "{", "}", "a", " ", "\n", "\r", "\u2028", "\u202e", "\u200b"),
    });
    fc.assert(
      fc.property(fc.oneof(nasty, fc.string({ unit: "binary" })), (words) => {
        const comment = text(words);
        if (comment === "") return;
        expect(comment.indexOf("*/")).toBe(comment.length - 3);
        expect(comment).not.toMatch(/(^|[^\w\\])@/);
        expect(comment.trimEnd()).not.toMatch(/[\r\v\f\u0085\u2028\u2029\u200b\u202a-\u202e]/);
      }),
    );
  });
});
