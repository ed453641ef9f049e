import { beforeAll, describe, expect, it } from "vitest";
import { leastHeldUp } from "../../test/support/cpu-time.ts";
import { hostile } from "../../test/support/hostile-schemas.ts";
import type { JsonObject } from "../json/json.ts";
import { compile } from "./compile.ts";
import { type Inspected, inspectSchema } from "./inspect.ts";
import { lazyFormats } from "./value-rules.ts";

beforeAll(async () => {
  await lazyFormats.load();
});

function inspected(schema: JsonObject): Inspected {
  const inspection = inspectSchema(schema);
  if (!inspection.ok) throw new Error(inspection.problem);
  return inspection.value;
}

/** What nobody may take away from others in one piece. */
const maxMs = 100;

describe("a hostile schema", () => {
  it.each(hostile)("is read and checked within bounds: $name (S4, V27)", async ({ schema, value }) => {
    const first = () => {
      compile(inspected(schema))(value);
    };
    expect(await leastHeldUp(first, maxMs)).toBeLessThan(maxMs);
  });

  it.each(hostile)("is checked again within bounds: $name (S4)", async ({ schema, value }) => {
    const check = compile(inspected(schema));
    check(value);
    expect(await leastHeldUp(() => check(value), maxMs)).toBeLessThan(maxMs);
  });
});
