/**
 * Texts of values that are sent many times, by identity.
 *
 * A list of a thousand tools is turned into text once and then written as it
 * stands. Only values that never change may be kept.
 */
const texts = new WeakMap<object, string>();

/** Remembers the text of a value that never changes, and returns the value. */
export function keepText<T extends object>(value: T): T {
  if (!texts.has(value)) texts.set(value, JSON.stringify(value));
  return value;
}

/** The JSON text of a value; the remembered one if there is one. */
export function toText(value: object): string {
  return texts.get(value) ?? JSON.stringify(value);
}

/**
 * The JSON text of an object with a `_meta`: where the text of that was
 * remembered, only the other members are turned into text.
 */
export function toTextWithMeta(value: { readonly [key: string]: unknown }): string {
  const { _meta: meta } = value;
  const kept = typeof meta === "object" && meta !== null ? texts.get(meta) : undefined;
  if (kept === undefined) return toText(value);
  const rest = JSON.stringify({ ...value, _meta: undefined });
  return rest === "{}" ? `{"_meta":${kept}}` : `{"_meta":${kept},${rest.slice(1)}`;
}
