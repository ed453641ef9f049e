/**
 * A name as ASCII without braces. Injective, and the bytes are in the order of the names by UTF-16 units: what is not
 * escaped comes before `|`, and so before everything that is.
 */
export function encodeName(name: string): string {
  return name.replace(/[{-\uffff]/g, (unit) => `|${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

export function decodeName(encoded: string): string {
  return encoded.replace(/\|([0-9a-f]{4})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** What is kept under a name, or a topic, or a group. */
export type KeyPart =
  | "value"
  | "number"
  | "stream"
  | "position"
  | "lease"
  | "fence"
  | "topic"
  | "newest"
  | "members"
  | "added"
  | `did:${string}`;

/** The key of one part of a name. All parts of a name have the same hash tag, so a cluster keeps them together. */
export type Keys = (name: string, part: KeyPart) => string;

export function createKeys(prefix: string): Keys {
  // An empty tag would be none.
  return (name, part) => `${prefix}:{${encodeName(name) || "|"}}:${part}`;
}

const ESCAPE = "\u0001";
const loneSurrogate = /\p{Surrogate}/u;

/** A text as one that UTF-8 can hold: itself, unless it has half a character in it. */
export function encodeText(text: string): string {
  return text.startsWith(ESCAPE) || loneSurrogate.test(text) ? ESCAPE + JSON.stringify(text) : text;
}

export function decodeText(stored: string): string {
  return stored.startsWith(ESCAPE) ? (JSON.parse(stored.slice(1)) as string) : stored;
}
