import { isObject } from "../../json/json.ts";
import { measureLongText } from "../../json/parse.ts";
import { type Malformed, type Notification, type Parsed, parseText, type Request } from "../../jsonrpc/message.ts";
import { AuthenticatedHttp } from "../../protocol/authenticator.ts";
import { createLedger, type Ledger, type Shortage } from "../../protocol/budget.ts";
import { modernServer } from "../../protocol/codec/server-codec.ts";
import { type AllLimits, httpLimits } from "../../protocol/limits.ts";
import { metaKeys } from "../../protocol/meta.ts";
import { methodRow } from "../../protocol/methods.ts";
import type { Implementation } from "../../protocol/peer.ts";
import { isLegacy, isRevision, newest, revisions } from "../../protocol/revision.ts";
import { type CallOrigin, type Service, viewsOf } from "../../protocol/service.ts";
import { toLimits } from "../../protocol/to-limits.ts";
import { systemClock } from "../../std/clock.ts";
import { createDeadlines } from "../../std/deadlines.ts";
import { holding } from "../../std/hold.ts";
import type { Store } from "../../store/store.ts";
import { describeService } from "../describe-service.ts";
import { type Admitted, createAdmission } from "./admission.ts";
import { loopbackHosts } from "./allowed-hosts.ts";
import { createGuard, type Guard } from "./authentication.ts";
import { createStatus, type EndpointStatus } from "./endpoint-status.ts";
import { createFairGate } from "./fair-gate.ts";
import { createHeartbeat, type Heartbeat } from "./heartbeat.ts";
import { httpBudgets } from "./http-budgets.ts";
import { ConnectionCallers } from "./http-callers.ts";
import {
  errorAnswer,
  type HttpAnswer,
  type HttpHead,
  type HttpReply,
  pathOf,
  refusal,
  sendAnswer,
} from "./http-message.ts";
import {
  createSessionHandler,
  createSseHandler,
  createStatelessHandler,
  type LegacyHandler,
  type LegacyHandlerOptions,
  type SseHandler,
} from "./legacy-handlers.ts";
import { limitAnswer } from "./limit-answer.ts";
import { createLimitWarning, warn } from "./limit-warning.ts";
import { createModernHandler, type ModernHandler, type ModernHandlerOptions } from "./modern-handler.ts";
import type { HttpOptions, HttpWarning } from "./options.ts";
import { createRefusalEvents, type RefusalEvents } from "./refusal-events.ts";
import { identifyBeside, joinRoutes, serviceRoutes } from "./service-routes.ts";
import { createViewHandlers } from "./view-handlers.ts";

/**
 * One MCP endpoint, in terms of plain values: what reads sockets, or takes the
 * requests of a platform, is a skin around it.
 */
export interface HttpEndpoint {
  /** Judges a request by its head. */
  admit(head: HttpHead): Admitted;
  /** Whether the path of a request is one of its own. */
  owns(head: HttpHead): boolean;
  /**
   * Authenticates an admitted request, and returns its head with the caller. Absent without authentication. Never
   * rejects.
   */
  readonly identify: Guard["identify"] | undefined;
  /** Identifies the caller of each request on one connection. */
  createCallers(): ConnectionCallers;
  /** Detects responses that are not read. */
  readonly heartbeat: Heartbeat;
  /** Called when a client was cut off, with the reason. */
  dropped(reason: string): void;
  readonly ledger: Ledger;
  /** Called with rejected requests. Absent without a listener. */
  readonly refusals: RefusalEvents | undefined;
  /** Counts the long bodies that each principal is sending by the lengths that it announced. */
  readonly announced: Ledger;
  /** Whether all connections come from a proxy. */
  readonly trustProxy: boolean;
  /** What is held for clients. */
  status(): EndpointStatus;
  /** Answers a request that was admitted. The body is that of a POST, and held already. */
  handle(head: HttpHead, body: string, reply: HttpReply): void;
  readonly maxMessageBytes: number;
  /** Takes nothing new, answers what is open for a while, then ends the rest. Idempotent. */
  close(): Promise<void>;
  /** True while the endpoint is closing: clients should use another connection. */
  readonly isClosing: boolean;
}

export interface EndpointOptions extends HttpOptions {
  /** Whether clients speak TLS with it, with nothing in front. */
  readonly isSecure?: boolean | undefined;
}

