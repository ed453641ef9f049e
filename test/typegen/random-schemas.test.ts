import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "../../src/json/json.ts";
import { generateTypes } from "../../src/typegen/generate-types.ts";
import { compile } from "./compile.ts";
import { basic, full, type Model, wild } from "./random-schemas.ts";

// Hundreds of random schemas in one module, which the compiler checks at once.

const RUNS = 250;

interface Sample {
  readonly schema: Json;
  readonly value: Json;
}

function samples(model: fc.Arbitrary<Model>, seed: number): readonly Sample[] {
  const pair = model.chain(({ schema, value }) => value.map((made) => ({ schema, value: made })));
  // As JSON: dictionaries are made without a prototype, which not everybody can handle.
  return JSON.parse(JSON.stringify(fc.sample(pair, { numRuns: RUNS, seed })));
}

/** The types of all schemas, as those of the outputs of tools. */
function typesOf(all: readonly Sample[]): string {
  const tools = all.map(({ schema }, n) => ({ name: `t${n}`, inputSchema: {}, outputSchema: schema as never }));
  return generateTypes([{ name: "random", tools }]);
}

const head = `
import type { InferIn } from "../../../src/schema/infer.ts";
import type { RandomTools } from "./types.ts";
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type Fits<A, B> = [A] extends [B] ? true : false;
`;

/** One line for each schema. */
async function findings(project: string, all: readonly Sample[], line: (sample: Sample, n: number) => string) {
  const uses = head + all.map(line).join("\n");
  const lines = uses.split("\n");
  const diagnostics = await compile(project, { "types.ts": typesOf(all), "uses.ts": uses }, { noUnusedLocals: false });
  return diagnostics.map(({ file, line: at, message }) => `${file} ${message}\n${lines[at - 1]}`);
}

describe("types of random schemas", () => {
  const seed = Date.now() % 2 ** 31;

  it("take every value that the schema allows, and are at least as exact as what is inferred", async () => {
    const ajv = new Ajv2020({ strict: false });
    // Branches of `oneOf` may both hold, which makes a value wrong.
    const all = samples(full, seed).filter(({ schema, value }) => ajv.validate(schema as object, value));
    expect(all.length).toBeGreaterThan(RUNS / 2);
    const found = await findings("random-full", all, ({ schema, value }, n) => {
      const text = JSON.stringify(schema);
      return [
        `const s${n} = ${text} as const;`,
        `export const v${n}: RandomTools["t${n}"]["output"] = ${JSON.stringify(value)};`,
        `export const f${n}: Fits<RandomTools["t${n}"]["output"], InferIn<typeof s${n}>> = true;`,
      ].join(" ");
    });
    expect(found.slice(0, 3), `seed ${seed}`).toEqual([]);
  });

  it.each([true, false])("compile, whatever the schema (exactOptionalPropertyTypes %s)", async (exact) => {
    const all = fc.sample(wild, { numRuns: 2 * RUNS, seed });
    const tools = all.map((schema, n) => ({ name: `t${n}`, inputSchema: schema, outputSchema: schema }));
    const types = generateTypes([{ name: "random", tools }]);
    const lines = types.split("\n");
    const options = { exactOptionalPropertyTypes: exact, noUnusedLocals: false };
    const diagnostics = await compile(`random-wild-${exact}`, { "types.ts": types }, options);
    const found = diagnostics.map(({ line, code, message }) => `${code} ${message}\n${lines[line - 1]}`);
    expect(found.slice(0, 3), `seed ${seed}`).toEqual([]);
  });

  it("are what is inferred, where that is exact", async () => {
    const found = await findings("random-basic", samples(basic, seed), ({ schema, value }, n) =>
      [
        `const s${n} = ${JSON.stringify(schema)} as const;`,
        `export const v${n}: RandomTools["t${n}"]["output"] = ${JSON.stringify(value)};`,
        `export const e${n}: Equal<RandomTools["t${n}"]["output"], InferIn<typeof s${n}>> = true;`,
      ].join(" "),
    );
    expect(found.slice(0, 3), `seed ${seed}`).toEqual([]);
  });
});
