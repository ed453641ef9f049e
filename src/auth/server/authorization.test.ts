import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { startCpuTime } from "../../../test/support/cpu-time.ts";
import { readAuthorization } from "./authorization.ts";

describe("readAuthorization", () => {
  it.each([
    ["Bearer abc", "bearer", "abc"],
    ["bearer abc.def-_~+/==", "bearer", "abc.def-_~+/=="],
    ["BASIC\t YTpi ", "basic", "YTpi"],
    ["  DPoP x", "dpop", "x"],
  ])("takes %j apart", (header, scheme, credentials) => {
    expect(readAuthorization(header)).toEqual({ scheme, credentials });
  });

  it.each([undefined, "", "  "])("sees that %j brings nothing", (header) => {
    expect(readAuthorization(header)).toBe("absent");
  });

  it.each([
    "Bearer",
    "Bearer ",
    "Bearer a b",
    "Bearer a, Bearer b",
    "Bearer a\u0000",
    'Digest username="x"',
    "Bearer =abc",
    `Bearer ${"x".repeat(16_384)}`,
    "Bäarer abc",
  ])("refuses %j", (header) => {
    expect(readAuthorization(header)).toBe("malformed");
  });

  it("never throws, and gives back nothing that was not sent", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.string({ unit: "binary" }),
          fc.string().map((text) => `Bearer ${text}`),
        ),
        (header) => {
          const read = readAuthorization(header);
          if (typeof read === "string") return;
          expect(header).toContain(read.credentials);
          expect(header.toLowerCase()).toContain(read.scheme);
        },
      ),
    );
  });

  it("takes no longer for headers made to be slow", () => {
    const spent = startCpuTime();
    readAuthorization(`${"\t ".repeat(8_000)}x`);
    readAuthorization(`Bearer ${"=".repeat(16_000)}x`);
    expect(spent()).toBeLessThan(200);
  });
});
