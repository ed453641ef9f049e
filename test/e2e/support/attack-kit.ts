import { expect, it } from "vitest";
import { quietPort } from "../../support/quiet-port.ts";
import { type Program, script } from "./places.ts";
import { run } from "./run.ts";

/** What the kit found out about one attack. */
export interface AttackResult {
  readonly id: string;
  readonly verdict: "held" | "got through" | "not applicable" | "not measured";
  readonly evidence: string;
  readonly growthMb?: number;
}

/** What was attacked: our server, a host that serves it, two processes on one Redis, our server over stdio. */
export type Attacked = "server" | "host" | "nodes" | "stdio";

/** Attacks that get through at the moment, with the contract that says what must be true. This list has to become empty. */
export const pending: readonly { readonly id: string; readonly attack: string; readonly at: readonly Attacked[] }[] =
  [];

/** Two principals, and the first of them with fewer scopes. */
export const principals: readonly string[] = [
  ...["--header", "authorization: Bearer of-ann"],
  ...["--second-header", "authorization: Bearer of-bob"],
  ...["--weak-header", "authorization: Bearer of-ann-weak"],
];

/** The tools of the fixture by their roles. Behind a host their names have a prefix. */
export function tools(prefix = ""): readonly string[] {
  const text = JSON.stringify({ text: "attack" });
  const roles = {
    echo: `echo:${text}`,
    large: "large",
    slow: "slow",
    ask: `ask:${text}`,
    task: `job:${text}`,
    "scoped-task": `scoped_job:${text}`,
  };
  return Object.entries(roles).flatMap(([role, use]) => ["--use", `${role}=${prefix}${use}`]);
}

export function attackedServer(...args: readonly string[]): Program {
  return script("test/fixtures/attacked-server.mjs", ...args);
}

/** Runs the kit against a server over HTTP that it starts itself, and again where an attack is to find it fresh. */
export async function attackOverHttp(serverArgs: readonly string[], kitArgs: readonly string[]): Promise<AttackReport> {
  const port = String(await quietPort());
  const { command, args } = attackedServer("--port", port, ...serverArgs);
  return attack(`http://127.0.0.1:${port}/mcp`, ...kitArgs, "--", command, ...args);
}

export interface AttackReport {
  readonly code: number | null;
  readonly results: readonly AttackResult[];
}

/** Runs the kit with these arguments. */
export async function attack(...args: readonly string[]): Promise<AttackReport> {
  const { code, stdout, stderr } = await run(script("scripts/attack.mjs", "--json", ...args));
  if (code !== 0 && code !== 1) throw new Error(`the kit ended with code ${code}: ${stderr}`);
  return { code, results: JSON.parse(stdout).results };
}

/** One test for each attack; its title begins with the name of the attack, and rows of docs/security.md follow in brackets. */
export function eachHeld(at: Attacked, titles: readonly string[], report: () => AttackReport): void {
  const nameOf = (title: string): string => title.replace(/ \(.*/, "");
  const isPending = (title: string): boolean =>
    pending.some((entry) => entry.attack === nameOf(title) && entry.at.includes(at));

  it("is attacked in every way that is listed here", () => {
    const known = report().results.map(({ id }) => id);
    expect(known.toSorted()).toEqual(titles.map(nameOf).toSorted());
  });

  for (const title of titles) {
    it.skipIf(isPending(title))(`holds against ${title}`, () => {
      const result = report().results.find(({ id }) => id === nameOf(title));
      expect(`${result?.verdict}: ${result?.evidence}`).toMatch(/^held: /);
    });
  }
}
