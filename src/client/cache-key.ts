import { asJson } from "../json/json.ts";
import type { Call } from "../model/service.ts";
import type { Change } from "../model/subscription.ts";

/**
 * What a result depends on. None for a call that answers questions, whose result
 * must not be kept, and for params nobody knows the meaning of.
 */
export function keyOf({ method, params, answers, state }: Call): string | undefined {
  if (answers !== undefined || state !== undefined) return undefined;
  const { uri, cursor, ...unknown } = asJson(params);
  if (Object.keys(unknown).length > 0) return undefined;
  return `${method} ${JSON.stringify(uri ?? cursor ?? null)}`;
}

/** The method of a key. */
export function methodIn(key: string): string {
  return key.slice(0, key.indexOf(" "));
}

/** What the result of a key tells of, where servers announce changes of it. */
export function subjectOf(key: string): string | undefined {
  const method = methodIn(key);
  switch (method) {
    case "tools/list":
      return "tools";
    case "prompts/list":
      return "prompts";
    case "resources/list":
    case "resources/templates/list":
      return "resources";
    case "resources/read":
      return `resource ${key.slice(method.length + 1)}`;
    default:
      return undefined;
  }
}

/** What a change makes wrong. */
export function changedSubject(change: Change): string | undefined {
  switch (change.kind) {
    case "resource":
      return `resource ${JSON.stringify(change.uri)}`;
    case "task":
      return undefined;
    default:
      return change.kind;
  }
}
