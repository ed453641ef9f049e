import { calculateJwkThumbprint, EmbeddedJWK, errors, type JWTPayload, jwtVerify } from "jose";
import { isObject, type JsonObject } from "../../json/json.ts";
import type { AuthRejection } from "../../protocol/authenticator.ts";
import { McpError } from "../../protocol/errors.ts";
import { digestText } from "../../std/digest.ts";
import type { HttpRequestInfo } from "../../std/http-request-info.ts";
import type { Store } from "../../store/store.ts";
import { equalsInConstantTime, nameOf } from "../client/dpop.ts";
import { urlsOf } from "./authorization.ts";
import { createUsedProofs } from "./proofs.ts";
import { createHmac } from "./secrets.ts";

/** How tokens that are bound to a key are taken (RFC 9449). */
export interface DpopOptions {
  /** Whether tokens that are bound to no key are refused. Default false. */
  readonly required?: boolean | undefined;
  /** Whether proofs need a nonce of this server. A text is the secret that processes share for it. Default false. */
  readonly nonce?: boolean | string | undefined;
  /** Where used proofs are kept, so that no process takes one twice. Default: in memory. */
  readonly store?: Store | Promise<Store> | undefined;
  /**
   * How many used proofs one process remembers where no store is given. One principal may have a quarter of them; one more is
   * refused with 429 and `Retry-After`. Default 100,000.
   */
  readonly maxProofs?: number | undefined;
  /** How old a proof may be, and how far ahead its clock. Default 60 s. */
  readonly maxAgeMs?: number | undefined;
}

const MAX_PROOFS = 100_000;
/** Within one process a proof is remembered just until it is too old; where clocks may differ, that much longer. */
const SPARE_MS = 1_000;

/** A token that is taken so far, and how it came. */
interface Presented {
  readonly scheme: string;
  readonly token: string;
  readonly principal: string;
  readonly claims: JsonObject;
  readonly http: HttpRequestInfo;
}

/** Checks that the sender of a token has the key that it is bound to. Undefined when it has. */
type CheckPossession = (presented: Presented) => Promise<AuthRejection | undefined>;

interface PossessionOptions extends DpopOptions {
  /** The URL of this server, as clients know it. */
  readonly resource?: string | undefined;
  now(): number;
}

export function createPossessionCheck(options: PossessionOptions): CheckPossession {
  const { required = false, nonce = false, maxAgeMs = 60_000, resource, now } = options;
  const { store, maxProofs = MAX_PROOFS } = options;
  checkMaxProofs(maxProofs);
  const used = createUsedProofs({ store, maxProofs, now });
  const spareMs = store === undefined ? SPARE_MS : maxAgeMs;
  const nonces = nonce === false ? undefined : createDpopNonces(nonce === true ? undefined : nonce, now);

  const checkProof = async (jkt: string, { token, principal, http }: Presented): Promise<AuthRejection | undefined> => {
    const proof = await readProof({ http, resource, token, jkt, maxAgeS: maxAgeMs / 1_000, nowS: now() / 1_000 });
    if (!proof.ok) return refuse("invalid_dpop_proof", proof.problem);
    if (nonces !== undefined && !(await nonces.accepts(proof.nonce))) {
      const headers = { "dpop-nonce": await nonces.current(), "cache-control": "no-store" };
      return { ...refuse("use_dpop_nonce", "the proof needs the nonce of this server"), headers };
    }
    const ttlMs = proof.iat * 1_000 + maxAgeMs - now() + spareMs;
    const isFirst = await used.claim(principal, await nameOf(jkt, proof.jti), ttlMs);
    return isFirst ? undefined : refuse("invalid_dpop_proof", "the proof was used before");
  };

  return async (presented) => {
    const { cnf } = presented.claims;
    const isProven = presented.scheme === "dpop";
    if (cnf === undefined) {
      if (required) return refuse("invalid_token", "the token must be bound to a key");
      return isProven ? refuse("invalid_token", "the token is bound to no key; send it as Bearer") : undefined;
    }
    const jkt = isObject(cnf) ? cnf.jkt : undefined;
    if (typeof jkt !== "string") return refuse("invalid_token", "the token is bound in a way that is not known here");
    if (!isProven) return refuse("invalid_token", "the token is bound to a key; send it as DPoP, with a proof");
    return checkProof(jkt, presented);
  };
}

function checkMaxProofs(maxProofs: number): void {
  if (Number.isSafeInteger(maxProofs) && maxProofs >= 4) return;
  throw new McpError("invalid-definition", `dpop.maxProofs must be a whole number of at least 4, not ${maxProofs}`);
}

function refuse(error: string, description: string): AuthRejection {
  return { ok: false, status: 401, error, description, scheme: "DPoP" };
}

/** Nonces that a server wants to see in proofs, so that none can be made long before it is used. Nothing is kept. */
interface DpopNonces {
  current(): Promise<string>;
  accepts(nonce: unknown): Promise<boolean>;
}

/** A nonce is good for one to two of these. */
const STEP_MS = 150_000;

