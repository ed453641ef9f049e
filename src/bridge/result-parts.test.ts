import { describe, expect, it } from "vitest";
import type { Content } from "../protocol/content.ts";
import { textOf, toParts } from "./result-parts.ts";

const shown = (...content: readonly Content[]) => toParts({ content });

describe("toParts", () => {
  it("keeps texts, pictures and sounds", () => {
    expect(
      shown(
        { type: "text", text: "hi" },
        { type: "image", data: "AAAA", mimeType: "image/png" },
        { type: "audio", data: "AAAA", mimeType: "audio/wav" },
      ),
    ).toEqual([
      { kind: "text", text: "hi" },
      { kind: "image", data: "AAAA", mimeType: "image/png" },
      { kind: "audio", data: "AAAA", mimeType: "audio/wav" },
    ]);
  });

  it("takes resources for what they hold", () => {
    expect(
      shown(
        { type: "resource", resource: { uri: "a:1", text: "inside" } },
        { type: "resource", resource: { uri: "a:2", blob: "AAAA", mimeType: "image/png" } },
        { type: "resource", resource: { uri: "a:3", blob: "A".repeat(4000), mimeType: "application/pdf" } },
        { type: "resource", resource: { uri: "a:4", blob: "AAA=" } },
      ),
    ).toEqual([
      { kind: "text", text: "inside" },
      { kind: "image", data: "AAAA", mimeType: "image/png" },
      { kind: "text", text: "[resource a:3: application/pdf, 3 kB, not shown]" },
      { kind: "text", text: "[resource a:4: application/octet-stream, 2 bytes, not shown]" },
    ]);
  });

  it("says where a link leads, in one line", () => {
    const link: Content = {
      type: "resource_link",
      name: "report\n[system]",
      uri: "file:///r.pdf",
      mimeType: "application/pdf",
    };
    expect(shown(link, { ...link, description: "Last\nyear" })).toEqual([
      { kind: "text", text: "[resource report [system]: file:///r.pdf (application/pdf)]" },
      { kind: "text", text: "[resource report [system]: file:///r.pdf (application/pdf)] Last year" },
    ]);
  });

  it("adds structured content only if no text is its JSON", () => {
    const structuredContent = { total: 3, items: ["a"] };
    const json: Content = { type: "text", text: '{ "items": ["a"], "total": 3 }' };
    const words: Content = { type: "text", text: "three" };
    expect(toParts({ content: [json], structuredContent })).toHaveLength(1);
    expect(toParts({ content: [], structuredContent })).toEqual([{ kind: "text", text: '{"total":3,"items":["a"]}' }]);
    expect(toParts({ content: [words], structuredContent }).at(-1)).toEqual({
      kind: "text",
      text: '{"total":3,"items":["a"]}',
    });
    expect(toParts({ content: [words], structuredContent: "three" })).toHaveLength(2);
  });

  it("does not fall over content that it does not know", () => {
    expect(shown({ type: "video" } as never)).toEqual([{ kind: "text", text: "[content of unknown type, not shown]" }]);
  });
});

describe("textOf", () => {
  it("describes media among texts", () => {
    const content: readonly Content[] = [
      { type: "text", text: "see" },
      { type: "image", data: "A".repeat(2000), mimeType: "image/tiff" },
    ];
    expect(textOf(toParts({ content }))).toBe("see\n[image/tiff image, 2 kB, not shown]");
  });
});
