import { isObject, type JsonObject } from "../../json/json.ts";
import type { AuthRefusal } from "../../model/authenticator.ts";
import type { HttpFacts } from "../../std/http-facts.ts";
import type { Store } from "../../store/store.ts";
import { nameOf } from "../client/digest.ts";
import { createDpopNonces } from "./dpop-nonces.ts";
import { readProof } from "./dpop-proof.ts";
import { localProofs, sharedProofs } from "./dpop-replay.ts";

/** How tokens that are bound to a key are taken (RFC 9449). */
export interface DpopOptions {
  /** Whether tokens that are bound to no key are refused. Default false. */
  readonly required?: boolean;
  /** Whether proofs need a nonce of this server. A text is the secret that processes share for it. Default false. */
  readonly nonce?: boolean | string;
  /** Where used proofs are kept, so that no process takes one twice. Default: in memory. */
  readonly store?: Store | Promise<Store>;
  /** How old a proof may be, and how far ahead its clock. Default 60 s. */
  readonly maxAgeS?: number;
}

/** A token that is taken so far, and how it came. */
export interface Presented {
  readonly scheme: string;
  readonly token: string;
  readonly claims: JsonObject;
  readonly http: HttpFacts;
}

/** Finds out whether who sent a token has the key it is bound to. Undefined when all is well. */
export type CheckPossession = (presented: Presented) => Promise<AuthRefusal | undefined>;

export interface PossessionOptions extends DpopOptions {
  /** The URL of this server, as clients know it. */
  readonly resource?: string | undefined;
  now(): number;
}

export function createPossessionCheck(options: PossessionOptions): CheckPossession {
  const { required = false, nonce = false, store, maxAgeS = 60, resource, now } = options;
  const used = store === undefined ? localProofs(now) : sharedProofs(store);
  const nonces = nonce === false ? undefined : createDpopNonces(nonce === true ? undefined : nonce, now);

  const checkProof = async (jkt: string, { token, http }: Presented): Promise<AuthRefusal | undefined> => {
    const proof = await readProof({ http, resource, token, jkt, maxAgeS, nowS: now() / 1_000 });
    if (!proof.ok) return refuse("invalid_dpop_proof", proof.problem);
    if (nonces !== undefined && !(await nonces.accepts(proof.nonce))) {
      const headers = { "dpop-nonce": await nonces.current(), "cache-control": "no-store" };
      return { ...refuse("use_dpop_nonce", "the proof needs the nonce of this server"), headers };
    }
    // From when it could first be used until it cannot any more.
    const isFirst = await used.claim(await nameOf(jkt, proof.jti), 2_000 * maxAgeS);
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

function refuse(error: string, description: string): AuthRefusal {
  return { ok: false, status: 401, error, description, scheme: "DPoP" };
}
