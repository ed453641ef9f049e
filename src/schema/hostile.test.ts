import { beforeAll, describe, expect, it } from "vitest";
import { leastHeldUp } from "../../test/support/cpu-time.ts";
import { hostile } from "../../test/support/hostile-schemas.ts";
import type { JsonObject } from "../json/json.ts";
import { compile } from "./compile.ts";
import { lazyFormats } from "./formats.ts";
import { lazyGenerator } from "./generate.ts";
import { type Inspected, inspectSchema } from "./inspect.ts";

beforeAll(async () => {
  await Promise.all([lazyGenerator.load(), lazyFormats.load()]);
});

function inspected(schema: JsonObject): Inspected {
  const inspection = inspectSchema(schema);
  if (!inspection.ok) throw new Error(inspection.problem);
  return inspection.value;
}

/** What nobody may take away from others in one piece. */
const maxMs = 100;

describe("a hostile schema", () => {
  it.each(hostile)(
    "is read and checked within bounds without generated code: $name (S4)",
    async ({ schema, value }) => {
      const first = () => {
        compile(inspected(schema), Number.POSITIVE_INFINITY)(value);
      };
      expect(await leastHeldUp(first, maxMs)).toBeLessThan(maxMs);
    },
  );

  it.each(hostile)("is checked within bounds by generated code: $name (S4)", async ({ schema, value }) => {
    const check = compile(inspected(schema), 0);
    expect(await leastHeldUp(() => check(value), maxMs)).toBeLessThan(maxMs);
  });
});
