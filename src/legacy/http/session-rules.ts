import type { Ledger } from "../../protocol/budget.ts";
import type { AllLimits } from "../../protocol/limits.ts";
import type { DiscoverResult } from "../../protocol/methods.ts";
import type { CallOrigin, Service } from "../../protocol/service.ts";
import type { Clock } from "../../std/clock.ts";
import type { Deadlines } from "../../std/deadlines.ts";
import type { Store } from "../../store/store.ts";
import type { SinkRules } from "../../transport/http/event-sink.ts";
import type { FairGate } from "../../transport/http/fair-gate.ts";
import type { Heartbeat } from "../../transport/http/heartbeat.ts";
import type { ChangeHub } from "../session/change-hub.ts";
import type { Node } from "./cluster.ts";
import type { SessionStore, SessionWaits } from "./session-store.ts";

/** What the sessions of one endpoint have in common. */
export interface SessionRules extends CallRules {
  readonly store: Store;
  /** True when no other process has the store. */
  readonly alone: boolean;
  readonly sessions: SessionStore;
  readonly waits: SessionWaits;
  readonly node: Node;
  readonly hub: ChangeHub;
  /** For what has to be looked at every few seconds. */
  readonly looks: Heartbeat;
  /** How long what belongs to a session is in the store without use. 0 is until it is deleted. */
  readonly sessionTtlMs: number;
  /** How soon a client should come back. */
  readonly retryMs: number;
}

/** What sessions need for their calls. */
export interface CallRules extends SinkRules {
  readonly service: Service;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly limits: AllLimits;
  readonly ledger: Ledger;
  readonly gate: FairGate;
  readonly drainMs: number;
  readonly alwaysStream: boolean;
  discover(client: CallOrigin): Promise<DiscoverResult>;
}

/** How often the store is looked at for what others may have left behind. */
export const POLL_INTERVAL_MS = 2_000;

/** What stands in a stream where it ends. */
export const END = "";
