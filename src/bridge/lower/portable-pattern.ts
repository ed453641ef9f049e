/**
 * True for a regular expression that every provider can read. Some read patterns
 * by Python, some by engines without memory: neither knows properties of
 * characters as JavaScript writes them, and the latter have no lookaround, no
 * back references.
 */
export function isPortablePattern(pattern: string): boolean {
  return !foreign.test(pattern.replaceAll("\\\\", ""));
}

/** A letter or digit with another meaning, a group of a special kind, a class that is empty. */
const foreign = /\\(?![bBdDfnrstSvwWx])[A-Za-z0-9]|\(\?(?!:)|\[\^?\]/;
