import { isObject, type Json, type JsonObject } from "../../json/json.ts";
import type { Revision } from "../revision.ts";
import type { Decoded } from "./codec.ts";
import { type ErrorNumbers, errorNumbers } from "./errors.ts";

/**
 * Converts a value to another format. Never mutates it, keeps unknown members, and returns the value itself when
 * nothing changes.
 */
export type Change = (value: JsonObject) => JsonObject;

/** The change that changes nothing. Combinators recognise it, so it costs nothing to combine. */
export const same: Change = (value) => value;

/** Applies changes in order. One that is undefined is skipped. */
export function inOrder(...changes: readonly (Change | undefined)[]): Change {
  return changes.reduce<Change>(followedBy, same);
}

function followedBy(first: Change, second: Change = same): Change {
  if (first === same) return second;
  if (second === same) return first;
  return (value) => second(first(value));
}

/** Leaves out members. */
export function without(...names: readonly string[]): Change {
  return (value) => {
    let rest = value;
    for (const name of names) rest = omit(rest, name);
    return rest;
  };
}

function omit(value: JsonObject, name: string): JsonObject {
  if (!Object.hasOwn(value, name)) return value;
  const { [name]: _, ...rest } = value;
  return rest;
}

/** Leaves out every member but these. */
export function keeping(...names: readonly string[]): Change {
  return (value) => {
    const entries = Object.entries(value);
    const kept = entries.filter(([name]) => names.includes(name));
    return kept.length === entries.length ? value : Object.fromEntries(kept);
  };
}

/** Changes one member that is an object. */
export function inMember(name: string, change: Change): Change {
  if (change === same) return same;
  return (value) => {
    const member = value[name];
    if (!isObject(member)) return value;
    const changed = change(member);
    return changed === member ? value : { ...value, [name]: changed };
  };
}

/** Changes every object in one member that is an array. */
export function inEach(name: string, change: Change): Change {
  if (change === same) return same;
  return (value) => {
    const items = value[name];
    if (!Array.isArray(items)) return value;
    const changed = mapObjects(items, change);
    return changed === items ? value : { ...value, [name]: changed };
  };
}

/** Changes only values whose `type` is this one. */
export function ofType(type: string, change: Change): Change {
  if (change === same) return same;
  return (value) => (value.type === type ? change(value) : value);
}

/** Leaves out members of `_meta`, and `_meta` itself when nothing else was in it. */
export function withoutMeta(...keys: readonly string[]): Change {
  const drop = without(...keys);
  return (value) => {
    if (!isObject(value._meta)) return value;
    const meta = drop(value._meta);
    if (meta === value._meta) return value;
    return Object.keys(meta).length === 0 ? dropMeta(value) : { ...value, _meta: meta };
  };
}

/** Leaves out `_meta`. */
export const dropMeta: Change = without("_meta");

function mapObjects(items: readonly Json[], change: Change): readonly Json[] {
  const changed = items.map((item) => (isObject(item) ? change(item) : item));
  return changed.every((item, index) => item === items[index]) ? items : changed;
}

/** Like a {@link Change}, for what a peer may be unable to understand in any words. */
export type Attempt = (params: JsonObject) => Decoded<JsonObject>;

/**
 * How one revision encodes each part of the protocol.
 *
 * A dialect is for encoding only. Decoding accepts the formats of all revisions; only capabilities are limited to those
 * of the revision.
 */
export interface Dialect {
  readonly revision: Revision;

  readonly implementation: Change;
  readonly clientCapabilities: Change;
  readonly serverCapabilities: Change;
  /** What a server of the revision has without being able to say so. */
  readonly impliedCapabilities: Change;
  readonly tool: Change;
  /** Resources, resource templates and links to resources. */
  readonly resource: Change;
  /** What is in a resource. */
  readonly contents: Change;
  readonly prompt: Change;
  /** A block of content, wherever it stands. */
  readonly block: Change;
  readonly root: Change;
  /** A task, without what its status brings. */
  readonly task: Change;

  /** Any result of a method of the protocol. */
  readonly result: Change;
  /** The result of a tool, also where a sampling message repeats it. */
  readonly toolResult: Change;
  /** The result of `tasks/cancel`, which is a task. */
  readonly cancelled: Change;
  /** What a caller put in `_meta` for itself. */
  readonly callerMeta: Change;
  /** Params of `completion/complete`. */
  readonly completion: Change;
  /** Params of any notification. */
  readonly notification: Change;
  /** Params of `notifications/progress`. */
  readonly progress: Change;

  /** Params of `elicitation/create`. */
  readonly elicitation: Attempt;
  /** Params of `sampling/createMessage`. */
  readonly sampling: Attempt;
  /** The answer to `sampling/createMessage`. */
  readonly sampled: Change;

  /**
   * Whether it has a notification that not every revision has, or what it calls
   * it. One that is not listed is in all of them.
   */
  readonly notifications: Readonly<Record<string, boolean | string>>;
  readonly errors: ErrorNumbers;
}

/** What sets a revision apart from the dialect it is derived from. */
type Difference = Partial<Omit<Dialect, "revision" | "errors">> & {
  readonly errors?: Partial<ErrorNumbers>;
};

/** An attempt that cannot fail. */
export function always(change: Change): Attempt {
  return (params) => ({ ok: true, value: change(params) });
}

/** The members that are plain changes. */
const changeNames = [
  "implementation",
  "clientCapabilities",
  "serverCapabilities",
  "impliedCapabilities",
  "tool",
  "resource",
  "contents",
  "prompt",
  "block",
  "root",
  "task",
  "result",
  "toolResult",
  "cancelled",
  "callerMeta",
  "completion",
  "notification",
  "progress",
  "sampled",
] as const;

type Changes = Pick<Dialect, (typeof changeNames)[number]>;

function changesBy(change: (name: keyof Changes) => Change): Changes {
  return Object.fromEntries(changeNames.map((name) => [name, change(name)])) as unknown as Changes;
}

/** The dialect that says everything as the model has it. No revision speaks it. */
export const asModeled: Omit<Dialect, "revision"> = {
  ...changesBy(() => same),
  elicitation: always(same),
  sampling: always(same),
  notifications: {},
  errors: errorNumbers,
};

/** A dialect that says things the way of `from`, and then puts that in its own words. */
export function derive(revision: Revision, from: Omit<Dialect, "revision">, to: Difference): Dialect {
  return {
    revision,
    ...changesBy((name) => inOrder(from[name], to[name])),
    elicitation: attemptInOrder(from.elicitation, to.elicitation),
    sampling: attemptInOrder(from.sampling, to.sampling),
    notifications: { ...from.notifications, ...to.notifications },
    errors: { ...from.errors, ...to.errors },
  };
}

function attemptInOrder(first: Attempt, second: Attempt | undefined): Attempt {
  if (second === undefined) return first;
  return (params) => {
    const said = first(params);
    return said.ok ? second(said.value) : said;
  };
}
