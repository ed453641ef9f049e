import type { ExitCode } from "../command.ts";

/** One check of `plugbay doctor`. */
export interface Step {
  readonly name: string;
  readonly status: "ok" | "warning" | "failed";
  /** One sentence: what is so, or what is wrong. */
  readonly message: string;
  /** What to do next. */
  readonly hint?: string;
  /** How the command ends. Only of a failed step. */
  readonly exitCode?: ExitCode;
}

/** Takes the steps in their order. */
export interface Ladder {
  readonly steps: readonly Step[];
  ok(name: string, message: string): undefined;
  warn(name: string, message: string, hint?: string): undefined;
  /** Ends the ladder: what stands on this step cannot be checked. */
  fail(name: string, message: string, hint?: string, exitCode?: ExitCode): undefined;
  readonly hasFailed: boolean;
}

export function createLadder(onStep: (step: Step) => void): Ladder {
  const steps: Step[] = [];
  let hasFailed = false;
  const add = (step: Step): undefined => {
    steps.push(step);
    onStep(step);
  };
  return {
    steps,
    get hasFailed() {
      return hasFailed;
    },
    ok: (name, message) => add({ name, status: "ok", message }),
    warn: (name, message, hint) => add({ name, status: "warning", message, ...(hint !== undefined && { hint }) }),
    fail(name, message, hint, exitCode = 3) {
      hasFailed = true;
      return add({ name, status: "failed", message, exitCode, ...(hint !== undefined && { hint }) });
    },
  };
}
