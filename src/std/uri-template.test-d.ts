import { expectTypeOf, it } from "vitest";
import { type MatchedVariables, parseUriTemplate, type TemplateVariables, type UriTemplate } from "./uri-template.ts";

it("names the variables of a literal template", () => {
  expectTypeOf<TemplateVariables<"stock://{sku}">>().toEqualTypeOf<{ readonly sku: string }>();
  expectTypeOf<TemplateVariables<"x://{a,b}/{+c}{#d}{.e}{/f}{;g}">>().toEqualTypeOf<{
    readonly a: string;
    readonly b: string;
    readonly c: string;
    readonly d: string;
    readonly e: string;
    readonly f: string;
    readonly g: string;
  }>();
  // biome-ignore lint/complexity/noBannedTypes: the type of an object without members
  expectTypeOf<TemplateVariables<"x://fixed">>().toEqualTypeOf<{}>();
});

it("lets the parameters of a query be missing", () => {
  expectTypeOf<TemplateVariables<"x://{id}{?q,page}{&lang}">>().toEqualTypeOf<{
    readonly id: string;
    readonly q?: string;
    readonly page?: string;
    readonly lang?: string;
  }>();
});

it("makes lists of exploded variables and strings of prefixes", () => {
  expectTypeOf<TemplateVariables<"x:/{/path*}{?tag*,q:30}{id:3}">>().toEqualTypeOf<{
    readonly path: readonly string[];
    readonly tag?: readonly string[];
    readonly q?: string;
    readonly id: string;
  }>();
});

it("requires a variable that is required once", () => {
  expectTypeOf<TemplateVariables<"x://{id:1}/{id}{?id}">>().toEqualTypeOf<{ readonly id: string }>();
});

it("keeps alternatives apart", () => {
  expectTypeOf<TemplateVariables<"x://{a}" | "y://{b}">>().toEqualTypeOf<
    { readonly a: string } | { readonly b: string }
  >();
});

it("knows nothing about a template that is read at run time", () => {
  expectTypeOf<TemplateVariables<string>>().toEqualTypeOf<MatchedVariables>();
});

it("copes with many variables", () => {
  type Ten = "{a}{b}{c}{d}{e}{f}{g}{h}{i}{j}";
  type Hundred = `${Ten}${Ten}${Ten}${Ten}${Ten}${Ten}${Ten}${Ten}${Ten}${Ten}{last}`;
  expectTypeOf<TemplateVariables<Hundred>["last"]>().toEqualTypeOf<string>();
});

it("makes the caller look before use", () => {
  const parsed = parseUriTemplate("x://{a}");
  expectTypeOf(parsed).not.toHaveProperty("value");
  if (parsed.ok) expectTypeOf(parsed.value).toEqualTypeOf<UriTemplate>();
  else expectTypeOf(parsed.problem).toEqualTypeOf<string>();
});
