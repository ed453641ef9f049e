import type { JsonObject } from "../json/json.ts";
import type { Icon } from "./content.ts";
import type { Revision } from "./revision.ts";
import type { KnownSession } from "./state.ts";

/** Names a program. Stated, never verified: decide nothing by it. */
export interface Implementation {
  readonly name: string;
  readonly version: string;
  readonly title?: string;
  readonly description?: string;
  readonly websiteUrl?: string;
  readonly icons?: readonly Icon[];
}

/** Extensions by identifier, each with its settings. */
export type Extensions = Readonly<Record<string, JsonObject>>;

/** A capability counts when its key is present. Unknown members are kept. */
export interface ClientCapabilities {
  readonly experimental?: JsonObject;
  readonly roots?: { readonly listChanged?: boolean };
  readonly sampling?: { readonly tools?: JsonObject; readonly context?: JsonObject };
  /** Empty means forms only. */
  readonly elicitation?: { readonly form?: JsonObject; readonly url?: JsonObject };
  readonly extensions?: Extensions;
}

export interface ServerCapabilities {
  readonly experimental?: JsonObject;
  readonly logging?: JsonObject;
  readonly completions?: JsonObject;
  readonly prompts?: { readonly listChanged?: boolean };
  readonly resources?: { readonly subscribe?: boolean; readonly listChanged?: boolean };
  readonly tools?: { readonly listChanged?: boolean };
  readonly extensions?: Extensions;
}

/**
 * The claims of callers that handlers rely on. Empty until you extend it, once for a whole program. From then on
 * `ctx.auth.claims` has its members, and authenticators must return them.
 *
 * @example declare module "plugbay/server" { interface AuthClaims { readonly tenant: string; } }
 */
// biome-ignore lint/suspicious/noEmptyInterface: its members are those of the program that uses it
export interface AuthClaims {}

/** Claims as handlers see them: any JSON, until {@link AuthClaims} says more. */
export type KnownClaims = [keyof AuthClaims] extends [never] ? JsonObject : AuthClaims;

/** A verified identity, set by the authenticator. Claims may be left out where none are required. */
export type Auth<C = KnownClaims> = Identity &
  (Record<never, never> extends C ? { readonly claims?: C } : { readonly claims: C });

/** An identity that will do for handlers: with any claims, until {@link AuthClaims} says more. */
export type NeededAuth = Auth<[keyof AuthClaims] extends [never] ? object : AuthClaims>;

export interface Identity {
  /** The id of the caller: stable and unique within the issuer. */
  readonly principal: string;
  readonly scopes?: readonly string[];
  /** Resolves with an access token of the identity provider, where users sign in through `oauthProxy`. */
  readonly [upstreamToken]?: () => Promise<string>;
}

/** The member of an identity that returns tokens of its provider. A symbol, so that it is never in JSON. */
export const upstreamToken: unique symbol = Symbol("upstreamToken");

/**
 * The member of a client that refers to its session. A symbol, so that it is never in JSON, because the id of a session
 * may be enough to use it.
 */
export const session: unique symbol = Symbol();

/** The client as stated on this request. Nothing here outlives the call. */
export interface ClientInfo {
  readonly revision: Revision;
  readonly info?: Implementation;
  readonly capabilities: ClientCapabilities;
  readonly auth?: Auth;
  /** Of clients that have sessions. */
  readonly [session]?: KnownSession | undefined;
}

/** True when the client can show forms: `{}` means forms, `{ url }` alone does not. */
export function canShowForms({ elicitation }: ClientCapabilities): boolean {
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
}
