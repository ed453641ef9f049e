import { createSingleProcessNode } from "../../src/legacy/http/cluster.ts";
import { ResponseStreams } from "../../src/legacy/http/response-stream.ts";
import { SessionReaders } from "../../src/legacy/http/session-readers.ts";
import { SessionReplay } from "../../src/legacy/http/session-replay.ts";
import type { SessionRules } from "../../src/legacy/http/session-rules.ts";
import { createSessionStore, createSessionWaits, type KeptSession } from "../../src/legacy/http/session-store.ts";
import { createChangeHub } from "../../src/legacy/session/change-hub.ts";
import { type Budgets, createLedger } from "../../src/protocol/budget.ts";
import { type AllLimits, httpLimits } from "../../src/protocol/limits.ts";
import type { Service } from "../../src/protocol/service.ts";
import { createDeadlines } from "../../src/std/deadlines.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import type { Store } from "../../src/store/store.ts";
import { createManualClock, type ManualClock } from "../../src/testing/clock.ts";
import { createFairGate } from "../../src/transport/http/fair-gate.ts";
import { createHeartbeat } from "../../src/transport/http/heartbeat.ts";
import { httpBudgets } from "../../src/transport/http/http-budgets.ts";
import { createFakeReply, type FakeReply, fakeHead } from "./fake-reply.ts";
import { createHttpService } from "./http-service.ts";

export interface LoneRules {
  readonly rules: SessionRules;
  readonly clock: ManualClock;
  readonly store: Store;
}

export interface LoneChanges extends Partial<Omit<SessionRules, "limits" | "ledger">> {
  readonly limits?: Partial<AllLimits>;
  readonly budgets?: Budgets;
}

/** What sessions have in common in a process that has its store for itself. */
export function createLoneRules(
  { limits, budgets, ...changes }: LoneChanges = {},
  told: SessionTold = () => {},
): LoneRules {
  const clock = createManualClock();
  const store = memoryStore({ clock });
  const ledger = createLedger(httpBudgets(httpLimits), budgets, "a test");
  const service: Service = changes.service ?? createHttpService().server;
  const rules: SessionRules = {
    service,
    clock,
    store,
    alone: true,
    deadlines: createDeadlines(clock),
    node: createSingleProcessNode(told),
    hub: createChangeHub(service),
    sessions: createSessionStore(store, 0),
    waits: createSessionWaits(store, 0),
    heartbeat: createHeartbeat(clock, 0),
    looks: createHeartbeat(clock, 0),
    discover: () => Promise.reject(new Error("nobody is greeted here")),
    dropped() {},
    alwaysStream: false,
    drainMs: 1_000,
    limits: { ...httpLimits, ...limits },
    ledger,
    gate: createFairGate(),
    maxUnreadBytes: Number.POSITIVE_INFINITY,
    retryMs: 1_000,
    sessionTtlMs: 0,
    ...changes,
  };
  return { rules, clock, store };
}

type SessionTold = Parameters<typeof createSingleProcessNode>[0];

export interface LoneSession extends LoneRules {
  readonly responses: ResponseStreams;
  readonly readers: SessionReaders;
  readonly replay: SessionReplay;
  /** A GET, on a connection that the test can break. */
  get(lastEventId?: string): FakeReply;
  /** Tells what belongs to no call. */
  tell(text: string): Promise<void> | undefined;
}

/** The streams of one session, without calls. */
export function createLoneSession(changes: LoneChanges = {}, primes = false): LoneSession {
  const { rules, clock, store } = createLoneRules(changes, (event) => {
    if (event.kind === "taken") responses.taken(event.stream);
    readers.told(event);
  });
  const record: KeptSession = {
    peer: { revision: primes ? "2025-11-25" : "2025-06-18", capabilities: {} },
    capabilities: {},
    ready: true,
    logLevel: undefined,
    since: 0,
  };
  const share = rules.ledger.connection("somebody");
  const replay = new SessionReplay("s", rules, share);
  const responses = new ResponseStreams("s", rules, replay, share);
  const readers = new SessionReaders({ id: "s", share, rules, primes, record, readerLeft() {} });

  return {
    rules,
    clock,
    store,
    replay,
    responses,
    readers,
    get(lastEventId) {
      const reply = createFakeReply();
      void readers.get(fakeHead(lastEventId === undefined ? {} : { "last-event-id": lastEventId }, "GET"), reply);
      return reply;
    },
    tell(text) {
      const position = replay.addAside(text);
      return typeof position === "number" ? readers.aside(position, text) : undefined;
    },
  };
}
