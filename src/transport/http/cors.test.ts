import { describe, expect, it } from "vitest";
import { allowedHeaders, corsHeaders, plainHeaders, preflight } from "./admission.ts";
import type { HttpHead } from "./http-message.ts";

const origin = "https://app.example";
const own = allowedHeaders([]);

function ask(headers: Readonly<Record<string, string>>): HttpHead {
  return { method: "OPTIONS", url: "/mcp", header: (name) => headers[name] };
}

describe("cors", () => {
  it("C97: echoes the origin with vary", () => {
    expect(corsHeaders(origin)).toEqual({
      "access-control-allow-origin": origin,
      "access-control-expose-headers":
        "mcp-session-id, mcp-protocol-version, www-authenticate, retry-after, dpop-nonce",
      vary: "origin",
    });
  });

  it("C97: allows no origin where none is listed", () => {
    expect(plainHeaders).toEqual({ vary: "origin" });
  });

  it("C97: answers a preflight", () => {
    expect(preflight(origin, ask({ "access-control-request-method": "POST" }), own)).toEqual({
      status: 204,
      headers: {
        "access-control-allow-origin": origin,
        "access-control-allow-methods": "GET, POST, DELETE, OPTIONS",
        "access-control-allow-headers": own.join(", "),
        "access-control-max-age": "600",
        vary: "origin",
      },
      body: "",
    });
  });

  it("C97: lets pages send the headers of the protocol, and those of the authenticator once (T9)", () => {
    for (const name of ["content-type", "authorization", "mcp-session-id", "mcp-protocol-version", "last-event-id"])
      expect(own).toContain(name);
    expect(allowedHeaders(["X-Api-Key", "authorization"])).toEqual([...own, "x-api-key"]);
  });

  it.each([
    ["", ""],
    ["content-type,authorization", ""],
    ["x-evil, cookie", ""],
    ["mcp-param-region", ", mcp-param-region"],
    ["content-type, MCP-Param-Region ,\tmcp-param-a_b.c,x", ", mcp-param-region, mcp-param-a_b.c"],
    ["mcp-param-, x-mcp-param-a, mcp-param-a b, mcp-param-a\r\nx: y, mcp-param-é, mcp-param-a:b, *", ""],
  ])("C97: of the headers %j it adds %j", (wanted, added) => {
    const { headers } = preflight(origin, ask({ "access-control-request-headers": wanted }), own);
    expect(headers["access-control-allow-headers"]).toBe(own.join(", ") + added);
  });

  it.each([
    [undefined, undefined],
    ["true", "true"],
    ["false", undefined],
    ["1", undefined],
  ])("C97: to private network %j it says %j", (wanted, said) => {
    const asked = wanted === undefined ? {} : { "access-control-request-private-network": wanted };
    expect(preflight(origin, ask(asked), own).headers["access-control-allow-private-network"]).toBe(said);
  });
});
