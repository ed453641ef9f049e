import type { Json } from "../json/json.ts";
import { token } from "./pointer.ts";

/** A copy of a JSON value, or the first place where it is not JSON. */
export type CopiedJson = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly problem: string };

const maxDepth = 256;
const maxValues = 200_000;

/**
 * Copies a JSON value that somebody else may still change.
 *
 * Members that are `undefined` are left out. Cycles end at the limit of depth.
 */
export function copyJson(value: unknown): CopiedJson {
  let values = 0;
  let problem: string | undefined;

  const copy = (source: unknown, at: string, depth: number): Json => {
    if (isScalar(source)) return source;
    if (typeof source !== "object" || depth > maxDepth || ++values > maxValues) {
      problem ??= `#${at} ${typeof source === "object" ? "is nested too deeply or too large" : "is not JSON"}`;
      return null;
    }
    if (problem !== undefined) return null;
    if (Array.isArray(source)) return source.map((item, index) => copy(item, at + token(index), depth + 1));
    const members = Object.entries(source).filter(([, member]) => member !== undefined);
    return Object.fromEntries(members.map(([key, member]) => [key, copy(member, at + token(key), depth + 1)]));
  };

  const copied = copy(value, "", 0);
  return problem === undefined ? { ok: true, value: copied } : { ok: false, problem };
}

function isScalar(value: unknown): value is string | number | boolean | null {
  return value === null || typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);
}
