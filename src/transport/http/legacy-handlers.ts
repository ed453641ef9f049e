import type { Id, Parsed } from "../../jsonrpc/message.ts";
import type { Ledger } from "../../protocol/budget.ts";
import { McpError } from "../../protocol/errors.ts";
import type { AllLimits } from "../../protocol/limits.ts";
import type { DiscoverResult } from "../../protocol/methods.ts";
import type { CallOrigin, Service } from "../../protocol/service.ts";
import type { Clock } from "../../std/clock.ts";
import type { Deadlines } from "../../std/deadlines.ts";
import { type Lazy, lazy } from "../../std/lazy.ts";
import type { Store } from "../../store/store.ts";
import { notServed } from "../legacy-server.ts";
import type { SinkRules } from "./event-sink.ts";
import type { FairGate } from "./fair-gate.ts";
import { errorAnswer, type HttpHead, type HttpReply, sendAnswer } from "./http-message.ts";

/** Serves HTTP clients of older revisions. */
export interface LegacyHandler {
  post(message: Parsed, head: HttpHead, reply: HttpReply): void;
  get(head: HttpHead, reply: HttpReply): void;
  delete(head: HttpHead, reply: HttpReply): void;
  /** Takes no new clients, answers what is open, ends every session. */
  drain(): Promise<void>;
}

/** The HTTP+SSE transport of 2024-11-05: one stream for all that is said to a client, which posts elsewhere. */
export interface SseHandler {
  handle(head: HttpHead, body: string, reply: HttpReply): void;
  drain(): Promise<void>;
}

export interface LegacyHandlerOptions extends SinkRules {
  readonly service: Service;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly limits: AllLimits;
  readonly ledger: Ledger;
  readonly gate: FairGate;
  readonly alwaysStream: boolean;
  /** How long a session lives without a request, a call or a stream. */
  readonly sessionTtlMs: number;
  readonly retryMs: number;
  readonly drainMs: number;
  readonly discover: (client?: CallOrigin) => Promise<DiscoverResult>;
}

export interface SessionHandlerOptions extends LegacyHandlerOptions {
  /** The part of a store that belongs to the service, where it has one: there sessions are kept. */
  readonly store: Promise<Store> | undefined;
  /** A store that services of other names may have, too. Without any sessions are kept in memory. */
  readonly given: Store | Promise<Store> | undefined;
  /** What the service calls itself, where that is known: its part of the store that is given. */
  readonly name: string | undefined;
}

export interface SseHandlerOptions extends LegacyHandlerOptions {
  /** Where clients open their stream. */
  readonly path: string;
  /** Where they post. */
  readonly messagesPath: string;
}

/** What serves older revisions over HTTP. */
interface LegacyHandlers {
  readonly createSessionHandler: (options: SessionHandlerOptions) => LegacyHandler;
  readonly createStatelessHandler: (options: LegacyHandlerOptions) => LegacyHandler;
  readonly createSseHandler: (options: SseHandlerOptions) => SseHandler;
}

const lazyHandlers: Lazy<LegacyHandlers> = lazy(() => import("#legacy/http-server"));

/** With sessions, in memory or on a store. */
export function createSessionHandler(options: SessionHandlerOptions): LegacyHandler {
  return legacyHandler((handlers) => handlers.createSessionHandler(options));
}

/** Without sessions: each request on its own. */
export function createStatelessHandler(options: LegacyHandlerOptions): LegacyHandler {
  return legacyHandler((handlers) => handlers.createStatelessHandler(options));
}

export function createSseHandler(options: SseHandlerOptions): SseHandler {
  const handler = createOnUse((handlers) => handlers.createSseHandler(options));
  return {
    handle: (head, body, reply) => handler.use({ id: null, reply }, (sse) => sse.handle(head, body, reply)),
    drain: handler.drain,
  };
}

function legacyHandler(create: (handlers: LegacyHandlers) => LegacyHandler): LegacyHandler {
  const handler = createOnUse(create);
  return {
    post: (message, head, reply) =>
      handler.use({ id: message.kind === "request" ? message.id : null, reply }, (legacy) =>
        legacy.post(message, head, reply),
      ),
    get: (head, reply) => handler.use({ id: null, reply }, (legacy) => legacy.get(head, reply)),
    delete: (head, reply) => handler.use({ id: null, reply }, (legacy) => legacy.delete(head, reply)),
    drain: handler.drain,
  };
}

/** What wants an answer, should there be no handler. */
interface Asker {
  readonly id: Id | null;
  readonly reply: HttpReply;
}

/** Creates a handler when the first request needs it. Requests that come while it is loaded wait, and keep their order. */
function createOnUse<T extends { drain(): Promise<void> }>(create: (handlers: LegacyHandlers) => T) {
  let handler: T | undefined;
  const waiting = new Set<Promise<void>>();

  const handOver = (handlers: LegacyHandlers, asker: Asker, work: (handler: T) => void): void => {
    try {
      handler ??= create(handlers);
    } catch (error) {
      return void refuse(asker, error);
    }
    work(handler);
  };

  const loadAndHandOver = async (asker: Asker, work: (handler: T) => void): Promise<void> => {
    try {
      handOver(await lazyHandlers.load(), asker, work);
    } catch (error) {
      refuse(asker, error);
    }
  };

  return {
    use(asker: Asker, work: (handler: T) => void): void {
      if (handler !== undefined) return void work(handler);
      if (lazyHandlers.loaded !== undefined) return void handOver(lazyHandlers.loaded, asker, work);
      const wait = loadAndHandOver(asker, work).finally(() => waiting.delete(wait));
      waiting.add(wait);
    },
    async drain(): Promise<void> {
      if (waiting.size > 0) await Promise.all(waiting);
      await handler?.drain();
    },
  };
}

function refuse({ id, reply }: Asker, error: unknown): void {
  sendAnswer(reply, errorAnswer(error instanceof McpError ? 400 : 500, id, notServed(error)));
}
