import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

/** What can be tested. */
export type Leg = "server" | "client";

/** The revisions that have a set of requirements. */
export const revisions = ["2025-11-25", "2026-07-28"] as const;

/** The scenarios of one revision, for one leg. */
export interface Requirements {
  /** What conformance to the revision means. */
  readonly scored: readonly string[];
  /** What is run besides: extensions, and what was added later or is not settled. */
  readonly unscored: readonly string[];
}

/** How large the sets are. They are frozen. */
export const sizes: Readonly<Record<Leg, Readonly<Record<(typeof revisions)[number], number>>>> = {
  server: { "2025-11-25": 30, "2026-07-28": 37 },
  client: { "2025-11-25": 18, "2026-07-28": 32 },
};

/** How many scenarios the suite has for servers. */
export const allServerScenarios = 65;

const suite = createRequire(import.meta.url);

/** Reads a set of requirements of the installed suite. */
export function requirementsOf(revision: string, leg: Leg): Requirements {
  const file = suite.resolve(`@modelcontextprotocol/conformance/requirements/${revision}.yaml`);
  const set = suite("yaml").parse(readFileSync(file, "utf8"));
  const unscored: readonly { readonly scenario: string; readonly leg: Leg }[] = set.not_scored;
  return {
    scored: set[leg],
    unscored: unscored.filter((entry) => entry.leg === leg).map(({ scenario }) => scenario),
  };
}
