import { exportJWK, generateKeyPair, importJWK, type JWK, SignJWT } from "jose";
import { type CryptoKeyPair, DPoP, type DPoPHandle } from "oauth4webapi";
import { digestText } from "../../std/digest.ts";

/** A request that a proof is for. */
interface ProvenRequest {
  readonly method: string;
  readonly url: URL;
}

/** The key that tokens are bound to (RFC 9449), and the nonces that servers want to see. */
export interface DpopKey {
  /** For the authorization server. */
  readonly handle: DPoPHandle;
  /** The private key, to be kept with the tokens. */
  readonly jwk: JWK;
  /** A proof for one request with a token. Use it once. */
  prove(request: ProvenRequest, accessToken: string): Promise<string>;
  /** Called with the nonce that a server requires next. */
  learn(url: URL, nonce: string | undefined): void;
}

const alg = "ES256";

/** A new key. */
export async function createDpopKey(now: () => number): Promise<DpopKey> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  return toDpopKey(await exportJWK(privateKey), now);
}

/** The key that was kept. Rejects when it is none. */
export async function toDpopKey(jwk: JWK, now: () => number): Promise<DpopKey> {
  const { kty, crv, x, y } = jwk;
  const open = { kty, crv, x, y } as JWK;
  const keys = { privateKey: await importJWK(jwk, alg), publicKey: await importJWK(open, alg, { extractable: true }) };
  const handle = DPoP({}, keys as CryptoKeyPair);
  const nonces = new Map<string, string>();

  return {
    handle,
    jwk,
    async prove({ method, url }, accessToken) {
      const nonce = nonces.get(url.origin);
      const claims = {
        jti: crypto.randomUUID(),
        htm: method,
        htu: `${url.origin}${url.pathname}`,
        iat: Math.floor(now() / 1000),
        ath: await digestText(accessToken),
        ...(nonce !== undefined && { nonce }),
      };
      const header = { alg, typ: "dpop+jwt", jwk: open };
      return new SignJWT(claims).setProtectedHeader(header).sign(keys.privateKey);
    },
    learn(url, nonce) {
      if (nonce !== undefined && nonce.length <= maxNonceLength) nonces.set(url.origin, nonce);
    },
  };
}

const maxNonceLength = 1_024;

/** A short name for a list of texts: equal for equal lists, and for no others. */
export async function nameOf(...parts: readonly string[]): Promise<string> {
  return digestText(JSON.stringify(parts));
}

/** Compares two texts in constant time. */
export function equalsInConstantTime(a: string, b: string): boolean {
  let difference = a.length ^ b.length;
  for (let index = 0; index < a.length; index++)
    difference |= a.charCodeAt(index) ^ b.charCodeAt(index % (b.length || 1));
  return difference === 0;
}
