import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { find } from "../../../scripts/system-programs.mjs";
import { root } from "../../e2e/support/places.ts";
import { type Home, program } from "./cli.ts";

export const python: string | undefined = find("python");

/** Waits for a text, and types keys then. */
export interface Step {
  readonly expect: string;
  readonly send: string;
}

export interface Session {
  /** All that was written, without escapes. */
  readonly text: string;
  readonly raw: string;
  /** What it waited for in vain, if it did. */
  readonly failed: string | null;
  readonly left: readonly Step[];
  readonly code: number | null;
}

export const keys = {
  enter: "\r",
  down: "\u001b[B",
  ctrlC: "\u0003",
  ctrlD: "\u0004",
  ctrlU: "\u0015",
  tab: "\t",
  y: "y",
  n: "n",
};

/** Runs `plugbay` in a terminal, and types. */
export function inTerminal(home: Home, args: readonly string[], steps: readonly Step[]): Promise<Session> {
  return programInTerminal(home, [process.execPath, program, ...args], steps);
}

/** Runs any program in a terminal, and types. */
export async function programInTerminal(home: Home, line: readonly string[], steps: readonly Step[]): Promise<Session> {
  const script = join(root, "test", "cli", "support", "type-keys.py");
  const words = [script, JSON.stringify(steps), ...line];
  const env = { ...home.env, TERM: "xterm-256color" };
  const { stdout } = await promisify(execFile)(python ?? "", words, { cwd: home.folder, env, maxBuffer: 1 << 26 });
  return JSON.parse(stdout);
}
