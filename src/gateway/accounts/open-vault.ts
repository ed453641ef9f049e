import { createBrowsers } from "../../auth/proxy/browser.ts";
import type { OwnConnections } from "../../host/own-connections.ts";
import { AuthenticatedHttp, type AuthRoute } from "../../protocol/authenticator.ts";
import { type Auth, upstreamToken } from "../../protocol/peer.ts";
import { type CallOf, inPlaceOf, type Service } from "../../protocol/service.ts";
import { createQuestionRuns } from "../../server/question-runs.ts";
import type { Clock } from "../../std/clock.ts";
import type { Store } from "../../store/store.ts";
import { connectionOwnerOf } from "../connection-owner.ts";
import { createAccountChanges } from "./account-changes.ts";
import { type Reconnecting, withAccounts } from "./account-connections.ts";
import { createAccountCredentials } from "./account-credentials.ts";
import { gateByAccounts } from "./account-gate.ts";
import { type AccountKey, createAccountRecords } from "./account-records.ts";
import { createAccounts } from "./accounts.ts";
import { identitiesBy, identitiesOf } from "./browser-identity.ts";
import { createLinkRoutes } from "./link-routes.ts";
import { callbackPath, createLinks } from "./links.ts";
import { createServerCredentials, type ServerCredentialsSource } from "./server-credentials.ts";
import { createSubjectTokens } from "./subject-tokens.ts";
import { createUpstreamSignIn } from "./upstream-sign-in.ts";
import { createUserAccounts, type UserAccounts } from "./user-accounts.ts";
import type { KeyCredentials, UserCredentials, VaultSettings } from "./vault-options.ts";

/** The credentials that callers of a gateway have at its servers, at work. */
export interface OpenVault extends ServerCredentialsSource {
  /** Whether callers have connections of their own to a server, because they have credentials of their own there. */
  isPersonal(server: string): boolean;
  /** Whether a server is shown a token that was given in exchange for that of the caller. */
  isExchanging(server: string): boolean;
  /** Connections of callers: a caller without an account has no lists of its server, and hears when it has one. */
  around<C extends OwnConnections & Reconnecting>(own: C): C;
  /** A service that asks for the accounts that calls need: all of them of one server, if that is given. */
  gate<S extends Service>(service: S, only?: string): S;
  readonly routes: Readonly<Record<string, AuthRoute>>;
  accountsOf(principal: string): UserAccounts;
  close(): Promise<void>;
}

interface OpenVaultOptions {
  readonly store: () => Promise<Store>;
  readonly isShared: boolean;
  readonly audience: string;
  /** What the gateway is called where it registers. */
  readonly name: string;
  readonly stateKeys: readonly string[];
  readonly clock: Clock;
}

export function openVault(settings: VaultSettings, options: OpenVaultOptions): OpenVault {
  const parts = createParts(settings, options);
  const { accounts, changes, credentials, linked, urls, runs, routes, linkFor } = parts;
  const { servers, connectTimeoutMs, linkTtlMs } = settings;
  const urlOf = (server: string): string | undefined => urls.get(server);
  const subjects = createSubjectTokens();
  const isExchanging = (server: string): boolean => servers.get(server)?.kind === "exchange";
  const { shape, credentialsOf } = createServerCredentials({
    servers,
    urls,
    credentials,
    subjects,
    clock: options.clock,
  });

  return {
    shape,
    isPersonal: (server) => linked.has(server) || isExchanging(server),
    isExchanging,
    credentialsOf,
    around: (own) => withAccounts(own, { accounts, changes, urlOf, servers: new Set(linked.keys()) }),
    gate(service, only) {
      const gated = gateByAccounts(service, {
        ...{ accounts, runs, urlOf, connectTimeoutMs, linkTtlMs },
        servers: [...linked.keys()],
        only,
        linkFor: ({ peer: { auth } }, key) => linkFor(key, nameOfUser(auth) ?? key.principal),
      });
      const remembering: Service = (call) => {
        subjects.remember(connectionOwnerOf(call).key, tokenSourceOf(call));
        return gated(call);
      };
      return inPlaceOf(service, [...servers.keys()].some(isExchanging) ? remembering : gated);
    },
    routes,
    accountsOf: (principal) =>
      createUserAccounts({
        ...{ principal, servers: linked, accounts, credentials, urlOf },
        linkFor: (key) => linkFor(key, principal),
      }),
    close: changes.close,
  };
}

function createParts(settings: VaultSettings, options: OpenVaultOptions) {
  const { origin, keys, servers, linkTtlMs, onEvent, identify } = settings;
  const { store, isShared, audience, name: clientName, clock } = options;
  const { date: now = Date.now } = clock;
  /** Where servers are that have credentials of callers. */
  const urls = new Map<string, string>();
  const linked = new Map([...servers].filter(isLinked));
  const records = createAccountRecords({ store, keys, origin, clock });
  const changes = createAccountChanges(store);
  const accounts = createAccounts({ records, changes, clock, now, onEvent });
  const links = createLinks({ origin, keys, ttlMs: linkTtlMs, now });
  const browsers = createBrowsers(origin.startsWith("https:"));
  const redirectUri = (server: string): string => `${origin}${callbackPath(server)}`;
  const upstream = createUpstreamSignIn({ records, accounts, clock, clientName, redirectUri, now });
  const identities =
    typeof identify === "function"
      ? identitiesBy(identify)
      : identify && identitiesOf(identify, { origin, keys, records, browsers, now });
  const stateKeys = options.stateKeys.length > 0 ? options.stateKeys : keys;

  return {
    urls,
    linked,
    changes,
    accounts,
    credentials: createAccountCredentials({ accounts, records, clock, onEvent }),
    runs: createQuestionRuns({ store, isShared, audience: `${audience} accounts`, stateKeys, clock }),
    routes: createLinkRoutes({
      ...{ origin, links, records, accounts, browsers, identities, upstream, linkTtlMs, now },
      servers: linked,
    }),
    async linkFor({ principal, server }: AccountKey, who: string): Promise<string> {
      const url = urls.get(server) ?? "";
      const found = await accounts.find({ principal, server }, url);
      return links.make({ principal, server, url, who, scopes: found?.wanted });
    },
  };
}

function isLinked(
  entry: readonly [string, { readonly kind: string }],
): entry is [string, UserCredentials | KeyCredentials] {
  return entry[1].kind === "user" || entry[1].kind === "key";
}

/** The user, as a person would call themselves. What the user can choose freely comes last. */
function nameOfUser(auth: Auth | undefined): string | undefined {
  const { email, preferred_username, login, name } = (auth?.claims ?? {}) as Readonly<Record<string, unknown>>;
  return [email, preferred_username, login, name].find(
    (text): text is string => typeof text === "string" && text !== "",
  );
}

/** What a caller has come with: its token of the identity provider where the gateway has one, else the token that it sent. */
function tokenSourceOf({ peer: { auth }, http }: CallOf): (() => Promise<string>) | undefined {
  const provider = auth?.[upstreamToken];
  if (provider !== undefined) return provider;
  const token =
    http instanceof AuthenticatedHttp ? /^bearer +(\S+)$/i.exec(AuthenticatedHttp.shown(http) ?? "")?.[1] : undefined;
  return token === undefined || auth === undefined ? undefined : async () => token;
}
