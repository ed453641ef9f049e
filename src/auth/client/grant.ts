import type { SafeFetch } from "../safe-fetch.ts";
import type { ClientIdentity } from "./client-auth.ts";
import type { Discovery } from "./discovery.ts";
import type { DpopKey } from "./dpop.ts";
import type { TokenAnswer } from "./token-request.ts";
import type { Vault } from "./vault.ts";

/** What a token is asked for with. */
export interface GrantContext {
  readonly server: URL;
  readonly discovery: Discovery;
  readonly scopes: readonly string[];
  readonly fetch: SafeFetch;
  readonly dpop: DpopKey | undefined;
  readonly vault: Vault;
  /** Milliseconds of the time of day. */
  now(): number;
}

export interface Granted {
  readonly answer: TokenAnswer;
  /** Who it was given to. */
  readonly clientId: string;
  /** What was asked for in the end. */
  readonly scopes: readonly string[];
}

/** A way to a token. */
export interface Grant {
  /** Whether nobody has to be asked: then there is a token before the first request, and never an old one. */
  readonly silent: boolean;
  /** The only issuer whose tokens it can have. */
  readonly issuer?: string | undefined;
  /** Whether the client is known to one issuer only: the first that was seen. */
  readonly bound: boolean;
  obtain(context: GrantContext): Promise<Granted>;
  /** Who a token was given to, for a refresh. Undefined when that is not known any more. */
  clientFor(discovery: Discovery, clientId: string, vault: Vault): Promise<ClientIdentity | undefined>;
}
