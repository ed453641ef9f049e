import { afterEach, describe, expect, it, vi } from "vitest";
import { compile } from "./compile.ts";
import { type Inspected, inspectSchema } from "./inspect.ts";

function inspected(schema: Parameters<typeof inspectSchema>[0]): Inspected {
  const inspection = inspectSchema(schema);
  if (!inspection.ok) throw new Error(inspection.problem);
  return inspection.value;
}

afterEach(() => {
  vi.doUnmock("typebox/format");
  vi.resetModules();
});

describe("a schema with a format", () => {
  it("is checked as soon as the formats are loaded", async () => {
    vi.resetModules();
    const { toValidator } = await import("./to-validator.ts");
    const { lazyFormats } = await import("./formats.ts");
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

it("refuses every value by a schema with an unsafe pattern", () => {
  const check = compile(inspected({ pattern: "^(a+)+$" }));
  expect(check("a")).toMatchObject({ ok: false, issues: [{ keyword: "schema" }] });
});
