import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRuleGlobs } from "./rule-globs.ts";

describe("globs on URI templates", () => {
  it.each([
    ["db://*", "db://{table}/{id}", "yes"],
    ["db://users/*", "db://{table}/{id}", "maybe"],
    ["db://users/*", "file:///{path}", "no"],
    ["db://users/1", "db://users/{id}", "maybe"],
    ["db://users/?", "db://users/{id}", "maybe"],
    ["*", "{+path}", "yes"],
    ["*/secret", "db://{table}/secret", "yes"],
    ["db://orders", "db://{table}", "maybe"],
  ] as const)("%s fits what %s stands for: %s", (glob, template, fit) => {
    expect(createRuleGlobs([glob]).fitTemplate(template)).toBe(fit);
  });

  it("never says that all or none fit where one does and another does not", () => {
    const part = fc.constantFrom("a", "b", "*", "?", "ab");
    const globs = fc.array(part, { maxLength: 6 }).map((parts) => parts.join(""));
    const templates = fc.array(fc.constantFrom("a", "b", "{x}", "ab"), { minLength: 1, maxLength: 5 });
    const values = fc.array(fc.constantFrom("", "a", "b", "ba", "abab"), { minLength: 5, maxLength: 5 });
    fc.assert(
      fc.property(globs, templates, values, (glob, parts, texts) => {
        const rules = createRuleGlobs([glob]);
        const uri = parts.map((each, index) => (each === "{x}" ? texts[index] : each)).join("");
        const fit = rules.fitTemplate(parts.join(""));
        if (rules.fits(uri)) expect(fit).not.toBe("no");
        else expect(fit).not.toBe("yes");
      }),
      { numRuns: 3_000 },
    );
  });

  it("knows which servers a glob on server:tool may be about", () => {
    const globs = createRuleGlobs(["crm:*", "*:read_?"]);
    expect(globs.mayBegin("crm:")).toBe(true);
    expect(globs.mayBegin("shop:")).toBe(true);
    expect(createRuleGlobs(["crm:*"]).mayBegin("shop:")).toBe(false);
  });
});
