import type { CompleteResult, CompletionRef } from "../model/prompt.ts";
import type { Call, Outcome } from "../model/service.ts";
import type { Environment } from "./environment.ts";
import { handlerJob } from "./handler-job.ts";

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

/** What has completers, by what a request refers to. */
export type CompletionOwner = (ref: CompletionRef) => { readonly complete?: Completers } | undefined;

type Complete = (
  call: Call<"completion/complete">,
) => Outcome<"completion/complete"> | Promise<Outcome<"completion/complete">>;

/** Completes values. Where nobody registered a completer there is nothing to suggest, which is no error. */
export function createCompletion(env: Environment, ownerOf: CompletionOwner): Complete {
  return (call) => {
    const { ref, argument, context: given } = call.params;
    const completer = completerOf(ownerOf(ref)?.complete, argument.name);
    if (completer === undefined) return { kind: "complete", result: noCompletion };
    const job = handlerJob<readonly string[]>(env, {
      method: "completion/complete",
      name: ref.type === "ref/prompt" ? ref.name : ref.uri,
      run: (run) => completer(argument.value, new RunningCompletion(given?.arguments ?? {}, run)),
      finish: (values) => ({ kind: "complete", result: toCompletion(values) }),
    });
    return env.runner.run(call, job) as Outcome<"completion/complete">;
  };
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

const noCompletion: CompleteResult = { completion: { values: [], hasMore: false } };

const MAX_VALUES = 100;

function toCompletion(values: readonly string[]): CompleteResult {
  if (!Array.isArray(values) || values.some((value) => typeof value !== "string")) {
    throw new Error("a completer must return an array of strings");
  }
  const total = values.length;
  return { completion: { values: values.slice(0, MAX_VALUES), total, hasMore: total > MAX_VALUES } };
}
