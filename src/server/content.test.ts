import { describe, expect, it } from "vitest";
import type { Content } from "../protocol/content.ts";
import { aBlock, audio, embeddedResource, image, resourceLink, text } from "./content.ts";

const bytes = new Uint8Array([0, 255, 16]);
const annotations = { audience: ["user"], priority: 1 } as const;

describe("blocks", () => {
  it.each<[string, Content, Content]>([
    ["text", text("hi"), { type: "text", text: "hi" }],
    ["text with annotations", text("hi", annotations), { type: "text", text: "hi", annotations }],
    ["a picture of bytes", image(bytes, "image/png"), { type: "image", data: "AP8Q", mimeType: "image/png" }],
    ["a picture of base64", image("AP8Q", "image/png"), { type: "image", data: "AP8Q", mimeType: "image/png" }],
    [
      "a picture with annotations",
      image(bytes, "image/png", annotations),
      { type: "image", data: "AP8Q", mimeType: "image/png", annotations },
    ],
    ["a sound", audio(bytes, "audio/wav"), { type: "audio", data: "AP8Q", mimeType: "audio/wav" }],
    [
      "a sound with annotations",
      audio("AP8Q", "audio/wav", annotations),
      { type: "audio", data: "AP8Q", mimeType: "audio/wav", annotations },
    ],
    [
      "a resource",
      embeddedResource({ uri: "a://b", text: "x" }),
      { type: "resource", resource: { uri: "a://b", text: "x" } },
    ],
    [
      "a resource of bytes",
      embeddedResource({ uri: "a://b", blob: "AP8Q" }),
      { type: "resource", resource: { uri: "a://b", blob: "AP8Q" } },
    ],
    [
      "a resource with annotations",
      embeddedResource({ uri: "a://b", text: "x" }, annotations),
      { type: "resource", resource: { uri: "a://b", text: "x" }, annotations },
    ],
    ["a link", resourceLink("a://b", "b"), { type: "resource_link", uri: "a://b", name: "b" }],
    [
      "a link with more",
      resourceLink("a://b", "b", { size: 7 }),
      { type: "resource_link", uri: "a://b", name: "b", size: 7 },
    ],
  ])("%s", (_, block, expected) => {
    expect(block).toStrictEqual(expected);
    expect(aBlock(block as never)).toBeUndefined();
  });
});

describe("aBlock", () => {
  it.each([
    null,
    undefined,
    "text",
    [],
    {},
    { type: "text" },
    { type: "text", text: 7 },
    { type: "image", data: "AP8Q" },
    { type: "image", mimeType: "image/png" },
    { type: "image", data: bytes, mimeType: "image/png" },
    { type: "image", data: "AP8Q", mimeType: 7 },
    { type: "audio" },
    { type: "resource" },
    { type: "resource", resource: null },
    { type: "resource", resource: { text: "no uri" } },
    { type: "resource", resource: { uri: "a://b" } },
    { type: "resource_link", name: "no uri" },
    { type: "resource_link", uri: "a://b" },
    { type: "video", data: "AP8Q", mimeType: "video/mp4" },
    { type: "toString" },
  ])("%j is none", (value) => {
    expect(aBlock(value as never)).toMatch(/ must be /);
  });
});
