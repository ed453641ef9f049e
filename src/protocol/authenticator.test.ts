import { describe, expect, it } from "vitest";
import { httpWith } from "../../test/support/tokens.ts";
import { AuthenticatedHttp, authOf } from "./authenticator.ts";

describe("a request whose sender is known", () => {
  const auth = { principal: "ann" };
  const http = { ...httpWith({ authorization: "Bearer x", "x-fact": "y" }), remoteAddress: "127.0.0.1" };

  it("shows what came, but for its credentials, however they are spelled", () => {
    const known = new AuthenticatedHttp(http, auth, new Set(["authorization"]));
    expect(known).toMatchObject({ method: "POST", url: "/mcp", remoteAddress: "127.0.0.1" });
    expect(["x-fact", "authorization", "Authorization"].map((name) => known.header(name))).toEqual([
      "y",
      undefined,
      undefined,
    ]);
    expect(JSON.stringify(known)).toBe('{"auth":{"principal":"ann"}}');
  });

  it("says who it is, and no other request does", () => {
    expect(authOf(new AuthenticatedHttp(http, auth, new Set()))).toBe(auth);
    expect(authOf(Object.assign({ auth }, http))).toBeUndefined();
    expect(authOf(undefined)).toBeUndefined();
  });
});
