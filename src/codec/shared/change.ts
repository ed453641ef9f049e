import { isObject, type Json, type JsonObject } from "../../json/json.ts";

/**
 * Says a value in other words. Never mutates, keeps what it does not know, and
 * returns the value itself when there is nothing to change.
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

/** Changes every object that is a member, whatever its name. */
export function inEveryMember(change: Change): Change {
  return (value) => {
    const entries = Object.entries(value);
    const changed = entries.map(([name, member]) => [name, isObject(member) ? change(member) : member] as const);
    return changed.every(([, member], index) => member === entries[index]?.[1]) ? value : Object.fromEntries(changed);
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
