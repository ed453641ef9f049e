import type { JsonObject } from "../../json/json.ts";
import type { UpstreamTokens } from "./provider-adapter.ts";

/** A client as it describes itself. Nothing of that is verified, but that the owner of `host` says so. */
export type RegisteredClient = {
  readonly clientId: string;
  readonly name: string;
  readonly redirectUris: readonly string[];
  /** Whether it wants refresh tokens. */
  readonly refreshes: boolean;
  /** The host of its metadata document, where it has one. */
  readonly host?: string;
};

/** What a user has granted a client: to use this server for them. */
export type GrantTerms = {
  readonly clientId: string;
  readonly principal: string;
  readonly claims: JsonObject;
  readonly scopes: readonly string[];
  readonly upstream: UpstreamTokens;
  /** Whether the client gets refresh tokens. */
  readonly refreshes: boolean;
};

/** A grant as it is kept, with digests of its tokens. Whoever has the record has none of them. */
export type Grant = GrantTerms & {
  /** When it ends unless it is used, in ms of the time of day. */
  readonly expires: number;
  readonly refresh: string | undefined;
  readonly access: readonly AccessToken[];
};

export interface AccessToken {
  readonly digest: string;
  readonly scopes: readonly string[];
  readonly expires: number;
}
