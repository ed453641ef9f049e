import { isObject, type Json, type JsonObject } from "./json.ts";

/** Why a value is invalid, to be appended to its name: `.tools[2].name must be a string`. Undefined for a valid value. */
export type Problem = string | undefined;

/** Validates a value without changing it. Unknown members are allowed. */
export type Check = (value: Json | undefined) => Problem;

/** One check for each member of `T`. A missing check is a compile error. */
export type Members<T> = { readonly [K in keyof T]-?: Check };

export const aString: Check = (value) => (typeof value === "string" ? undefined : " must be a string");
export const aNumber: Check = (value) => (typeof value === "number" ? undefined : " must be a number");
export const aBoolean: Check = (value) => (typeof value === "boolean" ? undefined : " must be true or false");
export const anything: Check = () => undefined;

/** Accepts `undefined`, and every value that `check` accepts. `null` does not count as absent. */
export function optional(check: Check): Check {
  return (value) => (value === undefined ? undefined : check(value));
}

/** Accepts one of the listed strings. */
export function oneOf(...words: readonly string[]): Check {
  return (value) => (typeof value === "string" && words.includes(value) ? undefined : ` must be ${words.join(" or ")}`);
}

/** Accepts an object whose members pass their checks. */
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

/** Accepts an object in which every member passes `check`. */
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

/** Accepts an array in which every element passes `check`. */
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

/** Accepts an object whose `type` names the check that it must pass: a discriminated union. */
export function byType(variants: Readonly<Record<string, Check>>): Check {
  const known = new Map(Object.entries(variants));
  const type = anObject({ type: oneOf(...known.keys()) });
  return (value) => {
    const check = isObject(value) && typeof value.type === "string" ? known.get(value.type) : undefined;
    return check === undefined ? type(value) : check(value);
  };
}
