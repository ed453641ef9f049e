import { createDeadlines } from "../../src/std/deadlines.ts";
import type { Store } from "../../src/store/store.ts";
import { createManualClock } from "../../src/testing/clock.ts";
import { describeService } from "../../src/transport/describe-service.ts";
import type { SharedSessionsOptions } from "../../src/transport/http/legacy/shared/shared-sessions.ts";
import { createPulse } from "../../src/transport/http/pulse.ts";
import { createHttpService } from "./http-service.ts";

/** What sessions in a store need, for tests that do without an endpoint. */
export function sharedSettings(store: Store): SharedSessionsOptions {
  const { server } = createHttpService();
  const clock = createManualClock();
  return {
    store,
    service: server,
    clock,
    deadlines: createDeadlines(clock),
    pulse: createPulse(clock, 0),
    discover: () => describeService(server),
    dropped() {},
    alwaysStream: false,
    drainMs: 1_000,
    askTimeoutMs: 1_000,
    maxConcurrent: 4,
    maxOpen: 4,
    maxQueuedBytes: 0,
    maxSessions: 100,
    maxStreams: 4,
    sessionTtlMs: 60_000,
    replayEvents: 256,
    replayChars: 1_048_576,
    retryMs: 1_000,
  };
}
