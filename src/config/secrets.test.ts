import { describe, expect, it } from "vitest";
import { maskArgs, maskText, maskUrl, withoutSecrets } from "./secrets.ts";

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
