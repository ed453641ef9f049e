import { dialEntry } from "../connect/connect-entries.ts";
import type { Host } from "../host/host.ts";
import { type HostSource, type OpenHostOptions, openHostOptionNames, openHostWith } from "../host/node/open-host.ts";
import type { ResultLimits } from "../host/results.ts";
import { McpError } from "../protocol/errors.ts";
import { checkOptionNames, type OptionNames } from "../protocol/option-names.ts";
import { ownInfo } from "../protocol/own-info.ts";
import type { ServerEvent } from "../protocol/server-event.ts";
import type { ServiceViews } from "../protocol/service.ts";
import type { SessionHooks } from "../protocol/session.ts";
import { readStateKeys } from "../protocol/state-keys.ts";
import { telemetryOf } from "../protocol/telemetry.ts";
import { createQuestionRuns } from "../server/question-runs.ts";
import { storeOf } from "../server/store-of.ts";
import { toBase64Url } from "../std/base64.ts";
import { systemClock } from "../std/clock.ts";
import { defined } from "../std/defined.ts";
import { lazy } from "../std/lazy.ts";
import { scopedStore } from "../store/scoped-store.ts";
import type { Store } from "../store/store.ts";
import { type OpenVault, openVault } from "./accounts/open-vault.ts";
import type { UserAccounts } from "./accounts/user-accounts.ts";
import { readVault, type Vault } from "./accounts/vault-options.ts";
import type { GatewayApprovals } from "./approval.ts";
import {
  type CallerConnections,
  type CallerConnectionsOptions,
  createCallerConnections,
  type UpstreamSessions,
} from "./caller-connections.ts";
import { type BreakerOptions, createCircuitBreakers } from "./circuit-breaker.ts";
import type { Decision, ExplainRequest } from "./explain.ts";
import {
  createGatewayRules,
  type GatewayRules,
  type GatewayRulesOptions,
  gatewayRulesOptionNames,
} from "./gateway-rules.ts";
import { checkViews, type GatewayView } from "./gateway-view.ts";
import { createGatewayViews } from "./gateway-views.ts";
import { createGatewayNodes, type GatewayNode, type GatewayNodesOptions } from "./nodes/gateway-nodes.ts";
import { type GatewayStatus, statusOf } from "./status.ts";

export interface GatewayOptions extends OpenHostOptions, GatewayRulesOptions {
  /** Parts of the gateway, each served below the path of the whole by its name. Default: one for each server. */
  readonly views?: Readonly<Record<string, GatewayView>> | undefined;
  /** Cuts large results into pages, as a host does for a model. Default false: clients get results as they are. */
  readonly resultLimits?: ResultLimits | false | undefined;
  /** How many entries a page of a list has at most. Default 1,000. */
  readonly pageSize?: number | undefined;
  /** Whether lists keep what a server that is away listed last. Calls of it fail until it is back. Default true. */
  readonly listAbsent?: boolean | undefined;
  /**
   * Whether all callers share a connection to a server, or each has one of its own, so that what the server asks and keeps is
   * of that caller alone. `auto`, the default, shares connections to servers of 2026-07-28, and to those of older revisions
   * that keep no session. A text is for all servers; an object for those that it names.
   */
  readonly upstreamSessions?: UpstreamSessions | Readonly<Record<string, UpstreamSessions>> | undefined;
  /** How long a connection of one caller is kept without a call. Default 5 min. */
  readonly upstreamSessionTtlMs?: number | undefined;
  /** How many connections of its own one caller may have. Default 16. */
  readonly maxUpstreamSessionsPerCaller?: number | undefined;
  /** How many connections of single callers there may be at a time. Default 1,024. */
  readonly maxUpstreamSessions?: number | undefined;
  /** When calls to a server that does not answer are refused for a while. Default: for 10 s after 5 calls in a row. */
  readonly breaker?: BreakerOptions | undefined;
  /**
   * What callers show servers: each user an account of their own, a token in exchange for theirs, or the gateway its own.
   * Default `none`: what the configuration of a server says. The token of a caller is never handed on as it is.
   */
  readonly credentials?: Vault | "none" | undefined;
  /**
   * Secrets by which accounts are encrypted in the store: 32 random bytes or more each, in hex or base64. The first
   * encrypts, all open. Needed with `credentials`.
   */
  readonly vaultKeys?: readonly (string | undefined)[] | undefined;
  /** What processes share that serve the same gateway. Default: memory. It is not closed. */
  readonly store?: Store | Promise<Store> | undefined;
}

