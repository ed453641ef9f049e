import { isObject } from "../../json/json.ts";
import { type Malformed, type Notification, type Parsed, parseText, type Request } from "../../jsonrpc/message.ts";
import { AuthenticatedHttp } from "../../protocol/authenticator.ts";
import { modernServer } from "../../protocol/codec/server-codec.ts";
import { metaKeys } from "../../protocol/meta.ts";
import { methodRow } from "../../protocol/methods.ts";
import { isLegacy, isRevision, newest, revisions } from "../../protocol/revision.ts";
import type { CallOrigin, Service } from "../../protocol/service.ts";
import { systemClock } from "../../std/clock.ts";
import { createDeadlines } from "../../std/deadlines.ts";
import { holding } from "../../std/hold.ts";
import type { Store } from "../../store/store.ts";
import { describeService } from "../describe-service.ts";
import { type Admitted, createAdmission } from "./admission.ts";
import { loopbackHosts } from "./allowed-hosts.ts";
import { createGuard, type Guard, type Identified } from "./authentication.ts";
import { createHeartbeat } from "./heartbeat.ts";
import {
  errorAnswer,
  type HttpAnswer,
  type HttpHead,
  type HttpHeaders,
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
import { createModernHandler, type ModernHandler, type ModernHandlerOptions } from "./modern-handler.ts";
import type { HttpOptions, HttpWarning } from "./options.ts";

/**
 * One MCP endpoint, in terms of plain values: what reads sockets, or takes the
 * requests of a platform, is a skin around it.
 */
export interface HttpEndpoint {
  /** Judges a request by its head. */
  admit(head: HttpHead): Admitted;
  /**
   * Finds out who sends a request that was admitted; what comes of it takes the
   * place of the head. Absent where it need not be known. Never rejects.
   */
  readonly identify: ((head: HttpHead, cors: HttpHeaders) => Promise<Identified>) | undefined;
  /** Answers a request that was admitted. The body is that of a POST. */
  handle(head: HttpHead, body: string, reply: HttpReply): void;
  readonly maxBodyBytes: number;
  /** Takes nothing new, answers what is open for a while, then ends the rest. Idempotent. */
  close(): Promise<void>;
  /** True once it is being closed: whoever is answered should come back by another connection. */
  readonly isClosing: boolean;
}

/** Throws `invalid-definition` when an option cannot be used. */
export function createEndpoint(service: Service, options: HttpOptions = {}): HttpEndpoint {
  const { path, allowedHosts = loopbackHosts, allowedOrigins = [], maxBodyBytes = 4_194_304, jsonLimits } = options;
  const guard = guardOf(options);
  const { modern, legacy, sse, close } = createHandlers(guard?.around(service) ?? service, options);
  const limits = { hosts: allowedHosts, origins: allowedOrigins, maxBodyBytes, credentials: options.auth?.credentials };
  const admission = createAdmission({ ...limits, path, get: legacy !== undefined });
  const besides = new Map(
    (sse?.paths ?? []).map((beside) => [beside, createAdmission({ ...limits, path: beside, get: true })]),
  );
  let closing: Promise<void> | undefined;

  /** The answer to what no handler takes. */
  const turnAway = (message: Parsed, stated: string | undefined): HttpAnswer | undefined => {
    if (isRevision(stated) && !isLegacy(stated)) return message.kind === "batch" ? noBatch : noResponse;
    if (stated !== undefined && !isRevision(stated)) return unsupported(message, stated, revisions);
    return legacy === undefined ? unsupported(message, stated, [newest]) : undefined;
  };

  const postModern = (message: Request | Notification, head: HttpHead, reply: HttpReply): void => {
    if (message.kind === "request") return void modern.post(message, head, reply);
    modern.notification(message, head);
    sendAnswer(reply, accepted);
  };

  const post = (head: HttpHead, body: string, direct: HttpReply): void => {
    const message = parseText(body, jsonLimits);
    if (message.kind === "malformed") return void sendAnswer(direct, malformed(message));
    const isGuarded = guard !== undefined && message.kind === "request";
    const reply = isGuarded ? guard.replyTo(message.id, head, direct) : direct;
    if (closing !== undefined && isWork(message)) return void sendAnswer(reply, busy);
    const stated = head.header("mcp-protocol-version");
    if (isModern(message, stated)) return void postModern(message, head, reply);
    const away = turnAway(message, stated);
    if (away === undefined) legacy?.post(message, head, reply);
    else sendAnswer(reply, away);
  };

  /** GET and DELETE, which only sessions know. */
  const other = (head: HttpHead, reply: HttpReply): void => {
    const stated = head.header("mcp-protocol-version");
    if (closing !== undefined) sendAnswer(reply, busy);
    else if (stated !== undefined && !isRevision(stated)) sendAnswer(reply, unsupported(undefined, stated, revisions));
    else if (head.method === "GET") legacy?.get(head, reply);
    else legacy?.delete(head, reply);
  };

  /** Streams of 2024-11-05, and what is posted for them: open calls may wait for that. */
  const beside = (head: HttpHead, body: string, reply: HttpReply): void => {
    if (closing !== undefined && head.method === "GET") sendAnswer(reply, busy);
    else sse?.handle(head, body, reply);
  };

  return {
    maxBodyBytes,
    identify: guard?.identify,
    admit(head) {
      const told = guard?.tell(head);
      if (told !== undefined) return { ok: false, answer: told };
      return (besides.size > 0 ? (besides.get(pathOf(head.url)) ?? admission) : admission).admit(head);
    },
    handle(head, body, reply) {
      if (guard !== undefined && !(head instanceof AuthenticatedHttp)) return sendAnswer(reply, unidentified);
      if (besides.size > 0 && besides.has(pathOf(head.url))) return beside(head, body, reply);
      if (head.method === "POST") post(head, body, reply);
      else other(head, reply);
    },
    close() {
      closing ??= close();
      return closing;
    },
    get isClosing() {
      return closing !== undefined;
    },
  };
}

function guardOf({ auth, path, allowedHosts = loopbackHosts, onWarning }: HttpOptions): Guard | undefined {
  if (auth === undefined) return undefined;
  let last: string | undefined;
  /** Where nobody listens, the same is not said again and again. */
  const tell = (message: string, kind: HttpWarning["kind"]): void => {
    if (onWarning !== undefined) return void warn(onWarning, { kind, message });
    if (message !== last) console.error(`plugbay: ${message}`);
    last = message;
  };
  return createGuard({ auth, path, hosts: allowedHosts, warn: tell });
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

/** Says who sends it, or is of a kind that only modern clients send. */
function isModern(message: Parsed, stated: string | undefined): message is Request | Notification {
  if (message.kind !== "request" && message.kind !== "notification") return false;
  const { method, params } = message;
  const { _meta: meta } = params;
  if (isObject(meta) && (metaKeys.protocolVersion in meta || metaKeys.clientCapabilities in meta)) return true;
  if (stated !== undefined) return isRevision(stated) && !isLegacy(stated);
  return methodRow(method).since === newest;
}

/** Nobody waits for an answer to an answer: under its id, it would be taken for one to something else. */
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

const MIB = 1_048_576;

export function createHandlers(service: Service, options: HttpOptions): Handlers {
  const settings = toSettings(service, options);
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

type Settings = LegacyHandlerOptions & ModernHandlerOptions;

function toSettings(service: Service, options: HttpOptions): Settings {
  const { clock = systemClock, onWarning } = options;
  return {
    service,
    clock,
    deadlines: createDeadlines(clock),
    heartbeat: createHeartbeat(clock, options.keepAliveMs ?? 15_000),
    discover: (client?: CallOrigin) => describeService(service, client),
    dropped: (message) => warn(onWarning, { kind: "client-dropped", message }),
    jsonLimits: options.jsonLimits,
    alwaysStream: options.respondWith === "sse",
    drainMs: options.drainMs ?? 5_000,
    askTimeoutMs: options.askTimeoutMs ?? 300_000,
    // A place could not be given back by a request that ends without a word.
    maxConcurrent: clock.requestBound === true ? 0 : (options.maxConcurrent ?? 256),
    maxQueued: options.maxQueued ?? 1_024,
    maxOpen: options.maxOpen ?? 1_024,
    maxListeners: options.maxListeners ?? 10_000,
    maxQueuedBytes: options.maxQueuedBytes ?? 4 * MIB,
    maxSessions: options.maxSessions ?? 10_000,
    maxStreams: options.maxStreams ?? 4,
    sessionTtlMs: options.sessionTtlMs ?? 1_800_000,
    replayEvents: options.replayEvents ?? 256,
    replayChars: options.replayChars ?? MIB,
    retryMs: options.retryMs ?? 1_000,
  };
}

/** A hook that throws must not end the beat that all streams live on. */
export function warn(onWarning: HttpOptions["onWarning"], warning: HttpWarning): void {
  try {
    onWarning?.(warning);
  } catch (error) {
    console.error("plugbay: onWarning threw:", error);
  }
}

function createLegacy(settings: Settings, { sessions = true, store }: HttpOptions): LegacyHandler {
  if (!sessions) return createStatelessHandler(settings);
  // Sessions on a store are looked after between requests.
  const shared = settings.clock.requestBound === true ? undefined : (store ?? storeOf(settings.service));
  // Whoever needs it hears of it.
  if (shared instanceof Promise) shared.catch(() => {});
  return createSessionHandler({ ...settings, store: shared });
}

/** The store of a service that shares one with other processes. */
function storeOf(service: Service): Promise<Store> | undefined {
  const { store } = service as { store?: () => Promise<Store> };
  return store?.();
}

function createSse(settings: Settings, { sse = false }: HttpOptions): Handlers["sse"] {
  if (sse === false) return undefined;
  const { path = "/sse", messagesPath = "/messages" } = sse === true ? {} : sse;
  return { ...createSseHandler({ ...settings, path, messagesPath }), paths: [path, messagesPath] };
}
