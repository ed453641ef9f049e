import { type TokenStore, withLease } from "../../auth/client/token-store.ts";
import { createRecords, type Records } from "../../auth/proxy/records.ts";
import type { UpstreamRequest } from "../../auth/proxy/upstream.ts";
import type { Clock } from "../../std/clock.ts";
import { digestText } from "../../std/digest.ts";
import type { Store } from "../../store/store.ts";

/** A user, and a server where that user has an account. */
export interface AccountKey {
  readonly principal: string;
  readonly server: string;
}

/** The client that tokens of an account were given to. */
export interface AccountClient {
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly method?: string;
  readonly issuer: string;
}

/** What is known of an account. Its tokens are records of their own. */
export interface AccountRecord {
  /** `expired`: the server takes what is kept no more. */
  readonly state: "connected" | "expired";
  /** The server it is for: a record is of no use for a server at another URL. */
  readonly url: string;
  /** Since when, in milliseconds of the time of day. */
  readonly at: number;
  /** Scopes that the server wants besides, for something that the user has called. */
  readonly wanted?: readonly string[];
  readonly client?: AccountClient;
  /** What the user has entered, where that is a key. */
  readonly key?: string;
}

/** What a link says, and who it is for. */
export interface Ticket extends AccountKey {
  readonly id: string;
  readonly url: string;
  /** The user, as a person would call themselves. */
  readonly who: string;
  /** Scopes to ask for besides. */
  readonly scopes: readonly string[];
  /** In milliseconds of the time of day. */
  readonly expires: number;
}

/** A user who was sent to the authorization server of a server. */
export interface PendingLink {
  readonly ticket: Ticket;
  readonly state: string;
  readonly verifier: string;
  /** The digest of what the browser is known by that has to come back. */
  readonly browser: string;
  readonly resource: string;
  readonly metadataUrl?: string;
  readonly scopes: readonly string[];
  readonly client: AccountClient;
}

/** A user who was sent to the identity provider, to show who uses the browser. */
export interface PendingIdentity {
  readonly upstream: UpstreamRequest;
  readonly browser: string;
  /** Where to go on, below the origin. */
  readonly next: string;
}

interface VaultRecordTypes {
  /** By the digest of user and server. */
  readonly account: AccountRecord;
  /** Tokens, by that digest and their name. */
  readonly token: { readonly text: string };
  /** What the gateway is registered as, by server and name. */
  readonly client: { readonly text: string };
  /** By the digest of the state. */
  readonly link: PendingLink;
  readonly identity: PendingIdentity;
  /** Links that were used, by their id. */
  readonly used: { readonly at: number };
}

/** What a gateway keeps of accounts, encrypted. The name of a record has its user and its server in it, and is part of what is checked. */
export interface AccountRecords extends Pick<Records<VaultRecordTypes>, "get" | "put" | "delete"> {
  idOf(key: AccountKey): Promise<string>;
  /** The tokens of an account. */
  tokensOf(key: AccountKey): TokenStore;
  /** What the gateway itself is known as at the authorization server of a server. */
  clientsOf(server: string): TokenStore;
  /** Counts something that is done by a user, or with a link. False when there was too much of it in the last minutes. */
  take(what: string, by: string): Promise<boolean>;
}

interface AccountRecordsOptions {
  readonly store: () => Promise<Store>;
  /** The first encrypts, all open. */
  readonly keys: readonly string[];
  readonly origin: string;
  readonly clock: Clock;
}

/** More than a person does in ten minutes. */
const MAX_TAKES = 30;
const TAKES_TTL_MS = 600_000;

export function createAccountRecords({ store, keys, origin, clock }: AccountRecordsOptions): AccountRecords {
  const records = createRecords<VaultRecordTypes>({
    store,
    keys,
    resource: origin,
    prefix: "vault",
    lasting: ["account", "token", "client"],
  });
  const idOf = ({ principal, server }: AccountKey): Promise<string> => digestText(JSON.stringify([principal, server]));

  const texts = (kind: "token" | "client", scope: () => Promise<string>): TokenStore => {
    const named = async (name: string): Promise<string> => `${await scope()}:${name}`;
    return {
      get: async (name) => (await records.get(kind, await named(name)))?.value.text,
      async set(name, text) {
        await records.put(kind, await named(name), { text }, {});
      },
      async delete(name) {
        await records.delete(kind, await named(name));
      },
      exclusive: async (name, task) => withLease(await store(), `vault:lock:${kind}:${await named(name)}`, task, clock),
    };
  };

  return {
    ...records,
    idOf,
    tokensOf: (key) => texts("token", () => idOf(key)),
    clientsOf: (server) => texts("client", () => digestText(server)),
    async take(what, by) {
      const name = `vault:${what}:${await digestText(by)}`;
      return (await (await store()).values.add(name, 1, TAKES_TTL_MS)) <= MAX_TAKES;
    },
  };
}
