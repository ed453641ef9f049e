// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables in configuration files look like that
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { startCpuTime } from "../../test/support/cpu-time.ts";
import type { VariableSyntax } from "./dialects.ts";
import { type Part, parseTemplate } from "./server-draft.ts";

const all: readonly VariableSyntax[] = ["braces", "editor", "file", "dollar", "curly", "mustache"];

/** A part in short: where its value comes from, or how it stays. */
function short(part: Part): string {
  if (part.kind === "text") return part.text;
  if (part.kind !== "reference") return `${part.kind}(${part.written})`;
  return `<${part.source} ${part.name}${part.fallback === undefined ? "" : ` or ${part.fallback}`}>`;
}

describe("parseTemplate", () => {
  it.each<[VariableSyntax, string, string]>([
    ["braces", "a${B}c", "a|<env B>|c"],
    ["braces", "${B:-x y}", "<env B or x y>"],
    ["braces", "${B:-}", "<env B or >"],
    ["braces", "${env:B}", "${env:B}"],
    ["braces", "$B {env:B} {{B}} ${B-x} ${1}", "$B {env:B} {{B}} ${B-x} ${1}"],
    ["braces", "${A:-${B}}", "nested(${A:-${B})|}"],
    ["editor", "${env:B}${input:my-id}", "<env B>|<input my-id>"],
    ["editor", "${env:B:-x}", "<env B or x>"],
    [
      "editor",
      "${workspaceFolder}${/}x${pathSeparator}${userHome}",
      "<place workspaceFolder>|<place />|x|<place pathSeparator>|<place userHome>",
    ],
    ["editor", "${B}", "foreign(${B})"],
    ["editor", "${command:x} ${file:y}", "foreign(${command:x})| |foreign(${file:y})"],
    ["file", "${file:/run/secrets/a b}", "<file /run/secrets/a b>"],
    ["dollar", "$A/$B_2.x$", "<env A>|/|<env B_2>|.x$"],
    ["curly", "Bearer {env:A} {file: ~/x }", "Bearer |<env A>| |<file ~/x>"],
    ["curly", "{env:} {envA}", "{env:} {envA}"],
    ["mustache", "{{ A }}{{B}}", "<input A>|<input B>"],
  ])("with %s takes %s apart", (syntax, text, parts) => {
    expect(parseTemplate(text, [syntax]).map(short).join("|")).toBe(parts);
  });

  it("leaves everything where a dialect expands nothing", () => {
    expect(parseTemplate("$A ${A} {env:A} {{A}}", []).map(short)).toEqual(["$A ", "foreign(${A})", " {env:A} {{A}}"]);
    expect(parseTemplate("${A:-${B}}", [])).toEqual([{ kind: "text", text: "${A:-${B}}" }]);
  });

  it("loses nothing of any text", () => {
    const pieces = fc.array(fc.constantFrom("${", "}", "{{", "}}", "$A", "{env:", "A", ":-", "${A}", " ", "é"));
    fc.assert(
      fc.property(pieces, fc.subarray([...all]), (words, syntaxes) => {
        const text = words.join("");
        const parts = parseTemplate(text, syntaxes);
        expect(parts.map((part) => (part.kind === "text" ? part.text : part.written)).join("")).toBe(text);
      }),
    );
  });

  it("takes time in proportion to the text", () => {
    for (const text of ["${", "{{", "{env:", "${A:-", "{{ "].map((word) => word.repeat(40_000))) {
      const spent = startCpuTime();
      parseTemplate(text, all);
      expect(spent()).toBeLessThan(2_000);
    }
  });
});
