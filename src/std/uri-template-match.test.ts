import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { startCpuTime } from "../../test/support/cpu-time.ts";
import { type MatchedVariables, parseUriTemplate, type UriTemplate } from "./uri-template.ts";

function template(source: string): UriTemplate {
  const parsed = parseUriTemplate(source);
  if (!parsed.ok) throw new Error(parsed.problem);
  return parsed.value;
}

describe("match", () => {
  it.each<[string, string, MatchedVariables | undefined]>([
    ["x://fixed", "x://fixed", {}],
    ["x://fixed", "x://fixed/", undefined],
    ["x://{a}", "x://", undefined],
    ["x://{a}", "x://b/c", undefined],
    ["x://{a}", "x://b?c", undefined],
    ["x://{a}", "x://b#c", undefined],
    ["x://{a}", "x://bob@example.com:1,2", { a: "bob@example.com:1,2" }],
    ["x://{a,b}", "x://1,2", { a: "1", b: "2" }],
    ["x://{a,b}", "x://1", undefined],
    ["x://{a*}", "x://1,2,3", { a: ["1", "2", "3"] }],
    ["x://{a*}", "x://1,,3", undefined],
    ["x://{a}.txt", "x://a.txt.txt", { a: "a.txt" }],
    ["x://{a:3}", "x://abc", { a: "abc" }],
    ["x://{a:3}", "x://abcd", undefined],
    ["x://{a:2}", "x://%F0%9F%98%80é", { a: "😀é" }],
    ["file:///{+path}", "file:///a/b?c#d", { path: "a/b?c#d" }],
    ["file:///{+path}", "file:///", undefined],
    ["file:///{+path}/{name}", "file:///a/b/c", { path: "a/b", name: "c" }],
    ["{+a*}", "1/2,3?4", { a: ["1/2", "3?4"] }],
    ["x{#a}", "x#1/2", { a: "1/2" }],
    ["x{#a}", "x1/2", undefined],
    ["x{#a*}", "x#1,2", { a: ["1", "2"] }],
    ["x{.a}", "x.tar.gz", { a: "tar.gz" }],
    ["x{.a,b}", "x.tar.gz", { a: "tar", b: "gz" }],
    ["x{.a*}", "x.tar.gz", { a: ["tar", "gz"] }],
    ["x{/a}", "x/1", { a: "1" }],
    ["x{/a}", "x", undefined],
    ["x{/a}", "x/1/2", undefined],
    ["x{/a,b*}", "x/1/2/3", { a: "1", b: ["2", "3"] }],
    ["x{/a*}", "x/1/2", { a: ["1", "2"] }],
    ["x{/a*}", "x", { a: [] }],
    ["x{/a*}", "x/", undefined],
    ["x{/a*}/meta", "x/meta/meta", { a: ["meta"] }],
    ["x{;a}", "x;a=1", { a: "1" }],
    ["x{;a}", "x;a", { a: "" }],
    ["x{;a,b}", "x;b=2;a=1", { a: "1", b: "2" }],
    ["x{;a,b}", "x;a=1", undefined],
    ["x{;a*}", "x;a=1;a=2", { a: ["1", "2"] }],
    ["x{;a*}", "x", { a: [] }],
  ])("%s reads %s", (source, uri, variables) => {
    expect(template(source).match(uri)).toEqual(variables);
  });

  it.each<[string, string, MatchedVariables | undefined]>([
    ["x{?a,b}", "x", {}],
    ["x{?a,b}", "x?a=1&b=2", { a: "1", b: "2" }],
    ["x{?a,b}", "x?b=2&a=1", { a: "1", b: "2" }],
    ["x{?a,b}", "x?b=", { b: "" }],
    ["x{?a,b}", "x?b", { b: "" }],
    ["x{?a,b}", "x?a=/?:=", { a: "/?:=" }],
    ["x{?a,b}", "x?", undefined],
    ["x{?a,b}", "x?a=1&", undefined],
    ["x{?a,b}", "x?a=1&c=3", undefined],
    ["x{?a,b}", "x?a=1&a=2", undefined],
    ["x{?a,ab}", "x?ab=1", { ab: "1" }],
    ["x{?a:3}", "x?a=abcd", undefined],
    ["x{?a*,b}", "x?a=1&b=2&a=3", { a: ["1", "3"], b: "2" }],
    ["x{?a*}", "x", {}],
    ["x{?a}{&b}{#c}", "x?a=1&b=2#3", { a: "1", b: "2", c: "3" }],
    ["x?fixed=yes{&a}", "x?fixed=yes&a=1", { a: "1" }],
    ["x?fixed=yes{&a}", "x?fixed=yes", {}],
    ["x/{+path}{?a}", "x/y/z?a=1", { path: "y/z", a: "1" }],
    ["x{?Stra%C3%9Fe}", "x?Straße=1", { "Stra%C3%9Fe": "1" }],
  ])("%s reads the query of %s", (source, uri, variables) => {
    expect(template(source).match(uri)).toEqual(variables);
  });

  it.each<[string, string, MatchedVariables | undefined]>([
    ["{a}", "%2e%2E%2Fb", { a: "../b" }],
    ["{a}", "%2541", { a: "%41" }],
    ["{a}", "a+b", { a: "a+b" }],
    ["{a}", "%", undefined],
    ["{a}", "b%4", undefined],
    ["{a}", "%zz", undefined],
    ["{a}", "%C3", undefined],
    ["{a}", "%ED%A0%80", undefined],
    ["{a}{b}", "%C3%A9x", { a: "é", b: "x" }],
    ["{a}{b}", "😀x", { a: "😀", b: "x" }],
    ["~/é/{a}", "%7e/%c3%a9/b", { a: "b" }],
    ["a/{b}", "a%2Fb", undefined],
    ["a%2F{b}", "a%2fb", { b: "b" }],
    ["a%FF{b}", "a%FFb", undefined],
  ])("%s decodes %s", (source, uri, variables) => {
    expect(template(source).match(uri)).toEqual(variables);
  });

  it.each<[string, string, MatchedVariables | undefined]>([
    ["{a}{b}", "xyz", { a: "x", b: "yz" }],
    ["{a}{b}", "x", undefined],
    ["{a}-{b}", "1-2-3", { a: "1", b: "2-3" }],
    ["x{/a*}{/b*}", "x/1/2", { a: ["1"], b: ["2"] }],
    ["{a}/{a}", "1/1", { a: "1" }],
    ["{a}/{a}", "1/2", undefined],
    ["{/a:1,a}", "/v/value", { a: "value" }],
    ["{/a:1,a}", "/w/value", undefined],
    ["{/a:9,a}", "/v/value", undefined],
    ["{a*}/{a*}", "1,2/1,2", { a: ["1", "2"] }],
    ["{a*}/{a*}", "1,2/1,3", undefined],
    ["{a*}/{a}", "1,2/12", undefined],
    ["{a}/{a*}", "12/1,2", undefined],
  ])("%s decides about %s", (source, uri, variables) => {
    expect(template(source).match(uri)).toEqual(variables);
  });

  it("takes the names of the prototype for names", () => {
    const variables = template("x://{__proto__}/{constructor}{?toString}").match("x://a/b");
    expect(Object.entries(variables ?? {})).toEqual([
      ["__proto__", "a"],
      ["constructor", "b"],
    ]);
    expect(variables?.toString).toBeUndefined();
  });

  it("gives back what was put in", () => {
    const text = fc.string({ unit: "grapheme", minLength: 1 });
    const unencoded = text.filter((value) => !/%[\da-f]{2}/i.test(value));
    const values = fc.record(
      {
        a: text,
        b: text,
        c: unencoded,
        d: fc.array(text),
        e: fc.string(),
        f: fc.array(text, { minLength: 1 }),
        g: text,
      },
      { requiredKeys: ["a", "b", "c", "d"] },
    );
    const roundTrip = template("x://{a}/é:{b}{/d*}{?e,f*,g}#/{+c}");
    fc.assert(
      fc.property(values, (given) => {
        expect(roundTrip.match(roundTrip.expand(given))).toEqual(given);
      }),
    );
  });

  it("reads as a backtracking expression with the same preferences would", () => {
    const piece = fc
      .constantFrom(...Object.entries(meanings))
      .chain(([source, { samples }]) =>
        fc.record({ source: fc.constant(source), sample: fc.constantFrom(...samples, "a", "/b") }),
      );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 5 }), (pieces) => {
        const named = pieces.map(({ source }, index) => [source, "pqrst".charAt(index)] as const);
        const source = named.map(([text, name]) => text.replace("N", name)).join("");
        const uri = pieces.map(({ sample }, index) => sample.replaceAll("N", "pqrst".charAt(index))).join("");
        expect(template(source).match(uri)).toEqual(backtrack(named, uri));
      }),
      { numRuns: 3000 },
    );
  });
});

