import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, sep } from "node:path";

/** One statement of the suite, as it writes it down. */
export interface Check {
  readonly id: string;
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO";
  readonly description?: string;
  readonly errorMessage?: string;
}

/** What the suite found, by the name of the scenario. */
export type Results = ReadonlyMap<string, readonly Check[]>;

/** Reads what the suite has written into a folder. */
export function readResults(folder: string): Results {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const found = files.filter((file) => file.endsWith(`${sep}checks.json`));
  return new Map(found.map((file) => [scenarioOf(file), JSON.parse(readFileSync(join(folder, file), "utf8"))]));
}

/** The folder of a scenario is its name, with `server-` before it or nothing, and the time after it. */
function scenarioOf(file: string): string {
  const folder = dirname(file).split(sep).join("/");
  return folder.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, "");
}

/**
 * Why a scenario has not passed; nothing when it has.
 *
 * Stricter than the suite: a warning counts, and so does a scenario that found
 * nothing to praise.
 */
export function problemsOf(checks: readonly Check[] | undefined): readonly string[] {
  if (checks === undefined) return ["it was not run"];
  const bad = checks.filter(({ status }) => status === "FAILURE" || status === "WARNING");
  if (bad.length > 0) return bad.map(say);
  return succeeded(checks) > 0 ? [] : ["nothing in it succeeded", ...checks.map(say)];
}

/** How many checks have succeeded. */
export function succeeded(checks: readonly Check[]): number {
  return checks.filter(({ status }) => status === "SUCCESS").length;
}

function say({ id, status, description = "", errorMessage = description }: Check): string {
  return `${status} ${id}: ${errorMessage}`;
}