/** Throws `invalid-definition` when an option cannot be used. `owner` is whose options they are. */
export function createEndpoint(service: Service, options: EndpointOptions = {}, owner = "serveHttp"): HttpEndpoint {
  const { allowedHosts = loopbackHosts, trustProxy = false } = options;
  const path = pathFor(service, options);
  const tell = createTeller(options);
  const guard = guardOf({ ...options, path }, tell);
  const routes = joinRoutes(guard?.routes, serviceRoutes(service, allowedHosts, tell));
  const around = (served: Service): Service => guard?.around(served) ?? served;
  const settings = toSettings(around(service), options, owner);
  const whole = createHandlers(settings, options);
  const { sse } = whole;
  const createView = (view: Service): Handlers =>
    createHandlers(viewSettings(settings, around(view)), { ...options, sse: false });
  const views = createViewHandlers(service, path, createView);
  const { limits: bounds, ledger, heartbeat, dropped, gate } = settings;
  const { maxMessageBytes } = bounds;
  const { admission, besides } = createAdmissions(whole, { ...options, path }, maxMessageBytes, views !== undefined);
  const isBeside = (head: HttpHead): boolean => besides.has(pathOf(head.url)) || routes?.has(head) === true;
  let closing: Promise<void> | undefined;

  const turnAwayBusy = (head: HttpHead, reply: HttpReply): void => {
    settings.refusals?.answered(head, busy.status, "connection-closed");
    sendAnswer(reply, busy);
  };

  const post = (handlers: Handlers, head: HttpHead, body: string, direct: HttpReply): void => {
    const message = readMessage(body, bounds, direct);
    if (message === undefined) return;
    const isGuarded = guard !== undefined && message.kind === "request";
    const reply = isGuarded ? guard.replyTo(message.id, head, direct) : direct;
    if (closing !== undefined && isWork(message)) return void turnAwayBusy(head, reply);
    const stated = head.header("mcp-protocol-version");
    if (isModern(message, stated)) return void postModern(handlers.modern, message, head, reply);
    const away = turnAway(message, stated, handlers.legacy !== undefined);
    if (away === undefined) handlers.legacy?.post(message, head, reply);
    else sendAnswer(reply, away);
  };

  /** GET and DELETE, which only sessions know. */
  const other = ({ legacy }: Handlers, head: HttpHead, reply: HttpReply): void => {
    const stated = head.header("mcp-protocol-version");
    if (closing !== undefined) turnAwayBusy(head, reply);
    else if (stated !== undefined && !isRevision(stated)) sendAnswer(reply, unsupported(undefined, stated, revisions));
    else if (head.method === "GET") legacy?.get(head, reply);
    else legacy?.delete(head, reply);
  };

  /** Streams of 2024-11-05, and what is posted for them: open calls may wait for that. */
  const beside = (head: HttpHead, body: string, reply: HttpReply): void => {
    if (closing !== undefined && head.method === "GET") turnAwayBusy(head, reply);
    else sse?.handle(head, body, reply);
  };

  const endpoint: HttpEndpoint = {
    maxMessageBytes,
    heartbeat,
    dropped,
    ledger,
    refusals: settings.refusals,
    announced: createAnnounced(ledger, options, owner),
    trustProxy,
    createCallers: () => new ConnectionCallers(endpoint, { ledger, gate, trustProxy }),
    status: createStatus(service, ledger, bounds),
    identify: guard && identifyBeside(guard, routes),
    owns: (head) => admission.isEndpoint(head.url) || isBeside(head) || guard?.owns(head) === true,
    admit(head) {
      const told = guard?.tell(head);
      if (told !== undefined) return { ok: false, answer: told };
      if (routes?.has(head)) return routes.admit(head);
      return (besides.size > 0 ? (besides.get(pathOf(head.url)) ?? admission) : admission).admit(head);
    },
    handle(head, body, reply) {
      if (routes?.has(head)) return routes.handle(head, body, reply, settings.refusals);
      if (guard !== undefined && !(head instanceof AuthenticatedHttp)) return sendAnswer(reply, unidentified);
      if (besides.size > 0 && besides.has(pathOf(head.url))) return beside(head, body, reply);
      const handlers = views?.find(head) ?? whole;
      if ("status" in handlers) return sendAnswer(reply, handlers);
      if (head.method === "POST") post(handlers, head, body, reply);
      else other(handlers, head, reply);
    },
    close() {
      closing ??= Promise.all([whole.close(), views?.close()]).then(() => {});
      return closing;
    },
    get isClosing() {
      return closing !== undefined;
    },
  };
  return settings.refusals === undefined ? endpoint : tellRefusals(endpoint, settings.refusals);
}

/** What decides which requests reach the endpoint, and each of the paths that it serves besides. */
function createAdmissions(
  { legacy, sse }: Handlers,
  { path, auth, allowedHosts: hosts = loopbackHosts, allowedOrigins: origins = [] }: HttpOptions,
  maxMessageBytes: number,
  below: boolean,
) {
  const limits = { hosts, origins, maxMessageBytes, credentials: auth?.credentials };
  const besides = new Map(
    (sse?.paths ?? []).map((beside) => [beside, createAdmission({ ...limits, path: beside, get: true })]),
  );
  return { admission: createAdmission({ ...limits, path, below, get: legacy !== undefined }), besides };
}

