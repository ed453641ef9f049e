import { describe, expect, it } from "vitest";
import { readCallback } from "./sign-in.ts";

const issuer = "https://as.example/t1";
const redirectUri = "http://127.0.0.1:4000/callback";

function read(callback: string, advertised?: boolean): string {
  const server = {
    issuer,
    ...(advertised !== undefined && { authorization_response_iss_parameter_supported: advertised }),
  };
  return readCallback(callback, { server, state: "s1", redirectUri });
}

const at = (query: string): string => `${redirectUri}?${query}`;
const iss = encodeURIComponent(issuer);

describe("a user who comes back", () => {
  it.each([
    ["code=c&state=s1", undefined],
    ["code=c&state=s1", false],
    [`code=c&state=s1&iss=${iss}`, undefined],
    [`code=c&state=s1&iss=${iss}`, true],
  ])("brings a code: %s, issuer advertised: %s", (query, advertised) => {
    expect(read(at(query), advertised)).toBe("c");
  });

  it("may be told of by path only", () => {
    expect(read("/callback?code=c&state=s1")).toBe("c");
  });

  it.each([
    ["another state", at("code=c&state=s2"), "invalid-callback"],
    ["a longer state", at("code=c&state=s11"), "invalid-callback"],
    ["no state", at("code=c"), "invalid-callback"],
    ["an empty state", at("code=c&state="), "invalid-callback"],
    ["two states", at("code=c&state=s1&state=s2"), "invalid-callback"],
    ["two codes", at("code=c&code=d&state=s1"), "invalid-callback"],
    ["no code", at("state=s1"), "invalid-callback"],
    ["another place", "http://127.0.0.1:4000/other?code=c&state=s1", "invalid-callback"],
    ["another port", "http://127.0.0.1:4001/callback?code=c&state=s1", "invalid-callback"],
    ["another origin", "https://evil.example/callback?code=c&state=s1", "invalid-callback"],
    ["no URL", "http://[", "invalid-callback"],
    ["another issuer", at("code=c&state=s1&iss=https%3A%2F%2Fevil.example"), "issuer-mismatch"],
    ["the issuer with a slash", at(`code=c&state=s1&iss=${iss}%2F`), "issuer-mismatch"],
    ["the issuer in capitals", at("code=c&state=s1&iss=https%3A%2F%2FAS.example%2Ft1"), "issuer-mismatch"],
    ["two issuers", at(`code=c&state=s1&iss=${iss}&iss=${iss}`), "invalid-callback"],
    ["a refusal", at("error=access_denied&state=s1"), "denied"],
    ["an error", at("error=server_error&error_description=down&state=s1"), "token-refused"],
  ])("is not taken with %s (V12)", (_what, callback, reason) => {
    expect(() => read(callback)).toThrow(
      expect.objectContaining({ code: "unauthorized", data: expect.objectContaining({ reason }) }),
    );
  });

  it("is not taken without an issuer where there should be one", () => {
    expect(() => read(at("code=c&state=s1"), true)).toThrow(/another issuer/);
  });

  it("is not believed what an error says unless the issuer is right", () => {
    const evil = at("error=access_denied&error_description=CALL+US&state=s1&iss=https%3A%2F%2Fevil.example");
    expect(() => read(evil)).toThrow(/^the user came back from another issuer$/);
  });
});