/** What a piece of a template means, as a regular expression around the name N, and what it may stand for. */
const meanings: Readonly<Record<string, { readonly pattern: string; readonly samples: readonly string[] }>> = {
  a: { pattern: "a", samples: ["a"] },
  "/": { pattern: "/", samples: ["/"] },
  "{N}": { pattern: "(?<N>[^/?#]+?)", samples: ["b", "a.b", "a,b", "N=b"] },
  "{N:2}": { pattern: "(?<N>[^/?#]{1,2}?)", samples: ["b", "ab", "aba"] },
  "{+N}": { pattern: "(?<N>.+?)", samples: ["b", "a/b", "a?N=b", "#"] },
  "{#N}": { pattern: "#(?<N>.+?)", samples: ["#a", "#a/b"] },
  "{.N}": { pattern: "[.](?<N>[^/?#]+?)", samples: [".b", ".a.b"] },
  "{/N}": { pattern: "/(?<N>[^/?#]+?)", samples: ["/b", "/a.b"] },
  "{N*}": { pattern: "(?<N>[^/?#,]+?(?:,[^/?#,]+?)*?)", samples: ["b", "a,b,a", "a,,b"] },
  "{.N*}": { pattern: "(?<N>(?:[.][^/?#.]+?)(?:[.][^/?#.]+?)*?)?", samples: ["", ".b", ".a.b"] },
  "{/N*}": { pattern: "(?<N>(?:/[^/?#]+?)(?:/[^/?#]+?)*?)?", samples: ["", "/b", "/a/b", "/a/b/a"] },
  "{?N*}": { pattern: "(?:[?](?<N>N(?:=[^&#]*?)?(?:&N(?:=[^&#]*?)?)*?))?", samples: ["", "?N=b", "?N&N=a/b"] },
  "{&N*}": { pattern: "(?:&(?<N>N(?:=[^&#]*?)?(?:&N(?:=[^&#]*?)?)*?))?", samples: ["", "&N=", "&N=b&N=a"] },
};

