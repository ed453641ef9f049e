import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { challengeHeader } from "./authentication.ts";

const metadataUrl = "https://shop.example/.well-known/oauth-protected-resource/mcp";

describe("challengeHeader", () => {
  it("says where tokens come from and what they are for, and of errors only where there is one", () => {
    expect(challengeHeader([{ scheme: "Bearer" }], { metadataUrl, scopes: ["read", "write"] })).toBe(
      `Bearer resource_metadata="${metadataUrl}", scope="read write"`,
    );
    expect(
      challengeHeader([{ scheme: "Bearer" }], { error: "invalid_token", description: "it has expired", scopes: [] }),
    ).toBe('Bearer error="invalid_token", error_description="it has expired"');
    expect(challengeHeader([{ scheme: "Bearer" }], {})).toBe("Bearer");
    expect(challengeHeader([], {})).toBe("");
  });

  it("tells the error in the challenge of the scheme that was used, offered or not", () => {
    const both = [{ scheme: "Bearer" }, { scheme: "DPoP", parameters: { algs: "ES256" } }];
    expect(challengeHeader(both, { scheme: "dpop", error: "invalid_dpop_proof" })).toBe(
      'Bearer, DPoP algs="ES256", error="invalid_dpop_proof"',
    );
    expect(challengeHeader([{ scheme: "Bearer" }], { scheme: "DPoP", error: "use_dpop_nonce" })).toBe(
      'Bearer, DPoP error="use_dpop_nonce"',
    );
  });

  it("tells other schemes nothing of tokens", () => {
    const schemes = [{ scheme: "Basic", parameters: { realm: 'a "shop"' } }, { scheme: "Bearer" }];
    expect(challengeHeader(schemes, { scheme: "Basic", error: "invalid_token", scopes: ["read"] })).toBe(
      'Basic realm="a \\"shop\\"", Bearer scope="read"',
    );
  });

  it("is one line of ASCII, whatever is in it", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const header = challengeHeader([{ scheme: "Bearer", parameters: { realm: text } }], {
          description: text,
          error: text,
        });
        expect(header).toMatch(/^[\x20-\x7e]*$/);
        expect(header.replaceAll(/\\./g, "").match(/"/g)).toHaveLength(6);
      }),
    );
  });
});
