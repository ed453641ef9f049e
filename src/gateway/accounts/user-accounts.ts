import { McpError } from "../../protocol/errors.ts";
import type { AccountCredentials } from "./account-credentials.ts";
import type { AccountKey } from "./account-records.ts";
import type { Accounts } from "./accounts.ts";
import type { KeyCredentials, UserCredentials } from "./vault-options.ts";

/** The account of a user at a server. There are no secrets in it. */
export interface Account {
  readonly server: string;
  /** How it is connected: by signing in there, or by a key that the user enters. */
  readonly kind: "user" | "key";
  /** `expired`: the server takes what is kept no more, and the user has to connect it again. */
  readonly state: "connected" | "expired" | "none";
  /** Since when, in milliseconds of the time of day. */
  readonly since?: number;
}

/** The accounts of one user, at all servers that have some. */
export interface UserAccounts {
  list(): Promise<readonly Account[]>;
  /**
   * Forgets what is kept of an account, and revokes its tokens at the authorization server of the server. Rejects when they
   * could not be revoked; they are forgotten all the same. False when none was connected.
   */
  disconnect(server: string): Promise<boolean>;
  /** Where the user connects an account. The link is for this user, for some minutes, and good once. */
  linkUrl(server: string): Promise<string>;
}

interface UserAccountsOptions {
  readonly principal: string;
  readonly servers: ReadonlyMap<string, UserCredentials | KeyCredentials>;
  readonly accounts: Accounts;
  readonly credentials: AccountCredentials;
  urlOf(server: string): string | undefined;
  linkFor(key: AccountKey): Promise<string>;
}

export function createUserAccounts(options: UserAccountsOptions): UserAccounts {
  const { principal, servers, accounts, credentials, urlOf, linkFor } = options;

  const placeOf = (server: string): { readonly url: string; readonly given: UserCredentials | KeyCredentials } => {
    const [url, given] = [urlOf(server), servers.get(server)];
    if (url !== undefined && given !== undefined) return { url, given };
    const message = `there is no server ${JSON.stringify(server)} that users connect accounts of; there are: ${[...servers.keys()].join(", ") || "none"}`;
    throw new McpError("invalid-params", message, { data: { reason: "unknown-server" } });
  };

  return {
    async list() {
      const known = [...servers].filter(([server]) => urlOf(server) !== undefined);
      return Promise.all(
        known.map(async ([server, { kind }]): Promise<Account> => {
          const found = await accounts.find({ principal, server }, placeOf(server).url);
          return { server, kind, ...(found ? { state: found.state, since: found.at } : { state: "none" }) };
        }),
      );
    },
    async disconnect(server) {
      const { url, given } = placeOf(server);
      const key = { principal, server };
      const found = await accounts.find(key, url);
      if (found === undefined) return false;
      await accounts.forget(key);
      if (given.kind === "user") await credentials.ofUser(key, url, given, found).signOut(url);
      return true;
    },
    async linkUrl(server) {
      placeOf(server);
      return linkFor({ principal, server });
    },
  };
}
