import type { Outcome } from "../model/service.ts";
import { type Context, RunContext } from "./context.ts";
import type { Environment } from "./environment.ts";
import type { Execution, Job } from "./execution.ts";

/** What a handler does, and what its value means. */
export interface Handling<T> {
  readonly method: string;
  readonly name?: string;
  run(context: Context): T | Promise<T>;
  finish(value: T): Outcome;
}

/** A job whose errors fail the call. */
export function handlerJob<T>(env: Environment, { method, name, run, finish }: Handling<T>): Job {
  return {
    timeoutMs: env.timeoutMs,
    start: (execution: Execution) => run(new RunContext(execution, env.logging)),
    finish: (value) => finish(value as T),
    fail: (error) => ({ kind: "failed", failure: env.faults.failureOf(error, method, name) }),
  };
}
