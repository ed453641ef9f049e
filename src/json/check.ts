import { isObject, type Json, type JsonObject } from "./json.ts";

/**
 * What is wrong with a value, worded to follow its name: `.tools[2].name must
 * be a string`. Undefined when nothing is.
 */
export type Problem = string | undefined;

/** Looks at a value and leaves it alone. Unknown members are no problem. */
export type Check = (value: Json | undefined) => Problem;

/** One check for each member of `T`: forgetting one does not compile. */
export type Members<T> = { readonly [K in keyof T]-?: Check };

export const aString: Check = (value) => (typeof value === "string" ? undefined : " must be a string");
export const aNumber: Check = (value) => (typeof value === "number" ? undefined : " must be a number");
export const aBoolean: Check = (value) => (typeof value === "boolean" ? undefined : " must be true or false");
export const anything: Check = () => undefined;

/** Absent, or as `check` wants it. `null` is not absent. */
export function optional(check: Check): Check {
  return (value) => (value === undefined ? undefined : check(value));
}

/** One of a few words. */
export function oneOf(...words: readonly string[]): Check {
  return (value) => (typeof value === "string" && words.includes(value) ? undefined : ` must be ${words.join(" or ")}`);
}

/** An object with at least these members. */
export function anObject(members: Readonly<Record<string, Check>> = {}): Check {
  const checks = Object.entries(members);
  return (value) => (isObject(value) ? memberProblem(value, checks) : " must be an object");
}

function memberProblem(value: JsonObject, checks: readonly (readonly [string, Check])[]): Problem {
  for (const [name, check] of checks) {
    const problem = check(value[name]);
    if (problem !== undefined) return `.${name}${problem}`;
  }
  return undefined;
}

/** An object whose members are all alike. */
export function aRecordOf(check: Check): Check {
  return (value) => {
    if (!isObject(value)) return " must be an object";
    for (const [name, member] of Object.entries(value)) {
      const problem = check(member);
      if (problem !== undefined) return `.${name}${problem}`;
    }
    return undefined;
  };
}

/** An array whose elements are all alike. */
export function aListOf(check: Check): Check {
  return (value) => {
    if (!Array.isArray(value)) return " must be an array";
    for (const [index, item] of value.entries()) {
      const problem = check(item);
      if (problem !== undefined) return `[${index}]${problem}`;
    }
    return undefined;
  };
}

/** An object whose `type` decides what else it must have. */
export function byType(variants: Readonly<Record<string, Check>>): Check {
  const known = new Map(Object.entries(variants));
  const type = anObject({ type: oneOf(...known.keys()) });
  return (value) => {
    const check = isObject(value) && typeof value.type === "string" ? known.get(value.type) : undefined;
    return check === undefined ? type(value) : check(value);
  };
}
