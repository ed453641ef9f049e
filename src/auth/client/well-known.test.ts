import { describe, expect, it } from "vitest";
import { canonicalUrl, isResourceOf, resourceMetadataUrls, serverMetadataUrls } from "./discovery.ts";

const hrefs = (urls: readonly URL[]): readonly string[] => urls.map(({ href }) => href);

describe("metadata of a resource", () => {
  it.each([
    ["https://x.example", ["https://x.example/.well-known/oauth-protected-resource"]],
    ["https://x.example/", ["https://x.example/.well-known/oauth-protected-resource"]],
    [
      "https://x.example:8443/a/b/",
      [
        "https://x.example:8443/.well-known/oauth-protected-resource/a/b",
        "https://x.example:8443/.well-known/oauth-protected-resource",
      ],
    ],
    [
      "https://x.example/mcp?tenant=1",
      [
        "https://x.example/.well-known/oauth-protected-resource/mcp?tenant=1",
        "https://x.example/.well-known/oauth-protected-resource",
      ],
    ],
  ])("of %s", (server, expected) => {
    expect(hrefs(resourceMetadataUrls(new URL(server)))).toEqual(expected);
  });
});

describe("metadata of an issuer", () => {
  it("without a path: RFC 8414, then OpenID Connect", () => {
    expect(hrefs(serverMetadataUrls(new URL("https://as.example/")))).toEqual([
      "https://as.example/.well-known/oauth-authorization-server",
      "https://as.example/.well-known/openid-configuration",
    ]);
  });

  it("with a path: never the document at the root", () => {
    expect(hrefs(serverMetadataUrls(new URL("https://as.example/t1")))).toEqual([
      "https://as.example/.well-known/oauth-authorization-server/t1",
      "https://as.example/.well-known/openid-configuration/t1",
      "https://as.example/t1/.well-known/openid-configuration",
    ]);
  });
});

describe("a resource", () => {
  const server = new URL("https://x.example/a/mcp");

  it.each([
    "https://x.example/a/mcp",
    "https://x.example/a/mcp/",
    "https://x.example/a",
    "https://x.example",
    "HTTPS://X.example:443/",
  ])("is this server, or above it: %s", (resource) => {
    expect(isResourceOf(resource, server)).toBe(true);
  });

  it.each([
    "https://evil.example/a/mcp",
    "http://x.example/a/mcp",
    "https://x.example:8443/a/mcp",
    "https://x.example/a/mc",
    "https://x.example/a/mcp/deeper",
    "https://x.example/a/../b",
    "https://x.example/a/mcp#part",
    "https://x.example/a/mcp#",
    "https://x.example/a/mcp?other",
    "https://x.example.evil.example/a/mcp",
    "/a/mcp",
    "",
  ])("is another one: %s", (resource) => {
    expect(isResourceOf(resource, server)).toBe(false);
  });

  it("has a canonical name", () => {
    expect(canonicalUrl(new URL("https://X.example:443/mcp/#x"))).toBe("https://x.example/mcp");
    expect(canonicalUrl(new URL("https://x.example/"))).toBe("https://x.example");
  });
});
