import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseChallenges, tokenChallenge } from "./challenge.ts";

/** Challenges as plain values. */
function read(header: string): unknown {
  return parseChallenges(header).map(({ scheme, parameters, token68 }) => [
    scheme,
    token68 ?? Object.fromEntries(parameters),
  ]);
}

describe("WWW-Authenticate", () => {
  it.each<[header: string, expected: unknown]>([
    ["", []],
    ["Bearer", [["bearer", {}]]],
    ["  ,, Bearer ,", [["bearer", {}]]],
    ['Bearer realm="x"', [["bearer", { realm: "x" }]]],
    ["BEARER Realm=x", [["bearer", { realm: "x" }]]],
    ['Bearer realm = "x" , scope\t=\ta', [["bearer", { realm: "x", scope: "a" }]]],
    ['Bearer realm="a \\"b\\" \\\\", scope="c, d=e"', [["bearer", { realm: 'a "b" \\', scope: "c, d=e" }]]],
    ['Bearer a="", b=c', [["bearer", { a: "", b: "c" }]]],
    [
      "Basic, Bearer",
      [
        ["basic", {}],
        ["bearer", {}],
      ],
    ],
    [
      'Basic realm="x", Bearer scope="a b", error=e',
      [
        ["basic", { realm: "x" }],
        ["bearer", { scope: "a b", error: "e" }],
      ],
    ],
    [
      "Negotiate dGVzdA==, Bearer a=b",
      [
        ["negotiate", "dGVzdA=="],
        ["bearer", { a: "b" }],
      ],
    ],
    ["Negotiate abc", [["negotiate", "abc"]]],
    [
      'Newauth realm="apps", type=1, title="Login to \\"apps\\"", Basic realm="simple"',
      [
        ["newauth", { realm: "apps", type: "1", title: 'Login to "apps"' }],
        ["basic", { realm: "simple" }],
      ],
    ],
    ['Bearer scope="a", scope="b"', [["bearer", { scope: "a" }]]],
    ["Bearer ,, a=b,,c=d", [["bearer", { a: "b", c: "d" }]]],
    ['Bearer scope="open', [["bearer", {}]]],
    ['Bearer a=b, "garbage"', [["bearer", { a: "b" }]]],
    ["\u0000\u0001", []],
    ['Bearer a="b"c="d"', [["bearer", { a: "b", c: "d" }]]],
  ])("is read: %j", (header, expected) => {
    expect(read(header)).toEqual(expected);
  });

  it("never throws, whatever it is", () => {
    const piece = fc.constantFrom("Bearer", " ", ",", "=", '"', "\\", "a", "scope", "==", "\t", "é", "DPoP", "\n");
    const header = fc.oneof(
      fc.string(),
      fc.array(piece).map((pieces) => pieces.join("")),
    );
    fc.assert(
      fc.property(header, (text) => {
        for (const { scheme } of parseChallenges(text)) expect(scheme).toMatch(/^[!-~]+$/);
        expect(Object.values(tokenChallenge(text)).every((value) => typeof value === "string")).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it("is read back as it was written", () => {
    const token = fc.stringMatching(/^[a-z][a-z0-9_-]{0,9}$/);
    const parameters = fc.uniqueArray(fc.tuple(token, fc.string({ maxLength: 20 }).map(printable)), {
      selector: ([name]) => name,
      minLength: 1,
      maxLength: 5,
    });
    const challenge = fc.tuple(token, parameters);
    fc.assert(
      fc.property(fc.array(challenge, { maxLength: 4 }), (challenges) => {
        const header = challenges.map(([scheme, list]) => `${scheme} ${list.map(write).join(", ")}`).join(", ");
        expect(read(header)).toEqual(challenges.map(([scheme, list]) => [scheme, Object.fromEntries(list)]));
      }),
    );
  });

  it("takes no longer for what is long", () => {
    const long = `Bearer a="${"\\a".repeat(1_000_000)}`;
    expect(parseChallenges(long)).toHaveLength(1);
    expect(parseChallenges(`Bearer${" ,".repeat(1_000_000)}`)).toHaveLength(1);
  });
});

function printable(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, "");
}

function write([name, value]: readonly [string, string]): string {
  return `${name}="${value.replaceAll(/["\\]/g, "\\$&")}"`;
}

describe("what a server says of tokens", () => {
  it.each<[header: string | undefined, expected: object]>([
    [undefined, {}],
    ['Basic realm="x"', {}],
    ['Bearer scope="a b", resource_metadata="https://x/y"', { scope: "a b", resourceMetadata: "https://x/y" }],
    ['Basic scope="no", Bearer error="insufficient_scope"', { error: "insufficient_scope" }],
    ['DPoP error="use_dpop_nonce", Bearer error="invalid_token", scope=a', { error: "invalid_token", scope: "a" }],
  ])("is found in %j", (header, expected) => {
    expect(tokenChallenge(header)).toEqual(expected);
  });

  it("is that of the scheme in use, where both are there", () => {
    const header = 'Bearer error="invalid_token", DPoP error="use_dpop_nonce"';
    expect(tokenChallenge(header, "dpop")).toEqual({ error: "use_dpop_nonce" });
  });
});