/** All processes that have the same secret take the nonces of each other. */
function createDpopNonces(secret: string | undefined, now: () => number): DpopNonces {
  const hmac = createHmac(secret);
  const nonceOf = (step: number): Promise<string> => hmac(`dpop-nonce ${step}`);
  return {
    current: () => nonceOf(Math.floor(now() / STEP_MS)),
    async accepts(nonce) {
      if (typeof nonce !== "string") return false;
      const step = Math.floor(now() / STEP_MS);
      const [newer, older] = await Promise.all([nonceOf(step), nonceOf(step - 1)]);
      const isNewer = equalsInConstantTime(nonce, newer);
      return equalsInConstantTime(nonce, older) || isNewer;
    },
  };
}

/** Algorithms of proofs, as challenges and metadata name them. */
export const dpopAlgorithms: readonly string[] = ["ES256", "ES384", "ES512", "EdDSA", "Ed25519", "RS256", "PS256"];

/** What a proof has to be about. */
interface ProofRules {
  readonly http: HttpRequestInfo;
  /** The URL of this server, as clients know it. */
  readonly resource: string | undefined;
  readonly token: string;
  /** The thumbprint of the key that the token is bound to. */
  readonly jkt: string;
  readonly maxAgeS: number;
  readonly nowS: number;
}

/** A proof that holds, or what is wrong with it. */
type Proof =
  | { readonly ok: true; readonly jti: string; readonly iat: number; readonly nonce: unknown }
  | { readonly ok: false; readonly problem: string };

/** Reads the proof of a request (RFC 9449, 4.3), but for its nonce and whether it was used before. */
async function readProof(rules: ProofRules): Promise<Proof> {
  const text = rules.http.header("dpop");
  if (text === undefined) return no("the proof is missing");
  const opened = await open(text, rules);
  if (opened === undefined) return no("the proof is malformed or wrongly signed");
  const { payload, thumbprint } = opened;
  const { jti, iat = 0, nonce, ath } = payload;
  if (!isOfNow(payload, rules)) return no("the proof is not of now");
  if (!isForRequest(payload, rules)) return no("the proof is for another request");
  if (!isSame(ath, await digestText(rules.token))) return no("the proof is for another token");
  if (!isSame(thumbprint, rules.jkt)) return no("the proof is of another key");
  return typeof jti === "string" && jti !== "" ? { ok: true, jti, iat, nonce } : no("the proof has no name");
}

interface Opened {
  readonly payload: JWTPayload;
  readonly thumbprint: string;
}

/** Undefined when it is none, or not signed with the key it names. */
async function open(proof: string, { maxAgeS, nowS }: ProofRules): Promise<Opened | undefined> {
  try {
    const { payload, protectedHeader } = await jwtVerify(proof, EmbeddedJWK, {
      typ: "dpop+jwt",
      algorithms: [...dpopAlgorithms],
      clockTolerance: maxAgeS,
      requiredClaims: ["jti", "htm", "htu", "iat", "ath"],
      currentDate: new Date(nowS * 1_000),
    });
    return { payload, thumbprint: await calculateJwkThumbprint(protectedHeader.jwk ?? {}) };
  } catch (error) {
    // A key that the platform cannot read is no fault of ours either.
    const isTheirs = [errors.JOSEError, TypeError, DOMException].some((kind) => error instanceof kind);
    if (isTheirs) return undefined;
    throw error;
  }
}

function isOfNow({ iat = 0 }: JWTPayload, { maxAgeS, nowS }: ProofRules): boolean {
  return Math.abs(nowS - iat) <= maxAgeS;
}

function isForRequest({ htm, htu }: JWTPayload, { http, resource }: ProofRules): boolean {
  if (htm !== http.method || typeof htu !== "string" || !URL.canParse(htu)) return false;
  const { origin, pathname } = new URL(htu);
  return urlsOf(http, resource).includes(`${origin}${pathname}`);
}

function isSame(claim: unknown, wanted: string): boolean {
  return typeof claim === "string" && equalsInConstantTime(claim, wanted);
}

function no(problem: string): Proof {
  return { ok: false, problem };
}

/** Things to be remembered for a while, within bounds: the oldest go first. */
interface Recent<V> {
  get(name: string): V | undefined;
  set(name: string, value: V, ttlMs: number): void;
  delete(name: string): void;
}

interface RecentOptions {
  readonly max: number;
  now(): number;
}

export function createRecent<V>({ max, now }: RecentOptions): Recent<V> {
  const kept = new Map<string, { readonly value: V; readonly until: number }>();
  return {
    get(name) {
      const found = kept.get(name);
      if (found === undefined || found.until > now()) return found?.value;
      kept.delete(name);
      return undefined;
    },
    set(name, value, ttlMs) {
      kept.delete(name);
      kept.set(name, { value, until: now() + ttlMs });
      const [oldest] = kept.keys();
      if (kept.size > max && oldest !== undefined) kept.delete(oldest);
    },
    delete: (name) => void kept.delete(name),
  };
}
