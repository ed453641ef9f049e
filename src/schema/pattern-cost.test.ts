import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { startCpuTime } from "../../test/support/cpu-time.ts";
import { patternSteps, provePatterns, safePattern } from "./pattern-cost.ts";
import { type PatternNode, parsePattern } from "./pattern-syntax.ts";
import { maxSteps } from "./rule.ts";

/** Patterns as people write them, each with texts that give a backtracking matcher a hard time. */
const safe: readonly (readonly [source: string, ...pumps: readonly string[]])[] = [
  [String.raw`^[A-Z]{3}-\d+$`, "A", "1"],
  ["^(foo|bar)+$", "foo", "bar", "f"],
  [String.raw`^\w+@\w+\.\w+$`, "a", "a@", "a."],
  ["^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$", "a", "a-"],
  ["^[a-z0-9]+(?:-[a-z0-9]+)*$", "a", "a-", "-"],
  [String.raw`^\d{4}-\d{2}-\d{2}$`, "1", "1-"],
  [String.raw`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$`, "1", "1:"],
  [
    String.raw`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?$`,
    "1",
    "1.",
    "a.",
    "0.0.0-a.",
  ],
  [String.raw`^(?=.*[a-z])(?=.*[A-Z])(?=.*\d)[A-Za-z\d@$!%*?&]{8,}$`, "a", "aA"],
  ["^https?://", "h", "http"],
  [String.raw`^https?:\/\/[^\s/$.?#].[^\s]*$`, "http://", "a"],
  [String.raw`\S`, " "],
  [String.raw`\S+`, " "],
  [".+", "\n"],
  ["^.*$", "a", "\n"],
  [String.raw`^\s*\S[\s\S]*$`, " "],
  ["^[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$", "a", "-"],
  [String.raw`^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,}$`, "a", "a.", "a-"],
  [String.raw`^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3}(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)$`, "1", "1."],
  ["^#(?:[0-9a-fA-F]{3}){1,2}$", "a", "#"],
  ["^[A-Za-z0-9+/]*={0,2}$", "a", "="],
  ["^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$", "a", "a="],
  [String.raw`^P(?:\d+Y)?(?:\d+M)?(?:\d+W)?(?:\d+D)?(?:T(?:\d+H)?(?:\d+M)?(?:\d+S)?)?$`, "1", "P1Y"],
  [String.raw`^\+?[1-9]\d{1,14}$`, "1"],
  [String.raw`^[\w.-]+@[\w-]+(?:\.[\w-]+)+$`, "a", "a.", "a@"],
  [
    String.raw`^(?:[A-Za-z0-9_'+\-]+\.)*[A-Za-z0-9_'+\-]*[A-Za-z0-9_+-]@(?:[A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$`,
    "a",
    "a.",
    "a@a.",
  ],
  [String.raw`^\p{L}+(?:[ '-]\p{L}+)*$`, "é", "é "],
  ["^(?!.*--)[a-z0-9-]+$", "a", "-"],
  ["^[a-f0-9]{64}$", "a"],
  [String.raw`^\$\{[A-Z_]+\}$`, "A"],
  ["^(?:GET|HEAD|POST|PUT|PATCH|DELETE)$", "P"],
  ["^[^/]+/[^/]+$", "a", "a/"],
  ["^/(?:[^/]+/)*[^/]*$", "a", "a/"],
  ["^(?:[^~/]|~0|~1)*$", "a", "~0", "~"],
  [String.raw`\d+\d+`, "1", "a"],
  [String.raw`\d+x`, "1"],
  [String.raw`\s+$`, " "],
  ["^.*foo.*$", "foo", "f"],
  [String.raw`^\d?\d?\d$`, "1"],
  [String.raw`^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$`, "1", "1e"],
  [String.raw`^[\u4e00-\u9fa5]+$`, "\u4e00"],
  [String.raw`^"(?:[^"\\]|\\.)*"$`, '"', "\\", 'a"'],
  [String.raw`^(?:\w+\s)*\w+$`, "a", "a "],
  [String.raw`^\w+\s*=\s*\w+$`, "a", " ", "a="],
  [String.raw`^\[\d+(?:,\d+)*\]$`, "1", "1,"],
  ["^[a-z]{0,200}[a-z0-9]{1,200}$", "a"],
  [String.raw`^(?:[01]\d|2[0-3]):[0-5]\d$`, "0"],
  [String.raw`^\u{1F600}+(?:\uD83D\uDE01)*$`, "\u{1F600}"],
];

