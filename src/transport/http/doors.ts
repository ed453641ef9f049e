import type { CallOrigin, Service } from "../../model/service.ts";
import { systemClock } from "../../std/clock.ts";
import { createDeadlines } from "../../std/deadlines.ts";
import { holding } from "../../std/hold.ts";
import type { Store } from "../../store/store.ts";
import { describeService } from "../describe-service.ts";
import { createPulse } from "./heartbeat.ts";
import {
  createSessionHandler,
  createSseHandler,
  createStatelessHandler,
  type LegacyHandler,
  type LegacyHandlerOptions,
  type SseHandler,
} from "./legacy-handlers.ts";
import { createModernDoor, type ModernDoor, type ModernDoorOptions } from "./modern-handler.ts";
import type { HttpOptions, HttpWarning } from "./options.ts";

/** The ways into one service, by what clients speak. */
export interface Doors {
  readonly modern: ModernDoor;
  readonly legacy: LegacyHandler | undefined;
  /** With the paths of its own that it serves. */
  readonly sse: (SseHandler & { readonly paths: readonly string[] }) | undefined;
  /** Answers what is open, for a while, and ends the rest. */
  close(): Promise<void>;
}

const MIB = 1_048_576;

export function createDoors(service: Service, options: HttpOptions): Doors {
  const settings = toSettings(service, options);
  const modern = createModernDoor(settings);
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

type Settings = LegacyHandlerOptions & ModernDoorOptions;

function toSettings(service: Service, options: HttpOptions): Settings {
  const { clock = systemClock, onWarning } = options;
  return {
    service,
    clock,
    deadlines: createDeadlines(clock),
    pulse: createPulse(clock, options.keepAliveMs ?? 15_000),
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

function createSse(settings: Settings, { sse = false }: HttpOptions): Doors["sse"] {
  if (sse === false) return undefined;
  const { path = "/sse", messagesPath = "/messages" } = sse === true ? {} : sse;
  return { ...createSseHandler({ ...settings, path, messagesPath }), paths: [path, messagesPath] };
}
