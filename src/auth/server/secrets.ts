import type { JsonObject } from "../../json/json.ts";
import { McpError } from "../../protocol/errors.ts";
import type { Auth, KnownClaims } from "../../protocol/peer.ts";
import { fromBase64Url, toBase64Url } from "../../std/base64.ts";
import type { OrUndefined } from "../../std/defined.ts";
import { maskText } from "../../std/secrets.ts";
import { equalsInConstantTime } from "../client/dpop.ts";
import { checkScopes } from "./claims.ts";

/** Somebody who is known by a secret, of which only a hash is kept. The hash will do where no claims are needed. */
export type HashedSecret<C = KnownClaims> =
  | (OrUndefined<Omit<Auth<C>, "principal">> & {
      readonly hash: string;
      /** Default: the name it is listed by. */
      readonly principal?: string | undefined;
    })
  | (Record<never, never> extends C ? string : never);

/** One of those who are known. */
interface Known {
  readonly name: string;
  /** The name as a message may have it. */
  readonly shown: string;
  readonly hash: string;
  readonly auth: Auth<JsonObject>;
}

/** Reads a list by name. Throws `invalid-definition`, without repeating what may be a secret. */
export function readKnown(owner: string, list: Readonly<Record<string, HashedSecret<JsonObject>>>): readonly Known[] {
  return Object.entries(list).map(([name, secret]) => {
    const { hash, principal = name, scopes = [], claims } = typeof secret === "string" ? { hash: secret } : secret;
    // Where somebody has swapped names and secrets, the name is one.
    const shown = maskText(name);
    if (typeof hash !== "string") throw new McpError("invalid-definition", `${owner} ${shown}: hash must be a text`);
    checkScopes(`${owner} ${shown}`, scopes);
    return { name, shown, hash, auth: { principal, scopes, ...(claims !== undefined && { claims }) } };
  });
}

/** The HMAC-SHA-256 of a text, in base64 for URLs. */
type Hmac = (text: string) => Promise<string>;

const encoder = new TextEncoder();

/** With a secret of the caller, or one that nobody knows and that ends with this process. */
export function createHmac(secret?: string): Hmac {
  const bytes = secret === undefined ? crypto.getRandomValues(new Uint8Array(32)) : encoder.encode(secret);
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  let key: Promise<CryptoKey> | undefined;
  return async (text) => {
    key ??= crypto.subtle.importKey("raw", bytes, algorithm, false, ["sign"]);
    return toBase64Url(new Uint8Array(await crypto.subtle.sign("HMAC", await key, encoder.encode(text))));
  };
}

/** Fewer are too fast to guess by. */
const MIN_ITERATIONS = 600_000;
/** More would let a wrong hash in a file stop the server. */
const MAX_ITERATIONS = 10_000_000;
const NAME = "pbkdf2-sha256";

/** A hash of a password, taken apart. */
interface PasswordHash {
  readonly iterations: number;
  readonly salt: Uint8Array<ArrayBuffer>;
  readonly key: string;
}

/** A password in a form that is slow to guess from: PBKDF2 with SHA-256, 600,000 iterations and a salt of its own. */
export async function hashPassword(
  password: string,
  options: { readonly iterations?: number | undefined } = {},
): Promise<string> {
  const { iterations = MIN_ITERATIONS } = options;
  checkIterations("hashPassword", iterations);
  const salt = crypto.getRandomValues(new Uint8Array(16));
  return [NAME, iterations, toBase64Url(salt), await derive(password, salt, iterations)].join("$");
}

/** Reads what {@link hashPassword} made. Throws `invalid-definition` for anything weaker, without repeating it. */
export function readPasswordHash(owner: string, text: string): PasswordHash {
  const [name, count = "", salted = "", key = "", ...more] = text.split("$");
  const salt = fromBase64Url(salted);
  if (name !== NAME || !/^\d{1,9}$/.test(count) || salt === undefined || salt.length < 16 || more.length > 0) {
    throw new McpError("invalid-definition", `${owner}: hash must be one of hashPassword`);
  }
  if (fromBase64Url(key)?.length !== 32) throw new McpError("invalid-definition", `${owner}: hash is cut off`);
  checkIterations(owner, Number(count));
  return { iterations: Number(count), salt, key };
}

/** A hash that no password has, and that takes as long as another to find out. */
export function nobodysHash(iterations: number): PasswordHash {
  const random = crypto.getRandomValues(new Uint8Array(48));
  return { iterations, salt: random.slice(0, 16), key: toBase64Url(random.slice(16)) };
}

export async function isPassword(password: string, { iterations, salt, key }: PasswordHash): Promise<boolean> {
  return equalsInConstantTime(await derive(password, salt, iterations), key);
}

async function derive(password: string, salt: Uint8Array<ArrayBuffer>, iterations: number): Promise<string> {
  const secret = await crypto.subtle.importKey("raw", new TextEncoder().encode(password), "PBKDF2", false, [
    "deriveBits",
  ]);
  const algorithm = { name: "PBKDF2", hash: "SHA-256", salt, iterations };
  return toBase64Url(new Uint8Array(await crypto.subtle.deriveBits(algorithm, secret, 256)));
}

function checkIterations(owner: string, iterations: number): void {
  if (iterations >= MIN_ITERATIONS && iterations <= MAX_ITERATIONS) return;
  throw new McpError("invalid-definition", `${owner}: a hash takes ${MIN_ITERATIONS} to ${MAX_ITERATIONS} iterations`);
}