function postModern(modern: ModernHandler, message: Request | Notification, head: HttpHead, reply: HttpReply): void {
  if (message.kind === "request") return void modern.post(message, head, reply);
  modern.notification(message, head, reply);
  sendAnswer(reply, accepted);
}

/** Where the endpoint is. Views are below it, so it has to be known where there are any. */
function pathFor(service: Service, { path }: EndpointOptions): string | undefined {
  return viewsOf(service) === undefined ? path : (path ?? "/mcp");
}

/** The answer to what no handler takes. */
function turnAway(message: Parsed, stated: string | undefined, isLegacyServed: boolean): HttpAnswer | undefined {
  if (isRevision(stated) && !isLegacy(stated)) return message.kind === "batch" ? noBatch : noResponse;
  if (stated !== undefined && !isRevision(stated)) return unsupported(message, stated, revisions);
  return isLegacyServed ? undefined : unsupported(message, stated, [newest]);
}

/** Reports requests that are rejected by their head. */
function tellRefusals(endpoint: HttpEndpoint, refusals: RefusalEvents): HttpEndpoint {
  const { admit, identify } = endpoint;
  const tellingAdmit: HttpEndpoint["admit"] = (head) => {
    const admitted = admit(head);
    if (!admitted.ok) refusals.answered(head, admitted.answer.status);
    return admitted;
  };
  const tellingIdentify: HttpEndpoint["identify"] =
    identify &&
    (async (head, cors, share) => {
      const identified = await identify(head, cors, share);
      if (!identified.ok && identified.code !== undefined)
        refusals.answered(head, identified.answer.status, identified.code);
      return identified;
    });
  return Object.assign(endpoint, { admit: tellingAdmit, identify: tellingIdentify });
}

/** Counts announced body lengths for each principal alone: a client that announces much and sends nothing must not use up what the process has for others. */
function createAnnounced(ledger: Ledger, options: HttpOptions, owner: string): Ledger {
  const principal = { maxHeldBytes: ledger.max("principal", "heldBytes") };
  return createLedger({ principal }, undefined, owner, createLimitWarning(options));
}

/** What a value takes besides its text when it is built, in bytes. */
const VALUE_BYTES = 64;

/** Reads a body, when the values of a long one are counted and have room. Answers what is no message. */
function readMessage(body: string, limits: AllLimits, reply: HttpReply): Exclude<Parsed, Malformed> | undefined {
  const shape = measureLongText(body, limits);
  const isBuilt = shape !== undefined && shape.nodes <= limits.maxJsonNodes;
  const short = isBuilt ? reply.held.take(shape.nodes * VALUE_BYTES) : undefined;
  if (short !== undefined) return void sendAnswer(reply, limitAnswer(short));
  const message = parseText(body, limits, shape);
  if (message.kind !== "malformed") return message;
  sendAnswer(reply, malformed(message));
  return undefined;
}

type Tell = (message: string, kind: HttpWarning["kind"]) => void;

/** Where nobody listens, the same is not said again and again. */
function createTeller({ onWarning }: EndpointOptions): Tell {
  let last: string | undefined;
  return (message, kind) => {
    if (onWarning !== undefined) return void warn(onWarning, { kind, message });
    if (message !== last) console.error(`plugbay: ${message}`);
    last = message;
  };
}

function guardOf(
  { auth, path, allowedHosts = loopbackHosts, isSecure }: EndpointOptions,
  tell: Tell,
): Guard | undefined {
  return auth && createGuard({ auth, path, hosts: allowedHosts, isSecure, warn: tell });
}

const unidentified: HttpAnswer = refusal(401, "authentication is needed");
const busy: HttpAnswer = refusal(503, "the server is closing", { "retry-after": "1", connection: "close" });
const accepted: HttpAnswer = { status: 202, headers: {}, body: "" };
const noResponse: HttpAnswer = refusal(400, `clients of ${newest} send no responses: put them into the next request`);
const noBatch: HttpAnswer = refusal(400, "batches are not supported; send one message a request");

/** Calls that are open may wait for anything else. */
function isWork({ kind }: Parsed): boolean {
  return kind === "request" || kind === "batch";
}

/** True for a request that states its sender, or has a method of modern clients only. */
function isModern(message: Parsed, stated: string | undefined): message is Request | Notification {
  if (message.kind !== "request" && message.kind !== "notification") return false;
  const { method, params } = message;
  const { _meta: meta } = params;
  if (isObject(meta) && (metaKeys.protocolVersion in meta || metaKeys.clientCapabilities in meta)) return true;
  if (stated !== undefined) return isRevision(stated) && !isLegacy(stated);
  return methodRow(method).since === newest;
}