const gatewayOptionNames: OptionNames<GatewayOptions> = {
  ...openHostOptionNames,
  ...gatewayRulesOptionNames,
  views: true,
  pageSize: true,
  listAbsent: true,
  upstreamSessions: true,
  upstreamSessionTtlMs: true,
  maxUpstreamSessionsPerCaller: true,
  maxUpstreamSessions: true,
  breaker: true,
  credentials: true,
  vaultKeys: true,
  store: true,
};

/** One endpoint for many servers and users: a host that is served. */
export interface Gateway extends Host {
  /** The parts of the gateway that are services of their own: `gateway.views.get("docs")` is to be connected to or served. */
  readonly views: ServiceViews;
  /** Where clients of all processes have what is kept for them. For `serveHttp`. */
  store(): Promise<Store>;
  /** The accounts that a user has connected. Throws `unsupported` without `credentials`. */
  accounts(principal: string): UserAccounts;
  /** How the gateway and its servers stand now. */
  status(): GatewayStatus;
  /** The processes that serve this gateway over one store. None where it has its store for itself. */
  nodes(): Promise<readonly GatewayNode[]>;
  /** Calls that wait for somebody to approve of them. */
  readonly approvals: GatewayApprovals;
  /** What the rules say of a call that somebody could make, and why. */
  explain(request: ExplainRequest): Promise<Decision>;
  /** What hears of calls and refusals, for who serves this gateway. */
  readonly onEvent: ((event: ServerEvent) => void) | undefined;
}

/** Opens a gateway over the servers of a configuration file, or over servers given in code. */
export async function openGateway(source: HostSource, options: GatewayOptions = {}): Promise<Gateway> {
  checkOptionNames("openGateway", options, gatewayOptionNames);
  const {
    views: givenViews,
    pageSize = 1_000,
    listAbsent: listsAbsent = true,
    upstreamSessions = "auto",
    upstreamSessionTtlMs: idleTimeoutMs = 300_000,
    maxUpstreamSessionsPerCaller = 16,
    maxUpstreamSessions = 1_024,
    breaker = {},
    store: given,
    credentials = "none",
    vaultKeys,
    ...hostOptions
  } = options;
  checkViews(givenViews ?? {});
  checkPageSize(pageSize);
  const { clock = systemClock, info = ownInfo } = hostOptions;
  const audience = `gateway ${info.name}`;
  const store = lazy(() => storeOf(given, audience, clock));
  const stateKeys = readStateKeys(hostOptions.stateKeys) ?? keysFor(given);
  const shared = { store: store.load, isShared: given !== undefined, audience, stateKeys, clock };
  const runs = createQuestionRuns(shared);
  const rules = createGatewayRules(options, shared);
  const breakers = createCircuitBreakers(breaker, clock);
  const vault =
    credentials === "none" ? undefined : openVault(readVault(credentials, vaultKeys), { ...shared, name: info.name });
  let connections: CallerConnections | undefined;
  const sessions = createSessions(() => connections);

  const { views, open } = createGatewayViews({
    given: givenViews,
    info: defined(info),
    storeOf: async (name) => scopedStore(await (given ?? store.load()), `${audience} view ${name}`),
    sessions,
    gate: (service, only) => vault?.gate(service, only) ?? service,
  });

  const host = await openHostWith(source, hostOptionsOf(hostOptions, rules, stateKeys), {
    guard: rules.guard,
    pageSize,
    listsAbsent,
    views: open,
    ...(vault && { shape: vault.shape }),
    own(create, parts) {
      const made = createCallerConnections(
        {
          sessionsOf: (server) => (vault?.isPersonal(server) ? "per-caller" : sessionsFor(upstreamSessions, server)),
          credentialsOf: (slot, caller) => vault?.credentialsOf(slot, caller),
          runs,
          breakers,
          dial: dialEntry,
          clock,
          idleTimeoutMs,
          max: { principal: maxUpstreamSessionsPerCaller, process: maxUpstreamSessions },
          isForwarded: (server) => vault?.isExchanging(server) !== true,
          ...joiningOf(shared),
        },
        create,
        parts,
      );
      connections = vault?.around(made) ?? made;
      return connections;
    },
  });

  const { close: closeHost } = host;
  const close = async (): Promise<void> => {
    await Promise.all([closeHost(), connections?.close(), vault?.close(), rules.close()]);
    if (given === undefined && store.loaded !== undefined) await store.loaded.close();
  };
  return Object.assign(vault?.gate(host) ?? host, {
    views,
    ...(vault && { routes: vault.routes }),
    accounts: accountsBy(vault),
    store: store.load,
    sessions,
    changesBySession: true,
    nodes: async () => (await connections?.nodes()) ?? [],
    status: () => statusOf({ host, connections, breakers }),
    approvals: rules.approvals,
    explain: explainBy(host, rules),
    onEvent: options.onEvent,
    close,
    [Symbol.asyncDispose]: close,
  });
}