const unsafe: readonly (readonly [source: string, problem: RegExp])[] = [
  ["(a+)+$", /^\(a\+\)\+ can match the same text in exponentially many ways/],
  ["(a|a)*", /^\(a\|a\)\* can match/],
  ["(a|a)*$", /exponentially/],
  ["(a|aa)+$", /exponentially/],
  ["(.*)*", /exponentially/],
  ["(.*)*$", /exponentially/],
  ["(.+)+@", /exponentially/],
  ["^(([a-z])+.)+[A-Z]([a-z])+$", /^\(\(\[a-z\]\)\+\.\)\+ can match/],
  ["(a*)*b", /exponentially/],
  ["((a|b)*)*c", /exponentially/],
  ["^(?:a+)*$", /exponentially/],
  [String.raw`^(\d+)*$`, /exponentially/],
  [String.raw`(\w+\s?)*$`, /exponentially/],
  [String.raw`^(\w+\s?)*$`, /exponentially/],
  [
    String.raw`^([a-zA-Z0-9])(([\-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}[a-z0-9]+[.]{1}(([a-z]{2,3})|([a-z]{2,3}[.]{1}[a-z]{2,3}))$`,
    /exponentially/,
  ],
  ["(x+x+)+y", /exponentially/],
  ["^(a|b|ab)*c$", /exponentially/],
  ["(?:a?b?)*c", /exponentially/],
  [String.raw`(\d{1,3}){4,40}x`, /exponentially/],
  ["^(?:.*,){10,}x$", /exponentially/],
  [`([^"']+|"[^"]*")*$`, /exponentially/],
  [String.raw`(.|\s)*x`, /exponentially/],
  [String.raw`^(?:\p{L}|\w)+$`, /exponentially/],
  [String.raw`^([a-z]+\d*)+$`, /exponentially/],
  ["^(?:(?:a{1,20}){1,20}){1,20}$", /exponentially/],
  ["(?:[a-z]|[^0-9])*!", /exponentially/],
  ["^(?:a|[ab])*$", /exponentially/],
  ["^(?=(a+)+$)", /exponentially/],
  ["^(?:(?=(?:a|a)*b)a)*$", /exponentially/],
  ["(?<=(a+)+b)c", /exponentially/],
  ["(?!(a*)*b)c", /exponentially/],
  ["^(?:(?:b|a+)+,)*$", /exponentially/],
  ["(a?){30}a{30}", /may be empty/],
  ["(?:|){50}x", /may be empty/],
  [`^${"a?".repeat(30)}${"a".repeat(30)}$`, /too many of its parts/],
  [`${"(?:a?|b?)".repeat(12)}z`, /too many of its parts/],
  [String.raw`\d+\d+\d+\d+x`, /too many of its parts/],
  [String.raw`(a)\1`, /back reference/],
  [String.raw`(a*)\1+`, /back reference/],
  [String.raw`(?<q>["']).*\k<q>`, /back reference/],
  [`${"(".repeat(60)}a${")".repeat(60)}`, /nested deeper than 50/],
  [`${"(".repeat(10)}x${"{8})".repeat(10)}`, /too large/],
  [`(?:${"a|".repeat(900)}b)(?:${"a|".repeat(900)}b)`, /too large/],
  [`^${"a*b*".repeat(900)}$`, /too (?:complex|large)/],
];

describe("safePattern", () => {
  it.each(safe)("accepts %s", (source, ...pumps) => {
    const verdict = safePattern(source);
    expect(verdict).toMatchObject({ ok: true });
    if (!verdict.ok) return;
    const pattern = new RegExp(source, "u");
    const length = Math.min(
      200_000,
      Math.floor((maxSteps / 2 ** verdict.cost.bits) ** (1 / Math.max(1, verdict.cost.degree))),
    );
    for (const pump of pumps) {
      for (const end of ["", "!", "\n", "\0"]) {
        const spent = startCpuTime();
        pattern.test(pump.repeat(length / pump.length) + end);
        expect(spent()).toBeLessThan(1000);
      }
    }
  });

  it.each(unsafe)("refuses %s", (source, problem) => {
    expect(safePattern(source)).toEqual({ ok: false, problem: expect.stringMatching(problem) });
  });

  it("knows linear patterns from those that are not", () => {
    const degree = (source: string): number => {
      const verdict = safePattern(source);
      return verdict.ok ? verdict.cost.degree : Number.NaN;
    };
    expect(degree("^abc$")).toBe(0);
    expect(degree("^[a-z0-9]+(?:-[a-z0-9]+)*$")).toBe(1);
    expect(degree(String.raw`^\d+\d+$`)).toBe(2);
    expect(degree(String.raw`\d+\d+$`)).toBe(3);
    expect(degree("^.*foo.*$")).toBe(2);
    expect(degree("(?=.*a)b")).toBe(2);
    expect(degree("^(?=.*a)b")).toBe(1);
  });

  it("ends when the effort is used up", () => {
    const names = Array.from({ length: 300 }, (_, index) => `a${index}`).join("|");
    expect(safePattern(`^(?:${names})$`, { left: 1000 })).toMatchObject({ ok: false });
    expect(safePattern(`^(?:${names})$`)).toMatchObject({ ok: true });
  });

  it("never promises less than a backtracking matcher takes", () => {
    fc.assert(
      fc.property(anchoredOrNot, texts, (source, text) => {
        const verdict = safePattern(source);
        const parsed = parsePattern(source);
        if (!verdict.ok || !parsed.ok || patternSteps(verdict.cost, text.length) > 50_000) return;
        const { matched, steps } = backtrack(parsed.value, text);
        // V8 itself is wrong about some look-aheads in counted groups, such as /(?:b(?=a)a){9,}$/.
        if (!source.includes("(?=")) expect(matched).toBe(new RegExp(source, "u").test(text));
        expect(steps).toBeLessThanOrEqual(10 * source.length * (patternSteps(verdict.cost, text.length) + 1));
      }),
      { numRuns: 2000 },
    );
  });
});

