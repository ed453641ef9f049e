import { calculateJwkThumbprint, EmbeddedJWK, errors, type JWTPayload, jwtVerify } from "jose";
import { toBase64Url } from "../../std/base64.ts";
import type { HttpFacts } from "../../std/http-facts.ts";
import { equalsInConstantTime, sha256 } from "../client/digest.ts";
import { urlsOf } from "./request-url.ts";

/** Algorithms of proofs, as challenges and metadata name them. */
export const dpopAlgorithms: readonly string[] = ["ES256", "ES384", "ES512", "EdDSA", "Ed25519", "RS256", "PS256"];

/** What a proof has to be about. */
export interface ProofRules {
  readonly http: HttpFacts;
  /** The URL of this server, as clients know it. */
  readonly resource: string | undefined;
  readonly token: string;
  /** The thumbprint of the key that the token is bound to. */
  readonly jkt: string;
  readonly maxAgeS: number;
  readonly nowS: number;
}

/** A proof that holds, or what is wrong with it. */
export type Proof =
  | { readonly ok: true; readonly jti: string; readonly nonce: unknown }
  | { readonly ok: false; readonly problem: string };

/** Reads the proof of a request (RFC 9449, 4.3), but for its nonce and whether it was used before. */
export async function readProof(rules: ProofRules): Promise<Proof> {
  const text = rules.http.header("dpop");
  if (text === undefined) return no("the proof is missing");
  const opened = await open(text, rules);
  if (opened === undefined) return no("the proof is malformed or wrongly signed");
  const { payload, thumbprint } = opened;
  const { jti, nonce, ath } = payload;
  if (!isOfNow(payload, rules)) return no("the proof is not of now");
  if (!isForRequest(payload, rules)) return no("the proof is for another request");
  if (!isSame(ath, toBase64Url(await sha256(rules.token)))) return no("the proof is for another token");
  if (!isSame(thumbprint, rules.jkt)) return no("the proof is of another key");
  return typeof jti === "string" && jti !== "" ? { ok: true, jti, nonce } : no("the proof has no name");
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
