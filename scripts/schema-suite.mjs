/**
 * Runs the official JSON Schema Test Suite against the package as it was built, and against ajv.
 *
 *     git clone https://github.com/json-schema-org/JSON-Schema-Test-Suite
 *     npm run build && node scripts/schema-suite.mjs JSON-Schema-Test-Suite [--failures]
 *
 * Prints the table of docs/conformance.md. With `--failures` every case that did not come out right is listed.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import { compile } from "../dist/schema/compile.js";
import { inspectSchema } from "../dist/schema/inspect.js";
import { lazyFormats } from "../dist/schema/value-rules.js";

const [folder, ...flags] = process.argv.slice(2);
if (folder === undefined) {
  console.error("usage: node scripts/schema-suite.mjs <folder of the JSON Schema Test Suite> [--failures]");
  process.exit(2);
}
await lazyFormats.load();

const dialects = {
  "draft2020-12": { $schema: "https://json-schema.org/draft/2020-12/schema", Ajv: Ajv2020 },
  "draft2019-09": { $schema: "https://json-schema.org/draft/2019-09/schema", Ajv: Ajv2019 },
  draft7: { $schema: "http://json-schema.org/draft-07/schema#", Ajv },
  draft6: { $schema: "http://json-schema.org/draft-06/schema#" },
  draft4: { $schema: "http://json-schema.org/draft-04/schema#" },
};

/** A case without `$schema` is about the draft of its folder. */
function withDialect(schema, $schema) {
  if (typeof schema === "boolean") return schema ? { $schema } : { $schema, not: {} };
  return "$schema" in schema ? schema : { $schema, ...schema };
}

function ours(schema) {
  const inspection = inspectSchema(schema);
  if (!inspection.ok) return { refused: inspection.problem };
  const check = compile(inspection.value);
  return {
    test(value) {
      const { ok, issues } = check(value);
      return !ok && /^(cannot be checked|the check)/.test(issues[0].message) ? issues[0].message : ok;
    },
  };
}

function theirs(Ajv, schema) {
  if (Ajv === undefined) return { refused: "not measured" };
  try {
    return { test: new Ajv({ strict: false, logger: false, validateFormats: false }).compile(schema) };
  } catch (error) {
    return { refused: error.message };
  }
}

function outcome({ refused, test }, { data, valid }) {
  if (refused !== undefined) return "refused";
  try {
    const result = test(data);
    return result === valid ? "right" : typeof result === "string" && /^cannot be/.test(result) ? "refused" : "wrong";
  } catch {
    return "wrong";
  }
}

const rows = [];
for (const [name, { $schema, Ajv }] of Object.entries(dialects)) {
  const counts = { ours: { right: 0, refused: 0, wrong: 0 }, theirs: { right: 0, refused: 0, wrong: 0 } };
  const files = readdirSync(join(folder, "tests", name)).filter((file) => file.endsWith(".json"));
  for (const file of files) {
    for (const { description, schema, tests } of JSON.parse(readFileSync(join(folder, "tests", name, file), "utf8"))) {
      const full = withDialect(schema, $schema);
      const [mine, ajv] = [ours(full), theirs(Ajv, full)];
      for (const test of tests) {
        const came = outcome(mine, test);
        counts.ours[came]++;
        counts.theirs[outcome(ajv, test)]++;
        if (came === "right" || !flags.includes("--failures")) continue;
        console.log(
          `${name}/${file}: ${description}: ${test.description}: ${came}${mine.refused ? `: ${mine.refused}` : ""}`,
        );
      }
    }
  }
  const total = Object.values(counts.ours).reduce((a, b) => a + b);
  const [{ right, refused, wrong }, ajv] = [counts.ours, counts.theirs];
  const other = Ajv === undefined ? "–" : `${ajv.right} (${ajv.refused} refused, ${ajv.wrong} wrong)`;
  rows.push(`| ${name} | ${total} | ${right} (${refused} refused, ${wrong} wrong) | ${other} |`);
}
console.log(["| draft | required cases | here | ajv |", "|---|---|---|---|", ...rows].join("\n"));
