import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { startThreadTime } from "../../test/support/cpu-time.ts";
import type { AnySchema } from "./infer.ts";
import { type ToValidatorOptions, toProvedValidator, toValidator } from "./to-validator.ts";
import type { Checked, Validator } from "./validator.ts";

function read(schema: AnySchema, options?: ToValidatorOptions): Validator {
  const found = toValidator(schema, options);
  if (!found.ok) throw new Error(found.problem);
  return found.value;
}

const hostile = `${"a".repeat(40)}!`;

describe("patterns of Standard Schemas", () => {
  it.each<[string, AnySchema, string]>([
    ["zod", z.object({ name: z.string().regex(/^(a+)+$/) }), "#/properties/name/pattern"],
    [
      "zod, in a record",
      z.object({ by: z.record(z.string().regex(/^(a|a)*$/), z.number()) }),
      "#/properties/by/propertyNames/pattern",
    ],
    ["zod, without case", z.object({ name: z.string().regex(/^(?:a|A)+$/i) }), "#/properties/name/pattern"],
    [
      "zod, in $defs",
      z.object({
        get list() {
          return z.array(z.string().regex(/(x+x+)+y/)).meta({ id: "list" });
        },
      }),
      "pattern",
    ],
    [
      "valibot",
      toStandardJsonSchema(v.object({ name: v.pipe(v.string(), v.regex(/^(a+)+$/)) })),
      "#/properties/name/pattern",
    ],
    ["arktype", type({ name: /^(a+)+$/ }), "#/properties/name/pattern"],
  ])("of %s are proved, and never tried before (B13)", async (_, schema, place) => {
    const validator = read(schema);
    const worked = startThreadTime();
    const checked = await validator.check({ name: hostile, by: { [hostile]: 1 }, list: [hostile] });
    expect(checked).toMatchObject({ ok: false, issues: [{ message: expect.stringContaining("cannot be checked") }] });
    expect(worked()).toBeLessThan(2_000);
    expect(await validator.prove?.()).toContain(place);
    expect(await validator.prove?.()).toMatch(/exponentially many ways/);
    expect(await toProvedValidator(schema)).toMatchObject({ ok: false });
  });

  it("may be left unproved (B13)", async () => {
    const schema = z.object({ name: z.string().regex(/^(a+)+$/) });
    const trusted = read(schema, { trustPatterns: true });
    expect(trusted).not.toHaveProperty("prove");
    expect(await trusted.check({ name: "aaa" })).toMatchObject({ ok: true });
    expect(await read(schema).check({ name: "aaa" })).toMatchObject({ ok: false });
  });

  it("are fine as libraries have them for their formats (B13)", async () => {
    const schema = z.object({
      email: z.email(),
      uuid: z.uuid(),
      emoji: z.emoji(),
      ipv4: z.ipv4(),
      ipv6: z.ipv6(),
      cidr: z.cidrv6(),
      base64: z.base64(),
      date: z.iso.datetime({ offset: true }),
      time: z.iso.time(),
      duration: z.iso.duration(),
      hostname: z.hostname(),
      template: z.templateLiteral(["a-", z.number()]),
      rfc: z.email({ pattern: z.regexes.rfc5322Email }),
      escaped: z.string().regex(/^\d{3}-\d{4}$/),
      slug: z.string().regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/),
      ends: z.string().endsWith("x"),
    });
    expect(await read(schema).prove?.()).toBeUndefined();
    expect(read(z.object({ name: z.string().min(1) }))).not.toHaveProperty("prove");
    const named = read(z.object({ pattern: z.string(), patternProperties: z.literal("(a+)+") }));
    expect(await named.prove?.()).toBeUndefined();
    expect(named.check({ pattern: "(a+)+", patternProperties: "(a+)+" })).toMatchObject({ ok: true });
  });

  it("are not tried on texts that are too long for them, wherever those are (B13)", async () => {
    const slow = z.string().regex(/\s+$/);
    type Tree = { readonly name?: string | undefined; readonly children?: readonly Tree[] | undefined };
    const tree: z.ZodType<Tree> = z.object({
      name: slow.optional(),
      get children() {
        return z.array(tree).optional();
      },
    });
    const schema = z.object({
      name: slow.optional(),
      body: z.string().optional(),
      list: z.array(z.union([slow, z.number()])).optional(),
      by: z.record(z.string(), slow).optional(),
      tree: tree.optional(),
    });
    const validator = read(schema);
    expect(await validator.prove?.()).toBeUndefined();
    const long = " ".repeat(300_000);
    const refused = (value: object): Checked | Promise<Checked> => {
      const worked = startThreadTime();
      const checked = validator.check(value);
      expect(worked()).toBeLessThan(1_000);
      return checked;
    };
    for (const value of [
      { name: `${long}x` },
      { list: [1, `${long}x`] },
      { by: { a: `${long}x` } },
      { tree: { children: [{ children: [{ name: `${long}x` }] }] } },
    ]) {
      expect(await refused(value)).toMatchObject({
        ok: false,
        issues: [{ keyword: "limit", message: expect.stringContaining("too long for the pattern") }],
      });
    }
    expect(await validator.check({ body: `${long}x`, name: "a " })).toMatchObject({ ok: true });
    expect(await validator.check({ body: `${long}x`, name: "a" })).toMatchObject({ ok: false });
  });
});
