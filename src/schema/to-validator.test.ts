import { readFileSync } from "node:fs";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import fc from "fast-check";
import * as v from "valibot";
import { afterEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { startCpuTime } from "../../test/support/cpu-time.ts";
import type { AnySchema } from "./infer.ts";
import { type ToValidatorOptions, toProvedValidator, toValidator } from "./to-validator.ts";
import type { Validator } from "./validator.ts";
import { vocabulary } from "./vocabulary.ts";

function read(schema: AnySchema, options?: ToValidatorOptions): Validator {
  const result = toValidator(schema, options);
  if (!result.ok) throw new Error(result.problem);
  return result.value;
}

function problemOf(schema: AnySchema, options?: ToValidatorOptions): string | undefined {
  const result = toValidator(schema, options);
  return result.ok ? undefined : result.problem;
}

const person = { type: "object", properties: { name: { type: "string" } }, required: ["name"] } as const;

describe("a plain JSON Schema", () => {
  it("is published as it is, with unknown keywords", () => {
    const schema = { ...person, "x-widget": { a: [1] }, title: "Person", $comment: "all kept" };
    expect(read(schema).json).toEqual(schema);
    expect(Object.keys(read(schema).json)).toEqual(Object.keys(schema));
  });

  it("is checked", async () => {
    const { check } = read(person);
    expect(await check({ name: "Ada" })).toEqual({ ok: true, value: { name: "Ada" } });
    expect(check({})).toEqual({
      ok: false,
      issues: [{ path: "", keyword: "required", message: 'must have a property "name"' }],
    });
  });

  it("is read once", async () => {
    const schema: { type: string } = { type: "string" };
    const first = read(schema);
    schema.type = "number";
    expect(read(schema)).toBe(first);
    expect(read(schema, { direction: "output" })).toBe(first);
    expect(first.json).toEqual({ type: "string" });
    expect(await first.check("text")).toMatchObject({ ok: true });
    expect(read({ type: "string" })).not.toBe(first);
  });

  it("keeps to the limits it is given", () => {
    const limits = { maxDepth: 0, maxSubschemas: 10 };
    expect(problemOf(person, { limits })).toContain("#/properties/name is nested deeper than 0 levels");
    expect(problemOf(person)).toBeUndefined();
  });

  it("may have members that are undefined", () => {
    expect(read({ type: "string", minLength: undefined }).json).toEqual({ type: "string" });
  });

  it("may use __proto__ as a name", async () => {
    const { json, check } = read(JSON.parse('{"properties":{"__proto__":{"type":"number"}}}'));
    expect(JSON.stringify(json)).toBe('{"properties":{"__proto__":{"type":"number"}}}');
    expect(await check(JSON.parse('{"__proto__":"a"}'))).toMatchObject({ issues: [{ path: "/__proto__" }] });
    expect(check(JSON.parse('{"__proto__":1}'))).toMatchObject({ ok: true });
    expect(check({})).toMatchObject({ ok: true });
  });

  it.each<[string, unknown, string]>([
    ["text", "string", "# must be a Standard Schema or a JSON Schema object"],
    ["a boolean", true, "# must be a Standard Schema or a JSON Schema object"],
    ["nothing", null, "# must be a Standard Schema"],
    ["an array", [], "# must be a Standard Schema"],
    ["a function", () => true, "# is not JSON"],
    ["something inside that is not JSON", { properties: { a: { default: 1n } } }, "#/properties/a/default is not JSON"],
    ["a number that JSON does not have", { const: Number.NaN }, "#/const is not JSON"],
  ])("cannot be %s", (_, schema, problem) => {
    expect(problemOf(schema as AnySchema)).toContain(problem);
  });

  it("never throws, whatever it is", () => {
    const keyword = fc.constantFrom(...vocabulary.keys());
    const { schema } = fc.letrec((tie) => ({
      schema: fc.oneof(
        { depthSize: "medium" },
        fc.anything(),
        fc.constantFrom("#", "#/", "#/$defs/a", "string", "(a+)+", "^a$", 1, true),
        fc.array(tie("schema"), { maxLength: 3 }),
        fc.dictionary(fc.oneof(keyword, fc.string()), tie("schema"), { maxKeys: 4 }),
      ),
    }));
    fc.assert(
      fc.property(fc.dictionary(keyword, schema), (candidate) => {
        expect(toValidator(candidate)).toHaveProperty("ok");
      }),
      { numRuns: 1000 },
    );
  });

  it("cannot be cyclic", () => {
    const schema: { properties?: unknown } = {};
    schema.properties = { self: schema };
    expect(problemOf(schema)).toContain("nested too deeply");
  });
});

describe("a pattern that could take for ever", () => {
  const schema = { type: "object", properties: { a: { type: "string", pattern: "(a+)+$" } } };
  const problem = expect.stringMatching(/^#\/properties\/a\/pattern cannot be used: \(a\+\)\+ can match the same/);

  it("is found by reading on", async () => {
    const { prove } = read({ ...schema });
    expect(await prove?.()).toEqual(problem);
    expect(await toProvedValidator({ ...schema })).toEqual({ ok: false, problem });
  });

  it("is never tried: every value is refused, proved or not, compiler or not", async () => {
    vi.resetModules();
    const fresh = await import("./to-validator.ts");
    const spent = startCpuTime();
    for (const value of [{ a: `${"a".repeat(50)}!` }, { a: "a" }, {}]) {
      const validator = fresh.toValidator(schema);
      expect(validator.ok && (await validator.value.check(value))).toEqual({
        ok: false,
        issues: [{ path: "", keyword: "schema", message: expect.stringMatching(/^cannot be checked: #\/properties/) }],
      });
    }
    expect(spent()).toBeLessThan(2000);
  });

  it("is looked for only where there are patterns", async () => {
    expect(read(person)).not.toHaveProperty("prove");
    expect(read(z.object({ a: z.string() }))).not.toHaveProperty("prove");
    expect(await read({ pattern: "^a+$" }).prove?.()).toBeUndefined();
    expect(await toProvedValidator(person)).toEqual({ ok: true, value: read(person) });
    expect(await toProvedValidator({ type: 7 })).toMatchObject({ ok: false });
  });
});

describe("loading the compiler", () => {
  it("is not done by importing, nor is loading the analysis of patterns", () => {
    const seen = new Set<string>();
    const open = ["to-validator.ts", "form.ts", "validator.ts"];
    for (let file = open.pop(); file !== undefined; file = open.pop()) {
      if (seen.has(file)) continue;
      seen.add(file);
      const source = readFileSync(new URL(file, import.meta.url), "utf8");
      for (const [, module = ""] of source.matchAll(/^(?:import|export|\}) (?!type ).*?from "([^"]+)";$/gm)) {
        expect(module).not.toContain("typebox");
        if (module.startsWith("./")) open.push(module.slice(2));
      }
    }
    expect(seen).toContain("inspect.ts");
    expect([...seen].filter((file) => file.includes("pattern"))).toEqual([]);
  });

  it("happens at the first check, once for all, and then checks are synchronous", async () => {
    vi.resetModules();
    const fresh = await import("./to-validator.ts");
    const validators = [person, { type: "number" }].map((schema) => fresh.toValidator(schema));
    expect(fresh.loadedCompiler()).toBeUndefined();
    const first = validators.map((read) => read.ok && read.value.check(1));
    expect(first.every((checked) => checked instanceof Promise)).toBe(true);
    expect(await Promise.all(first)).toMatchObject([{ ok: false }, { ok: true }]);
    expect(fresh.loadedCompiler()).toBeDefined();
    expect(validators.map((read) => read.ok && read.value.check(1))).toMatchObject([{ ok: false }, { ok: true }]);
  });
});

describe("a Standard Schema", () => {
  const zod = z.object({ name: z.string().min(2), age: z.coerce.number().default(3) });
  const valibot = toStandardJsonSchema(
    v.object({ name: v.pipe(v.string(), v.minLength(2)), tags: v.array(v.string()) }),
  );
  const arktype = type({ name: "string >= 2", "age?": "number" });

  it("validates by itself and publishes its input", () => {
    const { json, check } = read(zod);
    expect(json).toMatchObject({ type: "object", required: ["name"] });
    expect(check({ name: "Ada", age: "7" })).toEqual({ ok: true, value: { name: "Ada", age: 7 } });
    expect(check({ name: "A" })).toEqual({
      ok: false,
      issues: [{ path: "/name", keyword: "too_small", message: expect.stringContaining("2") }],
    });
  });

  it("publishes its output on request", () => {
    expect(read(zod, { direction: "output" }).json).toMatchObject({ required: ["name", "age"] });
    expect(read(zod, { direction: "output" })).toBe(read(zod, { direction: "output" }));
  });

  it("may come from valibot, with its converter", () => {
    const { json, check } = read(valibot);
    expect(json).toMatchObject({ type: "object", properties: { name: { type: "string", minLength: 2 } } });
    expect(check({ name: "Ada", tags: [] })).toEqual({ ok: true, value: { name: "Ada", tags: [] } });
    expect(check({ name: "Ada", tags: ["a", 1] })).toMatchObject({
      ok: false,
      issues: [{ path: "/tags/1", keyword: "string" }],
    });
  });

  it("may be a function, as those of arktype are", () => {
    const { json, check } = read(arktype);
    expect(json).toMatchObject({ type: "object", properties: { name: { type: "string", minLength: 2 } } });
    expect(check({ name: "Ada" })).toEqual({ ok: true, value: { name: "Ada" } });
    expect(check({ name: "A", age: "x" })).toMatchObject({
      issues: [{ path: "/name", keyword: "minLength" }, { path: "/age" }],
    });
  });

  it("may be asynchronous", async () => {
    const taken = z.string().refine(async (name) => name !== "Ada", "is taken");
    const { check } = read(taken);
    expect(check("Bob")).toBeInstanceOf(Promise);
    expect(await check("Bob")).toEqual({ ok: true, value: "Bob" });
    expect(await check("Ada")).toEqual({ ok: false, issues: [{ path: "", keyword: "custom", message: "is taken" }] });
  });

  it("needs a converter, and the problem says which", () => {
    expect(problemOf(v.string())).toContain("toStandardJsonSchema from @valibot/to-json-schema");
    const unknown = { "~standard": { version: 1, vendor: "homemade", validate: () => ({ value: 1 }) } } as const;
    expect(problemOf(unknown)).toContain("the homemade schema cannot convert itself");
  });

  it("may be impossible to convert", () => {
    expect(problemOf(z.date())).toMatch(/the input of the zod schema .*Date/);
    expect(problemOf(z.string().transform(Number), { direction: "output" })).toContain("the output of the zod schema");
    expect(problemOf(standard({ json: () => 3 }))).toContain("did not convert itself");
  });

  it("never makes a check throw or reject", async () => {
    const crash = (): never => {
      throw new Error("secret");
    };
    const sync = read(standard({ validate: crash })).check(1);
    const async = await read(standard({ validate: async () => crash() })).check(1);
    expect(sync).toEqual({ ok: false, issues: [{ path: "", keyword: "schema", message: expect.any(String) }] });
    expect(async).toEqual(sync);
    expect(JSON.stringify([sync, async])).not.toContain("secret");
  });

  it("gives at least one issue and at most ten", () => {
    const issues = Array.from({ length: 20 }, () => ({ message: "wrong", path: ["a/b", { key: "~" }, 0] }));
    expect(read(standard({ validate: () => ({ issues: [] }) })).check(1)).toMatchObject({ issues: [{ path: "" }] });
    const checked = read(standard({ validate: () => ({ issues }) })).check(1);
    expect(checked).toMatchObject({ ok: false, issues: expect.objectContaining({ length: 10 }) });
    expect(checked).toMatchObject({
      issues: expect.arrayContaining([{ path: "/a~1b/~0/0", keyword: "schema", message: "wrong" }]),
    });
  });

  /** A schema of no library in particular. */
  function standard(options: { json?: () => unknown; validate?: () => unknown }): AnySchema {
    const { json = () => ({}), validate = () => ({ value: 1 }) } = options;
    const jsonSchema = { input: json, output: json };
    return { "~standard": { version: 1, vendor: "test", validate, jsonSchema } } as AnySchema;
  }
});

describe("a schema with a format", () => {
  afterEach(() => {
    vi.doUnmock("typebox/format");
    vi.resetModules();
  });

  it("is checked as soon as the formats are loaded", async () => {
    vi.resetModules();
    const { toValidator } = await import("./to-validator.ts");
    const { lazyFormats } = await import("./value-rules.ts");
    const [plain, dated] = [{ type: "string" }, { format: "date" }].map((schema) => toValidator(schema));
    expect(await (plain?.ok && plain.value.check("x"))).toMatchObject({ ok: true });
    expect(lazyFormats.loaded).toBeUndefined();
    expect(await (dated?.ok && dated.value.check("2024-02-30"))).toMatchObject({ ok: false });
    expect(dated?.ok && dated.value.check("2024-02-29")).toMatchObject({ ok: true });
  });

  it("refuses every value where formats cannot be had", async () => {
    vi.resetModules();
    vi.doMock("typebox/format", () => {
      throw new Error("not installed");
    });
    const { toValidator } = await import("./to-validator.ts");
    const read = toValidator({ format: "date" });
    expect(await (read.ok && read.value.check("2024-02-29"))).toMatchObject({
      ok: false,
      issues: [{ keyword: "schema" }],
    });
  });
});
