import { isNotBuilt } from "./not-built.ts";
import type { Requirements } from "./requirements.ts";
import { problemsOf, type Results, succeeded } from "./results.ts";

/** A line of the table: what one run of the suite gave. */
export interface Totals {
  readonly run: string;
  readonly scored: string;
  readonly unscored: string;
  readonly checks: number;
  readonly notBuilt: number;
}

/** Counts what a run gave. */
export function count(run: string, { scored, unscored }: Requirements, results: Results): Totals {
  const all = [...scored, ...unscored];
  const share = (scenarios: readonly string[]): string => {
    const built = scenarios.filter((scenario) => !isNotBuilt(scenario));
    const passed = built.filter((scenario) => problemsOf(results.get(scenario)).length === 0);
    return built.length === 0 ? "–" : `${passed.length}/${built.length}`;
  };
  const checks = all.filter((scenario) => !isNotBuilt(scenario)).map((name) => succeeded(results.get(name) ?? []));
  return {
    run,
    scored: share(scored),
    unscored: share(unscored),
    checks: checks.reduce((sum, some) => sum + some, 0),
    notBuilt: all.filter(isNotBuilt).length,
  };
}

/** The totals as a table in Markdown. */
export function toTable(totals: readonly Totals[]): string {
  const rows = totals.map(
    ({ run, scored, unscored, checks, notBuilt }) => `| ${run} | ${scored} | ${unscored} | ${checks} | ${notBuilt} |`,
  );
  return ["| run | required | others | checks | not built |", "|---|---|---|---|---|", ...rows, ""].join("\n");
}

const table = /(?<=<!-- totals -->\n).*?(?=<!-- end of totals -->)/s;

/** The table in a page. */
export function tableIn(page: string): string {
  return table.exec(page)?.[0] ?? "";
}

/** The page with another table. */
export function replaceTable(page: string, text: string): string {
  return page.replace(table, text);
}
