/**
 * JSON texts of values that are sent many times, such as a list of a thousand tools. The key is the identity of the
 * value, so a cached value must never be mutated.
 */
const texts = new WeakMap<object, string>();

/** Caches the JSON text of an immutable value, and returns the value. */
export function cacheText<T extends object>(value: T): T {
  if (!texts.has(value)) texts.set(value, JSON.stringify(value));
  return value;
}

/** The JSON text of a value: the cached text, or the output of `JSON.stringify`. */
export function toText(value: object): string {
  return texts.get(value) ?? JSON.stringify(value);
}

/** The JSON text of an object. When the text of its `_meta` is cached, only the other members are serialized. */
export function toTextWithMeta(value: { readonly [key: string]: unknown }): string {
  const { _meta: meta } = value;
  const cachedMeta = typeof meta === "object" && meta !== null ? texts.get(meta) : undefined;
  if (cachedMeta === undefined) return toText(value);
  const otherMembers = JSON.stringify({ ...value, _meta: undefined });
  return otherMembers === "{}" ? `{"_meta":${cachedMeta}}` : `{"_meta":${cachedMeta},${otherMembers.slice(1)}`;
}
