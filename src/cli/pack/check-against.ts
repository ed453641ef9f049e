import type { JsonObject } from "../../json/json.ts";
import { toValidator } from "../../schema/to-validator.ts";
import { UsageError } from "../usage-error.ts";

/** Throws a {@link UsageError} that names what is wrong with a file that would be written. */
export async function checkAgainst(schema: JsonObject, value: JsonObject, file: string): Promise<void> {
  const read = toValidator(schema);
  if (!read.ok) throw new Error(`the schema of ${file} cannot be used: ${read.problem}`);
  const checked = await read.value.check(value);
  if (checked.ok) return;
  const problems = checked.issues.map(({ path, message }) => `${path === "" ? file : path} ${message}`);
  throw new UsageError(
    `${file} would not be valid: ${problems.join("; ")}`,
    "see package.json, and what the project has",
  );
}
