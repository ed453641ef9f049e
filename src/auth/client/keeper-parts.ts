import type { SafeFetch } from "../safe-fetch.ts";
import type { Grant } from "./grant.ts";
import type { Vault } from "./vault.ts";

/** What happens to tokens, for logs and for users. There are no secrets in it. */
export interface AuthEvent {
  readonly kind: "authorizing" | "authorized" | "refreshed" | "refresh-refused" | "signed-out";
  /** The origin of the server that the token is for. */
  readonly server: string;
  readonly issuer: string;
}

/** What is needed to keep the token of one server. */
export interface KeeperParts {
  readonly server: URL;
  readonly grant: Grant;
  readonly vault: Vault;
  readonly fetch: SafeFetch;
  /** The scopes the user wants. */
  readonly wanted: readonly string[] | undefined;
  readonly dpop: boolean;
  /** Milliseconds of the time of day. */
  now(): number;
  onEvent(event: AuthEvent): void;
}
