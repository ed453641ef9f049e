import { McpError } from "../model/errors.ts";
import type { CompleteParams, CompleteResult } from "../model/prompt.ts";

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

const MAX_VALUES = 100;

/** The completer a request means. Undefined when nobody registered one. */
export function completerOf(completers: Completers | undefined, name: string): Completer | undefined {
  return completers !== undefined && Object.hasOwn(completers, name) ? completers[name] : undefined;
}

export function toCompletion(values: readonly string[]): CompleteResult {
  if (!Array.isArray(values) || values.some((value) => typeof value !== "string")) {
    throw new McpError("invalid-definition", "a completer must return an array of strings");
  }
  const total = values.length;
  return { completion: { values: values.slice(0, MAX_VALUES), total, hasMore: total > MAX_VALUES } };
}

export const noCompletion: CompleteResult = { completion: { values: [], hasMore: false } };

export type { CompleteParams };