const { pattern } = fc.letrec<{ pattern: string }>((tie) => ({
  pattern: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom("a", "b", "c", "[ab]", ".", "[^b]", String.raw`\w`),
    fc.array(tie("pattern"), { minLength: 1, maxLength: 4 }).map((parts) => parts.join("")),
    fc.array(tie("pattern"), { minLength: 1, maxLength: 3 }).map((parts) => `(?:${parts.join("|")})`),
    fc
      .tuple(tie("pattern"), fc.constantFrom("*", "+", "?", "{2}", "{0,2}", "{1,3}", "{2,}", "{9,12}", "*?"))
      .map(([body, quantifier]) => `(?:${body})${quantifier}`),
    tie("pattern").map((body) => `(?=${body})`),
  ),
}));

const anchoredOrNot = fc
  .tuple(fc.constantFrom("^", ""), pattern, fc.constantFrom("$", ""))
  .map((parts) => parts.join(""));

const texts = fc
  .tuple(
    fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 4 }),
    fc.string({ unit: fc.constantFrom("a", "b"), minLength: 1, maxLength: 3 }),
    fc.integer({ min: 1, max: 20 }),
    fc.constantFrom("", "c", "d", "\n"),
  )
  .map(([start, pump, times, end]) => start + pump.repeat(times) + end);

/** Matches as ECMAScript defines it, and counts. */
function backtrack(root: PatternNode, text: string): { matched: boolean; steps: number } {
  let steps = 0;
  const match = (node: PatternNode, at: number, next: (at: number) => boolean): boolean => {
    steps++;
    switch (node.kind) {
      case "chars":
        return node.set.some(([from, to]) => from <= text.charCodeAt(at) && text.charCodeAt(at) <= to) && next(at + 1);
      case "sequence": {
        const [first, ...rest] = node.items;
        if (first === undefined) return next(at);
        return match(first, at, (after) => match({ kind: "sequence", items: rest }, after, next));
      }
      case "choice":
        return node.options.some((option) => match(option, at, next));
      case "edge":
        return at === (node.start ? 0 : text.length) && next(at);
      case "look":
        return match(node.body, at, () => true) && next(at);
      case "repeat": {
        if (node.max === 0) return next(at);
        const rest: PatternNode = { ...node, min: Math.max(0, node.min - 1), max: node.max - 1 };
        const again = (): boolean =>
          match(node.body, at, (after) => !(node.min === 0 && after === at) && match(rest, after, next));
        return node.min > 0 ? again() : again() || next(at);
      }
    }
  };
  for (let start = 0; start <= text.length; start++) {
    if (match(root, start, () => true)) return { matched: true, steps };
  }
  return { matched: false, steps };
}

describe("provePatterns", () => {
  it("tells the worst case of each", () => {
    const patterns = new Map([
      ["^a$", "#/pattern"],
      [String.raw`^\d+\d+$`, "#/items/pattern"],
    ]);
    expect(provePatterns(patterns)).toEqual({
      ok: true,
      costs: new Map([
        ["^a$", expect.objectContaining({ degree: 0 })],
        [String.raw`^\d+\d+$`, expect.objectContaining({ degree: 2 })],
      ]),
    });
  });

  it("names the first that is not safe, and its place", () => {
    const patterns = new Map([
      ["^a$", "#/pattern"],
      ["(a|a)*", "#/patternProperties/(a|a)*"],
      ["(a+)+$", "#/items/pattern"],
    ]);
    expect(provePatterns(patterns)).toEqual({
      ok: false,
      problem: "#/patternProperties/(a|a)* cannot be used: (a|a)* can match the same text in exponentially many ways",
    });
  });

  it("proves the same patterns once", () => {
    const patterns = new Map([["^a$", "#/pattern"]]);
    expect(provePatterns(patterns)).toBe(provePatterns(patterns));
  });

  it("is quick with hostile patterns", () => {
    const hostile = Array.from({ length: 200 }, (_, index) => `${"(?:[ab]?[bc]?[cd]?)".repeat(40)}${index}`);
    const spent = startCpuTime();
    expect(provePatterns(new Map(hostile.map((source) => [source, "#"])))).toMatchObject({ ok: false });
    expect(spent()).toBeLessThan(10_000);
  });
});
