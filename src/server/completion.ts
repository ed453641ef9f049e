import type { CompleteResult } from "../protocol/prompt.ts";
import { hasScopes } from "../protocol/scopes.ts";
import type { Call, Outcome } from "../protocol/service.ts";
import { forbidden, visibility } from "./access.ts";
import type { Accessible } from "./accessible.ts";
import { type Context, handlerJob } from "./context.ts";
import type { Environment } from "./environment.ts";

/** What a completer sees: what a handler sees, and what is known of the other values. */
export interface CompletionContext extends Context {
  /** Arguments or variables that have their value already. */
  readonly arguments: Readonly<Record<string, string>>;
}

/** All matching values, or some of them; the server sends the first hundred. */
export type Completer = (value: string, context: CompletionContext) => readonly string[] | Promise<readonly string[]>;

/** Completers by the name of the argument. */
export type Completers = Readonly<Record<string, Completer>>;

type Completed = Outcome<"completion/complete">;

/** Completes values. Without a completer, the list is empty, which is not an error. */
export function complete(
  call: Call<"completion/complete">,
  { complete: completers, scopes, visible }: Completable,
  env: Environment,
): Completed | Promise<Completed> {
  const { ref, argument } = call.params;
  const completer = completerOf(completers, argument.name);
  if (completer === undefined) return noCompletion;
  const seen = (): Completed | Promise<Completed> =>
    scopes !== undefined && !hasScopes(call.peer.auth, scopes)
      ? forbidden(ref.type === "ref/prompt" ? `prompt ${ref.name}` : `resource ${ref.uri}`, scopes)
      : suggest(call, completer, env);
  if (visible === undefined) return seen();
  const unseen = (): Completed => noCompletion;
  return visibility.load().then(({ ifVisible }) => ifVisible(call, visible, env, { seen, unseen }));
}

/** What values are completed of. */
interface Completable extends Accessible {
  readonly complete?: Completers | undefined;
}

function suggest(
  call: Call<"completion/complete">,
  completer: Completer,
  env: Environment,
): Completed | Promise<Completed> {
  const { ref, argument, context: given } = call.params;
  const job = handlerJob<readonly string[]>(env, {
    method: "completion/complete",
    name: ref.type === "ref/prompt" ? ref.name : ref.uri,
    run: (context) => completer(argument.value, Object.assign(context, { arguments: given?.arguments ?? {} })),
    finish: (values) => ({ kind: "complete", result: toCompletion(values) }),
  });
  return env.runner.run(call, job) as Completed;
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

/** The result for a value without a completer. */
export const noCompletion: Outcome<"completion/complete"> = {
  kind: "complete",
  result: { completion: { values: [], hasMore: false } },
};
