import type { ServerEvent } from "../protocol/server-event.ts";
import { type CallOf, requestIdOf } from "../protocol/service.ts";
import type { Telemetry } from "../protocol/telemetry.ts";
import { eventTelemetry } from "../server/events.ts";

/** What a gateway adds to the events of its calls. */
export type GatewayFacts = Pick<ServerEvent, "server" | "decision" | "rule" | "approvedBy" | "isDryRun">;

/** Events of calls, with what was decided about them. */
export interface CallAudit {
  /** For the host: hears of every call of a client. */
  readonly telemetry: Telemetry;
  /** Adds to what is known of a call. */
  note(call: CallOf, facts: GatewayFacts): void;
}

/** `now` is the time of day. */
export function createCallAudit(onEvent: (event: ServerEvent) => void, now: () => number): CallAudit {
  const facts = new Map<string, GatewayFacts>();
  const telemetry = eventTelemetry((event) => {
    const { requestId = "" } = event;
    const known = facts.get(requestId);
    facts.delete(requestId);
    onEvent(known === undefined ? event : { ...event, ...known });
  }, now);

  return {
    // What the gateway sends to servers is part of a call that is heard of already.
    telemetry: { startCall: (call) => (call.side === "server" ? telemetry.startCall(call) : undefined) },
    note(call, more) {
      const id = requestIdOf(call);
      facts.set(id, { ...facts.get(id), ...more });
      if (facts.size > maxFacts) for (const oldest of facts.keys()) return void facts.delete(oldest);
    },
  };
}

/** More calls than run at a time. */
const maxFacts = 100_000;
