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
