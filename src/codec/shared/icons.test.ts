import { describe, expect, it } from "vitest";
import { decodeLegacyResult } from "../../legacy/codec/tasks.ts";
import { decodeModernResult } from "./decode-result.ts";
import { readDetails } from "./decode-task.ts";
import { safeIcons } from "./results.ts";

const good = [
  { src: "https://shop.example/icon.png", sizes: ["48x48"] },
  { src: "data:image/png;base64,AAAA" },
  { src: "http://localhost:8080/icon.png" },
  { src: "http://[::1]/icon.png" },
];
const bad = [
  { src: "javascript:alert(1)" },
  { src: "JavaScript:alert(1)" },
  { src: " javascript:alert(1)" },
  { src: "data:text/html,<script>alert(1)</script>" },
  { src: "file:///etc/passwd" },
  { src: "ftp://shop.example/icon.png" },
  { src: "ws://shop.example/" },
  { src: "blob:https://shop.example/1" },
  { src: "http://shop.example/icon.png" },
  { src: "http://127.0.0.1.evil.example/icon.png" },
  { src: "icon.png" },
  { src: 7 },
  {},
  "https://shop.example/icon.png",
];

describe("icons", () => {
  it.each(bad)("%j is dropped (B10)", (icon) => {
    expect(safeIcons({ name: "a", icons: [icon] })).toEqual({ name: "a" });
    expect(safeIcons({ name: "a", icons: [icon, ...good] })).toEqual({ name: "a", icons: good });
  });

  it("that are safe stay, and nothing is copied for them", () => {
    const value = { name: "a", icons: good };
    expect(safeIcons(value)).toBe(value);
    expect(safeIcons({ name: "a", icons: "javascript:alert(1)" })).toEqual({ name: "a" });
  });

  const icons = [{ src: "javascript:alert(1)" }];
  const link = { type: "resource_link", uri: "a://1", name: "one" };
  it.each([
    ["tools/list", { tools: [{ name: "a", inputSchema: {}, icons }] }],
    ["resources/list", { resources: [{ uri: "a://1", name: "a", icons }] }],
    ["resources/templates/list", { resourceTemplates: [{ uriTemplate: "a://{x}", name: "a", icons }] }],
    ["prompts/list", { prompts: [{ name: "a", icons }] }],
    ["prompts/get", { messages: [{ role: "user", content: { ...link, icons } }] }],
    ["tools/call", { content: [{ ...link, icons }] }],
    ["tasks/result", { content: [{ ...link, icons }] }],
    ["server/discover", { supportedVersions: [], capabilities: {}, serverInfo: { name: "a", version: "1", icons } }],
  ] as const)("in the result of %s are looked at, in both eras (B10)", (method, result) => {
    for (const decode of [decodeModernResult, decodeLegacyResult]) {
      if (method === "server/discover" && decode === decodeLegacyResult) continue;
      const outcome = decode(method, structuredClone(result) as never);
      expect(outcome.kind).toBe("complete");
      expect(JSON.stringify(outcome)).not.toContain("javascript");
    }
  });

  it("in what a task came to are looked at (B10)", () => {
    const task = { taskId: "t", status: "completed", createdAt: "", lastUpdatedAt: "", ttlMs: null };
    const read = readDetails({ ...task, result: { content: [{ ...link, icons }] } });
    expect(read.ok).toBe(true);
    expect(JSON.stringify(read)).not.toContain("javascript");
  });
});
