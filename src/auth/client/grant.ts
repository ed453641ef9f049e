import type { SafeFetch } from "../safe-fetch.ts";
import type { Credentials, Registration } from "./credentials.ts";
import type { Discovery } from "./discovery.ts";
import type { DpopKey } from "./dpop.ts";
import type { ClientIdentity, TokenAnswer } from "./token-request.ts";

/** What a token is asked for with. */
export interface GrantContext {
  readonly server: URL;
  readonly discovery: Discovery;
  readonly scopes: readonly string[];
  readonly fetch: SafeFetch;
  readonly dpop: DpopKey | undefined;
  readonly credentials: Credentials;
  /** Milliseconds of the time of day. */
  now(): number;
}

export interface Granted {
  readonly answer: TokenAnswer;
  /** The client that it was given to. */
  readonly clientId: string;
  /** What was asked for in the end. */
  readonly scopes: readonly string[];
}

/** A way to a token. */
export interface Grant {
  /** Whether no user has to be asked: then there is a token before the first request, and never an expired one. */
  readonly silent: boolean;
  /** The only issuer whose tokens it can have. */
  readonly issuer?: string | undefined;
  /** Whether the client is known to one issuer only: the first that was seen. */
  readonly bound: boolean;
  obtain(context: GrantContext): Promise<Granted>;
  /** The client a token was given to, by its id; `registration` if it had to register. Undefined: not known any more. */
  clientFor(clientId: string, registration: Registration | undefined): ClientIdentity | undefined;
}

/** What happens to tokens, for logs and for users. There are no secrets in it. */
export interface AuthEvent {
  /** `save-failed`: the tokens are used, but could not be kept, so that the next process has to get others. */
  readonly kind: "authorizing" | "authorized" | "refreshed" | "refresh-refused" | "save-failed" | "signed-out";
  /** The origin of the server that the token is for. */
  readonly server: string;
  readonly issuer: string;
}

/** What is needed to keep the token of one server. */
export interface TokenManagerParts {
  readonly server: URL;
  readonly grant: Grant;
  readonly credentials: Credentials;
  readonly fetch: SafeFetch;
  /** The scopes the user wants. */
  readonly wanted: readonly string[] | undefined;
  readonly dpop: boolean;
  /** Milliseconds of the time of day. */
  now(): number;
  onEvent(event: AuthEvent): void;
}
