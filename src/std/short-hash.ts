/**
 * Twelve characters of `a-z2-7` that are the same for the same text, everywhere.
 *
 * For telling texts apart, not for security: whoever wants two texts with the
 * same hash can find them, so users of it have to check.
 */
export function shortHash(text: string): string {
  let a = 0x811c9dc5;
  let b = text.length;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    a = Math.imul(a ^ unit, 0x01000193);
    b = Math.imul((b << 13) ^ (b >>> 19) ^ unit, 0x9e3779b1);
  }
  return base32(mixed(a ^ (b >>> 7))) + base32(mixed(b ^ (a >>> 11)));
}

/** Spreads every bit over all others. */
function mixed(bits: number): number {
  const first = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  const second = Math.imul(first ^ (first >>> 13), 0xc2b2ae35);
  return second ^ (second >>> 16);
}

/** The upper 30 of 32 bits, five for each character. */
function base32(bits: number): string {
  return [27, 22, 17, 12, 7, 2].map((shift) => alphabet[(bits >>> shift) & 31]).join("");
}

const alphabet = "abcdefghijklmnopqrstuvwxyz234567";
