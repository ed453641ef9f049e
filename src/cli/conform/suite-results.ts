import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, sep } from "node:path";

/** What the suite found in one scenario. */
export interface ScenarioResult {
  readonly name: string;
  /** `skipped`: none of its checks could be made. */
  readonly status: "passed" | "failed" | "skipped";
  /** False for what does not count for conformance, such as an extension. */
  readonly required: boolean;
  readonly checks: Readonly<Record<"passed" | "failed" | "warnings" | "skipped", number>>;
  /** What failed, and what the suite warns of. */
  readonly problems: readonly string[];
}

interface Check {
  readonly id: string;
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO";
  readonly description?: string;
  readonly errorMessage?: string;
}

/** Reads what the suite has written into a folder. `said` is its output, which names what does not count. */
export function readSuiteResults(folder: string, said: string): readonly ScenarioResult[] {
  const unscored = new Set([...said.matchAll(/^ {2}\S (\S+) \([\w -]+\)$/gm)].map(([, name]) => name));
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return files
    .filter((file) => file.endsWith(`${sep}checks.json`))
    .map((file) => {
      const name = scenarioOf(file);
      const checks = JSON.parse(readFileSync(join(folder, file), "utf8")) as readonly Check[];
      return toResult(name, !unscored.has(name), checks);
    })
    .toSorted((a, b) => Number(b.required) - Number(a.required) || (a.name < b.name ? -1 : 1));
}

/** The folder of a scenario is its name, with `server-` before it and the time after it. */
function scenarioOf(file: string): string {
  const folder = dirname(file).split(sep).join("/");
  return folder.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, "");
}

function toResult(name: string, required: boolean, checks: readonly Check[]): ScenarioResult {
  const count = (status: Check["status"]): number => checks.filter((check) => check.status === status).length;
  const [passed, failed] = [count("SUCCESS"), count("FAILURE")];
  const bad = checks.filter(({ status }) => status === "FAILURE" || status === "WARNING");
  return {
    name,
    status: failed > 0 ? "failed" : passed > 0 ? "passed" : "skipped",
    required,
    checks: { passed, failed, warnings: count("WARNING"), skipped: count("SKIPPED") },
    problems: bad.map(({ id, description = "", errorMessage = description }) => `${id}: ${errorMessage}`),
  };
}
