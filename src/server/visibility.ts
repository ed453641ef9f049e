import { hasScopes } from "../protocol/scopes.ts";
import type { Call, Outcome } from "../protocol/service.ts";
import type { Accessible, Visible } from "./accessible.ts";
import { type Context, handlerJob, RunContext } from "./context.ts";
import type { Environment } from "./environment.ts";

interface Verdicts<O extends Outcome> {
  seen(): O | Promise<O>;
  unseen(): O | Promise<O>;
}

/** Handles a call by whether its caller sees what it names. */
export function ifVisible<O extends Outcome>(
  call: Call,
  visible: Visible,
  env: Environment,
  { seen, unseen }: Verdicts<O>,
): O | Promise<O> {
  const outcome = env.runner.runOnce(call, {
    timeoutMs: env.timeoutMs,
    start: (execution) => visible(new RunContext(execution, env)),
    finish: (isVisible) => (isVisible === true ? seen() : unseen()),
    fail: (error) => ({ kind: "failed", failure: env.errors.failureOf(error, call.method) }),
  });
  return outcome as O | Promise<O>;
}

interface Entry {
  readonly item: { readonly definition: Accessible };
}

interface ListVisibleOptions<E> {
  readonly env: Environment;
  toResult(visible: readonly E[]): unknown;
}

/** Answers a request for a list of which some things are for some callers only. */
export function listVisible<E extends Entry>(
  call: Call,
  entries: readonly E[],
  { env, toResult }: ListVisibleOptions<E>,
): Outcome | Promise<Outcome> {
  const job = handlerJob<readonly E[]>(env, {
    method: call.method,
    run: (context) => onlyVisible(entries, ({ item }) => item.definition.visible, context),
    finish: (visible) => ({ kind: "complete", result: toResult(visible) as never }),
  });
  return env.runner.runOnce(call, job);
}

interface ListAudibleOptions {
  readonly env: Environment;
  /** What is defined for a URI, the first first. */
  definitionsOf(uri: string): readonly Accessible[];
}

/** The URIs whose updates the caller may receive: it sees the first definition that applies, and has its scopes. */
export async function listAudible(
  call: Call,
  uris: readonly string[],
  { env, definitionsOf }: ListAudibleOptions,
): Promise<readonly string[]> {
  let audible: readonly string[] = [];
  const mayHear = async (uri: string, context: Context): Promise<boolean> => {
    const definitions = definitionsOf(uri);
    if (definitions.length === 0) return true;
    const [first] = await onlyVisible(definitions, ({ visible }) => visible, context);
    return first !== undefined && hasScopes(call.peer.auth, first.scopes ?? []);
  };
  const job = handlerJob<readonly boolean[]>(env, {
    method: call.method,
    run: (context) => Promise.all(uris.map((uri) => mayHear(uri, context))),
    finish(verdicts) {
      audible = uris.filter((_, index) => verdicts[index]);
      return { kind: "complete", result: {} };
    },
  });
  await env.runner.runOnce(call, job);
  return audible;
}

/** Those that the caller sees. */
export async function onlyVisible<T>(
  things: readonly T[],
  visibleOf: (thing: T) => ((context: Context) => boolean | Promise<boolean>) | undefined,
  context: Context,
): Promise<readonly T[]> {
  const verdicts = await Promise.all(things.map((thing) => visibleOf(thing)?.(context) ?? true));
  return things.filter((_, index) => verdicts[index] === true);
}