/** Processes that do not know the same keys cannot read what the others write. */
function joiningOf(
  shared: GatewayNodesOptions & { readonly isShared: boolean },
): Pick<CallerConnectionsOptions, "joinNodes"> {
  if (!shared.isShared || shared.stateKeys.length === 0) return {};
  return { joinNodes: (handlers) => createGatewayNodes(shared, handlers) };
}

function sessionsFor(given: NonNullable<GatewayOptions["upstreamSessions"]>, server: string): UpstreamSessions {
  return typeof given === "string" ? given : (given[server] ?? "auto");
}

/** What is different about the host of a gateway: clients get results as they are, and rules are told of calls. */
function hostOptionsOf(
  given: OpenHostOptions,
  { telemetry }: GatewayRules,
  stateKeys: readonly string[],
): OpenHostOptions {
  const all = [...telemetryOf(given.telemetry), ...telemetry];
  const { resultLimits = false } = given;
  return { ...given, resultLimits, stateKeys, ...(all.length > 0 && { telemetry: all }) };
}

/** What is kept in this process alone is of no use to others: its keys need not be either. */
function keysFor(store: GatewayOptions["store"]): readonly string[] {
  return store === undefined ? [toBase64Url(crypto.getRandomValues(new Uint8Array(32)))] : [];
}

function accountsBy(vault: OpenVault | undefined): Gateway["accounts"] {
  return (principal) => {
    if (vault !== undefined) return vault.accountsOf(principal);
    throw new McpError("unsupported", "users have no accounts here: give openGateway credentials");
  };
}

/** What rules say of a tool may depend on what its server says of it. */
function explainBy(host: Pick<Host, "listTools">, rules: GatewayRules): Gateway["explain"] {
  return async (request) => {
    const listed = await host.listTools({ server: request.server });
    const tool = listed.find(({ localName }) => localName === request.name);
    return rules.explain(request, tool);
  };
}

/** Connections of a session end with it. */
function createSessions(connections: () => CallerConnections | undefined): () => Promise<SessionHooks> {
  const hooks: SessionHooks = {
    begin: async () => {},
    end: async (id) => connections()?.endSession(id),
    stateOf() {
      throw new McpError("unsupported", "a gateway keeps no state for the sessions of its clients");
    },
  };
  return async () => hooks;
}

function checkPageSize(pageSize: number): void {
  if (Number.isInteger(pageSize) && pageSize > 0) return;
  const message = `pageSize of openGateway must be a whole number above 0, not ${pageSize}`;
  throw new McpError("invalid-definition", message, { data: { member: "pageSize" } });
}