/** A response is not answered: with its id, the answer would be taken for another response. */
function malformed({ id, error, answerable }: Malformed): HttpAnswer {
  return errorAnswer(400, answerable ? id : null, error);
}

/** The answer to a client that speaks none of these. Names them, in a way that both eras understand. */
function unsupported(message: Parsed | undefined, requested = "none", supported: readonly string[]): HttpAnswer {
  const id = message?.kind === "request" ? message.id : null;
  const error = modernServer.encodeFailure({
    code: "unsupported-revision",
    message: `unsupported protocol version; use ${supported.join(", ")}`,
    data: { supported, requested },
  });
  return errorAnswer(400, id, error);
}

/** The ways into one service, by what clients speak. */
export interface Handlers {
  readonly modern: ModernHandler;
  readonly legacy: LegacyHandler | undefined;
  /** With the paths of its own that it serves. */
  readonly sse: (SseHandler & { readonly paths: readonly string[] }) | undefined;
  /** Answers what is open, for a while, and ends the rest. */
  close(): Promise<void>;
}

function createHandlers(settings: Settings, options: HttpOptions): Handlers {
  const modern = createModernHandler(settings);
  const legacy = options.legacy === false ? undefined : createLegacy(settings, options);
  const sse = createSse(settings, options);
  return {
    modern,
    legacy,
    sse,
    async close() {
      await holding(settings.clock, Promise.all([modern.close(), legacy?.drain(), sse?.drain()]));
    },
  };
}

type Settings = LegacyHandlerOptions & ModernHandlerOptions & { readonly refusals: RefusalEvents | undefined };

function toSettings(service: Service, options: HttpOptions, owner: string): Settings {
  const { clock = systemClock, onWarning } = options;
  const limits = toLimits(options.limits, httpLimits, owner);
  const refusals = createRefusalEvents(service, options);
  const warnOfLimit = createLimitWarning(options);
  const isHeard = warnOfLimit !== undefined || refusals !== undefined;
  const onShort = (shortage: Shortage): void => {
    warnOfLimit?.(shortage);
    refusals?.short(shortage);
  };
  const ledger = createLedger(httpBudgets(limits), options.budgets, owner, isHeard ? onShort : undefined);
  return {
    service,
    refusals,
    clock,
    limits,
    ledger,
    // A place could not be given back by a request that ends without a word.
    gate: createFairGate(clock.requestBound === true),
    deadlines: createDeadlines(clock),
    heartbeat: createHeartbeat(clock, options.keepAliveMs ?? 15_000),
    discover: (client?: CallOrigin) => describeService(service, client),
    dropped: (message) => warn(onWarning, { kind: "client-dropped", message }),
    maxUnreadBytes: limits.maxUnreadBytes,
    alwaysStream: options.respondWith === "sse",
    drainMs: options.drainMs ?? 5_000,
    sessionTtlMs: options.sessionTtlMs ?? 1_800_000,
    retryMs: options.retryMs ?? 1_000,
  };
}

/** A view shares everything with the whole but what it serves. */
function viewSettings(settings: Settings, service: Service): Settings {
  return { ...settings, service, discover: (client?: CallOrigin) => describeService(service, client) };
}

function createLegacy(settings: Settings, { sessions = true, store }: HttpOptions): LegacyHandler {
  if (!sessions) return createStatelessHandler(settings);
  // Sessions on a store are looked after between requests.
  const isShared = settings.clock.requestBound !== true;
  const own = isShared && store === undefined ? storeOf(settings.service) : undefined;
  const given = isShared ? store : undefined;
  // Whoever needs it hears of it.
  for (const opening of [own, given]) if (opening instanceof Promise) opening.catch(() => {});
  return createSessionHandler({ ...settings, store: own, given, name: nameOf(settings.service) });
}

/** The store of a service that shares one with other processes. */
function storeOf(service: Service): Promise<Store> | undefined {
  const { store } = service as { store?: () => Promise<Store> };
  return store?.();
}

/** What a service calls itself, where it says so without being asked. */
function nameOf(service: Service): string | undefined {
  const { info } = service as { info?: Implementation };
  return info?.name;
}

function createSse(settings: Settings, { sse = false }: HttpOptions): Handlers["sse"] {
  if (sse === false) return undefined;
  const { path = "/sse", messagesPath = "/messages" } = sse === true ? {} : sse;
  return { ...createSseHandler({ ...settings, path, messagesPath }), paths: [path, messagesPath] };
}
