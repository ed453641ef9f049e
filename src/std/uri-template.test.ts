import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseUriTemplate } from "./uri-template.ts";

describe("parseUriTemplate", () => {
  it.each([
    ["", []],
    ["stock://fixed", []],
    ["stock://{sku}", ["sku"]],
    ["{a,b}{+c:3}{/d*}{?e,a}", ["a", "b", "c", "d", "e"]],
    ["{last.name}{Stra%C3%9Fe}{_1}{__proto__}", ["last.name", "Stra%C3%9Fe", "_1", "__proto__"]],
    ["x://é/'%20'/[::1]/{a:9999}", ["a"]],
  ])("reads %s", (source, variables) => {
    expect(parseUriTemplate(source)).toMatchObject({ ok: true, value: { source, variables } });
  });

  it.each<readonly [string, string]>([
    ["stock://{sku", "unclosed { at position 8"],
    ["stock://sku}", "unexpected } at position 11"],
    ["x://{}", "empty expression at position 5"],
    ["x://{?}", "missing variable name at position 6"],
    ["x://{a,}", "missing variable name at position 7"],
    ["{=a}", "operator = is reserved at position 1"],
    ["{,a}", "operator , is reserved at position 1"],
    ["{!a}", "operator ! is reserved at position 1"],
    ["{@a}", "operator @ is reserved at position 1"],
    ["{|a}", "operator | is reserved at position 1"],
    ["x{a}{b, c}", 'invalid variable name " c" at position 7'],
    ["{a{b}", 'invalid variable name "a{b" at position 1'],
    ["{a..b}", 'invalid variable name "a..b" at position 1'],
    ["{.a.}", 'invalid variable name "a." at position 2'],
    ["{%4}", 'invalid variable name "%4" at position 1'],
    ["{é}", 'invalid variable name "é" at position 1'],
    ["{*}", 'invalid variable name "" at position 1'],
    ["{a:0}", 'invalid modifier ":0" at position 2, expected * or :1 to :9999'],
    ["{a:}", 'invalid modifier ":" at position 2, expected * or :1 to :9999'],
    ["{a,bc:10000}", 'invalid modifier ":10000" at position 5, expected * or :1 to :9999'],
    ["{a**}", 'invalid modifier "**" at position 2, expected * or :1 to :9999'],
    ["{a:3*}", 'prefix and explode together in "a:3*" at position 2'],
    ["{a*:3}", 'prefix and explode together in "a*:3" at position 2'],
    ["a b", "character U+0020 is not allowed at position 1"],
    ["é\u0007", "character U+0007 is not allowed at position 1"],
    ["😀\u0085", "character U+0085 is not allowed at position 2"],
    ["x\ud800", "character U+D800 is not allowed at position 1"],
    ...Array.from('"<>\\^`|', (char) => [`x${char}`, `character ${char} is not allowed at position 1`] as const),
    ["100%", "incomplete %-sequence at position 3"],
    ["a%2x", "incomplete %-sequence at position 1"],
    ["a".repeat(4097), "template longer than 4096 characters"],
  ])("refuses %j", (source, problem) => {
    expect(parseUriTemplate(source)).toEqual({ ok: false, problem });
  });

  it("never throws, whatever it is given", () => {
    const fragment = fc.constantFrom(..."{}?&+#/.;,:*%=ab1 é\ud800", "{a}", "{?b*}", "%41");
    const anyText = fc.array(fc.nat(0xffff)).map((codes) => String.fromCharCode(...codes));
    fc.assert(
      fc.property(fc.array(fragment), anyText, (fragments, uri) => {
        const parsed = parseUriTemplate(fragments.join(""));
        if (parsed.ok) parsed.value.match(parsed.value.expand({ a: uri, b: uri }) + uri);
        else expect(parsed.problem).toMatch(/^[a-z].* at position \d+/s);
      }),
    );
  });
});
