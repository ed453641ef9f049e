import { isObject } from "../json/json.ts";
import { copyJson } from "./copy-json.ts";
import { type Compile, loadCompiler, loadedCompiler } from "./engine.ts";
import { type Inspected, inspectSchema, type SchemaLimits } from "./inspect.ts";
import { type Checked, type ReadSchema, refused } from "./validator.ts";

/** Reads a plain JSON Schema. It is inspected now and made ready at the first check, which its patterns must be safe for. */
export function readJsonSchema(schema: unknown, limits?: SchemaLimits): ReadSchema {
  const copied = copyJson(schema);
  if (!copied.ok) return copied;
  const json = copied.value;
  if (!isObject(json)) return { ok: false, problem: "# must be a Standard Schema or a JSON Schema object" };
  const inspection = inspectSchema(json, limits);
  if (!inspection.ok) return inspection;

  const { patterns, formats } = inspection.value;
  let run: ((value: unknown) => Checked) | undefined;
  const compileOnce = (compile: Compile): ((value: unknown) => Checked) => {
    run ??= compile(inspection.value);
    return run;
  };

  return {
    ok: true,
    value: {
      json,
      check(value) {
        const compile = loadedCompiler(formats);
        if (compile !== undefined) return compileOnce(compile)(value);
        return loadCompiler(formats).then(
          (loaded) => compileOnce(loaded)(value),
          () => refused("schema", "cannot be checked: the code for that could not be loaded"),
        );
      },
      ...(patterns.size > 0 && { prove: () => problemOf(patterns) }),
    },
  };
}

async function problemOf(patterns: Inspected["patterns"]): Promise<string | undefined> {
  const analysis = await import("./prove-patterns.ts").catch(() => undefined);
  if (analysis === undefined) return "its patterns cannot be proved safe: the analysis could not be loaded";
  const proof = analysis.provePatterns(patterns);
  return proof.ok ? undefined : proof.problem;
}
