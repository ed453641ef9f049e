import type { JsonLimits } from "../../json/parse.ts";
import type { Service } from "../../model/service.ts";
import { systemClock } from "../../std/clock.ts";
import { createDeadlines } from "../../std/deadlines.ts";
import type { HttpFacts } from "../../std/http-facts.ts";
import type { Store } from "../../store/store.ts";
import { describeService } from "../describe-service.ts";
import { createSessions, type LegacyDoor, type SessionsOptions } from "./legacy/sessions.ts";
import { createSharedSessions } from "./legacy/shared/shared-sessions.ts";
import { createSseDoor, type SseDoor } from "./legacy/sse-door.ts";
import { createStatelessDoor } from "./legacy/stateless.ts";
import { createModernDoor, type ModernDoor, type ModernDoorOptions } from "./modern-door.ts";
import type { HttpOptions, HttpWarning } from "./options.ts";
import { createPulse } from "./pulse.ts";

/** The ways into one service, by what clients speak. */
export interface Doors {
  readonly modern: ModernDoor;
  readonly legacy: LegacyDoor | undefined;
  readonly sse: SseDoor | undefined;
  /** Answers what is open, for a while, and ends the rest. */
  close(): Promise<void>;
}

const MIB = 1_048_576;

export function createDoors(service: Service, options: HttpOptions): Doors {
  const settings = toSettings(service, options);
  const modern = createModernDoor(settings);
  const legacy = options.legacy === false ? undefined : createLegacyDoor(settings, options);
  const sse = createSse(settings, options);
  return {
    modern,
    legacy,
    sse,
    async close() {
      await Promise.all([modern.close(), legacy?.drain(), sse?.drain()]);
    },
  };
}

type Settings = SessionsOptions & ModernDoorOptions & { readonly jsonLimits?: JsonLimits | undefined };

function toSettings(service: Service, options: HttpOptions): Settings {
  const { clock = systemClock, onWarning } = options;
  return {
    service,
    clock,
    deadlines: createDeadlines(clock),
    pulse: createPulse(clock, options.keepAliveMs ?? 15_000),
    discover: (http?: HttpFacts) => describeService(service, http),
    dropped: (message) => warn(onWarning, { kind: "client-dropped", message }),
    jsonLimits: options.jsonLimits,
    alwaysStream: options.respondWith === "sse",
    drainMs: options.drainMs ?? 5_000,
    askTimeoutMs: options.askTimeoutMs ?? 300_000,
    maxConcurrent: options.maxConcurrent ?? 256,
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

function createLegacyDoor(settings: Settings, { sessions = true, store }: HttpOptions): LegacyDoor {
  if (!sessions) return createStatelessDoor(settings);
  const shared = store ?? storeOf(settings.service);
  return shared === undefined ? createSessions(settings) : createSharedSessions({ ...settings, store: shared });
}

/** The store of a service that shares one with other processes. */
function storeOf(service: Service): Promise<Store> | undefined {
  const { store } = service as { store?: () => Promise<Store> };
  return store?.();
}

function createSse(settings: Settings, { sse = false }: HttpOptions): SseDoor | undefined {
  if (sse === false) return undefined;
  const { path = "/sse", messagesPath = "/messages" } = sse === true ? {} : sse;
  return createSseDoor({ ...settings, path, messagesPath });
}
