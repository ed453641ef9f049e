const hex = /^[\da-f]{64,}$/i;
/** Of 32 random bytes in base64, one in a billion lacks either case; words that somebody made up mostly do. */
const base64 = /^(?=.*[a-z])(?=.*[A-Z])[\w+/-]{43,}={0,2}$/;
const MIN_CHARACTERS = 10;

/** Whether a text may be 32 random bytes in hex or base64: that it is cannot be told, that it is not mostly can. */
export function isRandomKey(key: string): boolean {
  return new Set(key).size >= MIN_CHARACTERS && (hex.test(key) || base64.test(key));
}

/** What a key has to be, and how to get one. */
export const randomKeyRule =
  "must be 32 random bytes or more, in hex or base64; make one with: openssl rand -base64 32";