function backtrack(pieces: readonly (readonly [string, string])[], uri: string): MatchedVariables | undefined {
  const pattern = pieces.map(([piece, name]) => meanings[piece]?.pattern.replaceAll("N", name)).join("");
  const match = new RegExp(`^${pattern}$`).exec(uri);
  if (match === null) return undefined;
  const variables = pieces.flatMap(([piece, name]): [string, string | string[]][] => {
    const text = match.groups?.[name];
    if (!piece.includes("*")) return text === undefined ? [] : [[name, text]];
    if (/[?&]/.test(piece)) {
      return text === undefined ? [] : [[name, text.split("&").map((pair) => pair.slice(name.length + 1))]];
    }
    const separator = piece.charAt(1).replace("N", ",");
    return [[name, (text ?? "").split(separator).filter((member) => member !== "")]];
  });
  return Object.fromEntries(variables);
}

describe("the cost of a match", () => {
  it.each<[string, (length: number) => string]>([
    ["x://{a}{b}{c}/{+d}{e}", (length) => `x://${"a".repeat(length)}/`],
    ["{+a}-{+b}-{+c}-{d}!", (length) => "-".repeat(length)],
    ["x{/a*}{/b*}{+c}!", (length) => `x${"/a".repeat(length / 2)}`],
    ["x{?a*,b*}{&c*}!", (length) => `x?a${"&a".repeat(length / 2)}`],
    ["x{?a:3}", (length) => `x?${"a=bcd&".repeat(length / 12)}a=${"bcd".repeat(length / 6)}`],
    ["{a}!", (length) => "%C3%A9".repeat(length / 6)],
  ])("%s grows with the length of the uri", (source, hostile) => {
    const { match } = template(source);
    const [short, long] = [hostile(6_000), hostile(32 * 6_000)];
    const many = fastest(() => Array.from({ length: 32 }, () => match(short)));
    expect(fastest(() => match(long)) / many).toBeLessThan(10);
  });

  it("needs no deep stack", () => {
    const members = Array.from({ length: 200_000 }, () => "a");
    const uri = `x/${members.join("/")}`;
    expect(template("x{/a*}").match(uri)).toEqual({ a: members });
    expect(template(`x/{+a}${"{?b}".repeat(1000)}`).match("x/y")).toEqual({ a: "y" });
  });
});

/** In milliseconds, of a few runs. A text of 32 times the length takes 32 times as long as 32 texts where the cost is quadratic. */
function fastest(work: () => unknown): number {
  const times = Array.from({ length: 5 }, () => {
    const spent = startCpuTime();
    work();
    return spent();
  });
  return Math.min(...times);
}
