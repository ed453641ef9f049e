import type { CompleteResult } from "../protocol/prompt.ts";
import type { Call, Outcome } from "../protocol/service.ts";
import { handlerJob } from "./context.ts";
import type { Environment } from "./environment.ts";

/** What is known when a value is completed. */
export interface CompletionContext {
  /** Arguments or variables that have their value already. */
  readonly arguments: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** All values that fit, or those it cares to give; the server sends the first hundred. */
export type Completer = (value: string, context: CompletionContext) => readonly string[] | Promise<readonly string[]>;

/** Completers by the name of the argument. */
export type Completers = Readonly<Record<string, Completer>>;

type Completed = Outcome<"completion/complete">;

/** Completes values. Where nobody registered a completer there is nothing to suggest, which is no error. */
export function complete(
  call: Call<"completion/complete">,
  completers: Completers | undefined,
  env: Environment,
): Completed | Promise<Completed> {
  const { ref, argument, context: given } = call.params;
  const completer = completerOf(completers, argument.name);
  if (completer === undefined) return noCompletion;
  const job = handlerJob<readonly string[]>(env, {
    method: "completion/complete",
    name: ref.type === "ref/prompt" ? ref.name : ref.uri,
    run: (run) => completer(argument.value, new RunningCompletion(given?.arguments ?? {}, run)),
    finish: (values) => ({ kind: "complete", result: toCompletion(values) }),
  });
  return env.runner.run(call, job) as Completed;
}

/** The signal is made when somebody reads it. */
class RunningCompletion implements CompletionContext {
  readonly arguments: CompletionContext["arguments"];
  readonly #run: Pick<CompletionContext, "signal">;

  constructor(known: CompletionContext["arguments"], run: Pick<CompletionContext, "signal">) {
    this.arguments = known;
    this.#run = run;
  }

  get signal(): AbortSignal {
    return this.#run.signal;
  }
}

function completerOf(completers: Completers | undefined, name: string): Completer | undefined {
  return completers !== undefined && Object.hasOwn(completers, name) ? completers[name] : undefined;
}

const MAX_VALUES = 100;

function toCompletion(values: readonly string[]): CompleteResult {
  if (!Array.isArray(values) || values.some((value) => typeof value !== "string")) {
    throw new Error("a completer must return an array of strings");
  }
  const total = values.length;
  return { completion: { values: values.slice(0, MAX_VALUES), total, hasMore: total > MAX_VALUES } };
}

/** For a value that nobody completes. */
export const noCompletion: Outcome<"completion/complete"> = {
  kind: "complete",
  result: { completion: { values: [], hasMore: false } },
};
