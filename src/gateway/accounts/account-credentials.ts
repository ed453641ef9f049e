import { createAuthorizer, type TokenAuthorizer } from "../../auth/client/authorizer.ts";
import { readScopes, tokenChallenge } from "../../auth/client/challenge.ts";
import type { Grant } from "../../auth/client/grant.ts";
import { createClientCredentials } from "../../auth/client/machine-grants.ts";
import { unauthorized } from "../../auth/client/problems.ts";
import { createTokenExchange } from "../../auth/client/token-exchange.ts";
import type { ClientIdentity } from "../../auth/client/token-request.ts";
import { nodeHop } from "../../auth/node/node-hop.ts";
import type { Authorizer } from "../../protocol/authorizer.ts";
import type { Clock } from "../../std/clock.ts";
import type { AccountClient, AccountKey, AccountRecord, AccountRecords } from "./account-records.ts";
import type { Accounts } from "./accounts.ts";
import type {
  AccountEvent,
  ClientCredentials,
  ExchangeCredentials,
  KeyCredentials,
  UserCredentials,
} from "./vault-options.ts";

interface AccountCredentialsOptions {
  readonly accounts: Accounts;
  readonly records: AccountRecords;
  readonly clock: Clock;
  onEvent(event: AccountEvent): void;
}

/** What the gateway shows servers, in the name of its callers. */
export interface AccountCredentials {
  /** The tokens of one account, kept fresh. It asks nobody: an account that has no token any more is expired. */
  ofUser(key: AccountKey, url: string, given: UserCredentials, known?: AccountRecord): TokenAuthorizer;
  /** The key of one account. It is read for every request, so that one that was taken away is used no more. */
  ofKey(key: AccountKey, url: string, given: KeyCredentials): Authorizer;
}

const platform = { hop: nodeHop };

export function createAccountCredentials(options: AccountCredentialsOptions): AccountCredentials {
  const { accounts, records, clock, onEvent } = options;
  return {
    ofUser(key, url, given, known) {
      const load = async (): Promise<TokenAuthorizer> => {
        const found = known ?? (await accounts.find(key, url));
        return createAuthorizer(
          {
            tokens: records.tokensOf(key),
            scopes: given.scopes,
            allowPrivateNetwork: given.allowPrivateNetwork,
            clock,
            onEvent: ({ kind }) => kind === "refreshed" && onEvent({ kind, ...key }),
          },
          userGrant(found?.client, given),
          platform,
        );
      };
      let loading: Promise<TokenAuthorizer> | undefined;
      const loaded = (): Promise<TokenAuthorizer> => {
        loading ??= load().catch((error: unknown) => {
          // The store may be back for the next request.
          loading = undefined;
          throw error;
        });
        return loading;
      };
      return expiring(loaded, (scopes) => accounts.expire(key, scopes));
    },
    ofKey: (key, url, given) => keyAuthorizer(key, url, given, accounts),
  };
}

/** A token of the gateway itself, which all callers use. */
export function gatewayAuthorizer({ kind: _, ...given }: ClientCredentials, clock: Clock): Authorizer {
  return createClientCredentials({ ...given, clock }, platform);
}

/** A token for a caller, in exchange for the one it came with. */
export function exchangeAuthorizer(
  { kind: _, ...given }: ExchangeCredentials,
  clock: Clock,
  subjectToken: () => Promise<string>,
): Authorizer {
  return createTokenExchange({ ...given, subjectToken, clock }, platform);
}

/** The client as a token endpoint knows it. The key of one that has a key is in the options, and nowhere else. */
export function identityOf(client: AccountClient, { client: given }: UserCredentials): ClientIdentity {
  const { clientId, clientSecret, method } = client;
  const privateKey = given?.clientId === clientId ? given.privateKey : undefined;
  return { clientId, clientSecret, method, ...(privateKey !== undefined && { privateKey }) };
}

/** Tokens that were given before, by one issuer, to one client. Nobody can be asked for others here. */
function userGrant(client: AccountClient | undefined, given: UserCredentials): Grant {
  return {
    silent: false,
    issuer: client?.issuer,
    bound: true,
    async obtain() {
      throw unauthorized("interaction-required", "the account has to be connected again");
    },
    clientFor: (id) => (client?.clientId === id ? identityOf(client, given) : undefined),
  };
}

/** Tells when a server takes an account no more, or wants more of it. */
function expiring(
  load: () => Promise<TokenAuthorizer>,
  onExpired: (wanted?: readonly string[]) => Promise<void>,
): TokenAuthorizer {
  return {
    headers: async (request) => (await load()).headers(request),
    async refused(request, answer) {
      const { scope } = tokenChallenge(answer.header("www-authenticate"), undefined);
      try {
        return await (await load()).refused(request, answer, { interactive: false });
      } catch (error) {
        if (answer.status === 401) await onExpired();
        else if (answer.status === 403 && scope !== undefined) await onExpired(readScopes(scope));
        throw error;
      }
    },
    answered: (request, answer) =>
      void load().then(
        (it) => it.answered?.(request, answer),
        () => {},
      ),
    signIn: async (server) => (await load()).signIn(server),
    signOut: async (server) => (await load()).signOut(server),
  };
}

function keyAuthorizer(key: AccountKey, url: string, given: KeyCredentials, accounts: Accounts): Authorizer {
  const header = (given.header ?? "authorization").toLowerCase();
  const { prefix = header === "authorization" ? "Bearer " : "" } = given;
  const { origin } = new URL(url);
  return {
    async headers(request) {
      const found = await accounts.find(key, url);
      const isUsable = found?.state === "connected" && found.key !== undefined && request.url.origin === origin;
      return isUsable ? { [header]: `${prefix}${found.key}` } : {};
    },
    async refused(_, { status }) {
      if (status !== 401) return false;
      await accounts.expire(key);
      throw unauthorized("interaction-required", `${origin} does not take the key of this user`);
    },
  };
}
