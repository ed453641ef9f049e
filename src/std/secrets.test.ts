import { describe, expect, it } from "vitest";
import {
  createMask,
  maskArgs,
  maskJson,
  maskText,
  maskUrl,
  secretsInArgs,
  secretsInHeaders,
  withoutSecrets,
} from "./secrets.ts";

describe("maskText", () => {
  it.each([
    ["ghp_aB3dE6gH9jaB3dE6gH9jaB3dE6gH9jaB3d", "***"],
    ["use sk-abcdefghijklmnop please", "use *** please"],
    ["Authorization: Bearer abc.def", "Authorization: Bearer ***"],
    ["see https://ada:pw@example.com/mcp?key=1#x", "see https://***@example.com/mcp?key=***"],
    ["6f1d0b7e-93a4-4c2b-8f55-0d9a7c1e2b34", "***"],
    ["0123456789abcdef0123456789abcdef", "***"],
  ])("hides what looks like a secret in %s", (text, shown) => {
    expect(maskText(text)).toBe(shown);
  });

  it.each([
    "@modelcontextprotocol/server-filesystem",
    "/Users/ada/Documents/my-long-folder-name-of-2026/files",
    "awslabs.aws-documentation-mcp-server@latest",
    "--max-concurrent-requests-per-second",
    "C:\\Program Files\\nodejs\\node.exe",
    "https://mcp.linear.app/v1/mcp",
    "server-everything@2026.8.31",
  ])("leaves %s alone", (text) => {
    expect(maskText(text)).toBe(text);
  });
});

describe("maskUrl", () => {
  it.each([
    ["https://example.com/mcp", "https://example.com/mcp"],
    ["https://example.com:8080/a/b?api_key=abc&x=1", "https://example.com:8080/a/b?api_key=***&x=***"],
    ["https://example.com?token", "https://example.com?***"],
    ["https://ada:pw@example.com/", "https://***@example.com/"],
    ["https://a@b@example.com/", "https://***@example.com/"],
    ["https://example.com/#secret", "https://example.com/?***"],
    ["https://mcp.zapier.com/api/mcp/s/MTIzNDU2Nzg5MGFiY2RlZg==/mcp", "https://mcp.zapier.com/api/mcp/s/***/mcp"],
    ["no url ?a=b", "no url ?a=***"],
  ])("%s is shown as %s", (url, shown) => {
    expect(maskUrl(url)).toBe(shown);
  });
});

describe("maskArgs", () => {
  it.each([
    [
      ["--api-key", "x", "y"],
      ["--api-key", "***", "y"],
    ],
    [
      ["--token=x", "--level=1"],
      ["--token=***", "--level=1"],
    ],
    [
      ["-e", "GITHUB_TOKEN=x"],
      ["-e", "GITHUB_TOKEN=***"],
    ],
    [
      ["-e", "GITHUB_TOKEN", "image"],
      ["-e", "GITHUB_TOKEN", "image"],
    ],
    [
      ["-H", "x-api-key: abc"],
      ["-H", "x-api-key: ***"],
    ],
    [
      ["--header", "Authorization:Bearer abc"],
      ["--header", "Authorization: ***"],
    ],
    [["--url=https://a.b/?k=v"], ["--url=https://a.b/?k=***"]],
    [["https://a.b/?k=v"], ["https://a.b/?k=***"]],
    [
      ["C:\\auth:x", "https://auth.example.com/x"],
      ["C:\\auth:x", "https://auth.example.com/x"],
    ],
  ])("%j is shown as %j", (args, shown) => {
    expect(maskArgs(args)).toEqual(shown);
  });
});

describe("withoutSecrets", () => {
  it("hides them all, but nothing short", () => {
    expect(withoutSecrets("abcdefgh abcdef 12345", ["abcdefgh", "abcdef", "12345"])).toBe("*** *** 12345");
  });
});

describe("secretsInArgs", () => {
  it.each<[args: readonly string[], secrets: readonly string[]]>([
    [["--port", "8080", "server.js"], []],
    [
      ["--api-key", "of a flag"],
      ["of a flag", "a flag"],
    ],
    [["TOKEN=assigned"], ["assigned"]],
    [["postgresql://admin:horse@db/x"], ["admin:horse", "horse"]],
    [["https://a.example/?k=value"], ["value"]],
    [
      ["-H", "Authorization: Bearer staple"],
      ["Bearer staple", "staple"],
    ],
    [["sk-live-abcdefghijkl"], ["sk-live-abcdefghijkl"]],
  ])("of %j are %j", (args, secrets) => {
    expect(secretsInArgs(args)).toEqual(expect.arrayContaining([...secrets]));
    expect(secretsInArgs(args).length).toBeGreaterThanOrEqual(secrets.length);
    if (secrets.length === 0) expect(secretsInArgs(args)).toEqual([]);
  });
});

describe("secretsInHeaders", () => {
  it("are the values, what follows a scheme, and what Basic hides", () => {
    expect(secretsInHeaders(["Bearer abcdef", "plain"])).toEqual(["Bearer abcdef", "abcdef", "plain"]);
    expect(secretsInHeaders([`Basic ${btoa("ann:battery")}`])).toEqual(
      expect.arrayContaining(["ann:battery", "battery"]),
    );
  });
});

describe("createMask", () => {
  it("hides secrets as they are, in JSON and in URLs, and nothing else", () => {
    const mask = createMask(['pass "word"', "a b&c=d"]);
    expect(mask(JSON.stringify({ it: 'pass "word"' }))).toBe('{"it":"***"}');
    expect(mask(`?x=${encodeURIComponent("a b&c=d")} 6f1d0b7e-93a4-4c2b-8f55-0d9a7c1e2b34`)).toBe(
      "?x=*** 6f1d0b7e-93a4-4c2b-8f55-0d9a7c1e2b34",
    );
    expect(createMask(["secret", "secret of mine"])("the secret of mine")).toBe("the ***");
    expect(createMask(["\ud800half of one"])("\ud800half of one")).toBe("***");
  });
});

describe("maskJson", () => {
  it("masks every text, wherever it is", () => {
    const mask = createMask(["secret"]);
    expect(maskJson({ secret: ["a secret", 1, null, { b: "secret" }] }, mask)).toEqual({
      "***": ["a ***", 1, null, { b: "***" }],
    });
  });
});
