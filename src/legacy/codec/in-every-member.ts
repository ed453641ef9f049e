import type { Change } from "../../codec/shared/dialect.ts";
import { isObject } from "../../json/json.ts";

/** Changes every object that is a member, whatever its name. */
export function inEveryMember(change: Change): Change {
  return (value) => {
    const entries = Object.entries(value);
    const changed = entries.map(([name, member]) => [name, isObject(member) ? change(member) : member] as const);
    return changed.every(([, member], index) => member === entries[index]?.[1]) ? value : Object.fromEntries(changed);
  };
}
