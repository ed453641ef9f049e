import type { JsonObject } from "../json/json.ts";
import type { Clock } from "../std/clock.ts";
import type { HttpRequestInfo } from "../std/http-request-info.ts";
import type { Connection } from "./connection.ts";
import { McpError } from "./errors.ts";
import { methodRow } from "./methods.ts";
import type { ClientInfo } from "./peer.ts";
import { eraOf } from "./revision.ts";
import { abortReason, type Call, type CallOf, type Outcome, requestIdOf, type Service, withCall } from "./service.ts";
import {
  type CallEnding,
  type CallObservation,
  type ObservedCall,
  type ObservedPlace,
  type ObservedSide,
  reportTelemetry,
  startSession,
  type Telemetry,
} from "./telemetry.ts";

/** The telemetry of a service, and its clock. */
export interface Observers {
  readonly telemetry: readonly Telemetry[];
  readonly clock: Pick<Clock, "now">;
}

/** The same service, with telemetry of every call that it answers. */
export function observeServing(service: Service, observers: Observers): Service {
  return observe(service, observers, (call) => new SeenCall("server", call, sourceOf(call)));
}

/** The same connection, with telemetry of every call that is sent over it. */
export function observeConnection(connection: Connection, place: ObservedPlace, observers: Observers): Connection {
  const { revision } = connection;
  if (eraOf(revision) === "legacy") {
    void connection.ended.then(startSession(observers.telemetry, { side: "client", revision, ...place }));
  }
  const service = observe(connection.service, observers, (call) => new SeenCall("client", call, place));
  const bind = (work: () => void): (() => void) =>
    observers.telemetry.reduce((bound, each) => each.bind?.(bound) ?? bound, work);
  return Object.create(connection, {
    service: { value: service, enumerable: true },
    bind: { value: bind, enumerable: true },
  }) as Connection;
}

function observe(service: Service, { telemetry, clock }: Observers, see: (call: Call) => SeenCall): Service {
  const answer = (call: Call): Promise<Outcome> => {
    const seen = see(call);
    const observations = startAll(telemetry, seen);
    if (observations.length === 0) return service(call);
    const startedAt = clock.now();
    const sent = seen.withTraceContext(observations);
    return runWithin(observations, 0, () => service(sent)).then(
      (outcome) => {
        endAll(observations, endingOf(seen, outcome, clock.now() - startedAt));
        return outcome;
      },
      (error: unknown) => {
        const durationMs = clock.now() - startedAt;
        endAll(observations, { outcome: undefined, code: "internal", error, durationMs });
        throw error;
      },
    );
  };
  return answer as Service;
}

function startAll(telemetry: readonly Telemetry[], call: ObservedCall): readonly CallObservation[] {
  const observations: CallObservation[] = [];
  for (const each of telemetry) {
    try {
      const observation = each.startCall(call);
      if (observation !== undefined) observations.push(observation);
    } catch (error) {
      reportTelemetry(error);
    }
  }
  return observations;
}

/** Does what each observation puts around a call, the first outermost. */
function runWithin(
  observations: readonly CallObservation[],
  at: number,
  work: () => Promise<Outcome>,
): Promise<Outcome> {
  const observation = observations[at];
  if (observation === undefined) return work();
  const inner = at + 1 === observations.length ? work : () => runWithin(observations, at + 1, work);
  return observation.run === undefined ? inner() : observation.run(inner);
}

function endAll(observations: readonly CallObservation[], ending: CallEnding): void {
  for (const each of observations) {
    try {
      each.end(ending);
    } catch (error) {
      reportTelemetry(error);
    }
  }
}

function endingOf({ side, call }: SeenCall, outcome: Outcome, durationMs: number): CallEnding {
  const error = "cause" in outcome ? outcome.cause : undefined;
  if (outcome.kind === "complete") {
    const isError = "isError" in outcome.result && outcome.result.isError === true;
    return { outcome, code: isError ? "tool-error" : undefined, error, durationMs };
  }
  if (outcome.kind !== "failed") return { outcome, code: undefined, error, durationMs };
  const { code } = outcome.failure;
  // A client that stops waiting cancels the call, for a reason of its own.
  const reason = side === "client" && code === "cancelled" ? abortReason(call) : undefined;
  return { outcome, code: reason instanceof McpError ? reason.code : code, error: error ?? reason, durationMs };
}

/** The transport of a call. A call over a wire without HTTP is reported as stdio. */
function sourceOf({ http, rpcId }: CallOf): ObservedPlace {
  if (http !== undefined) return overHttp;
  return rpcId === undefined ? withoutWire : overStdio;
}

const overHttp: ObservedPlace = { transport: "tcp" };
const overStdio: ObservedPlace = { transport: "pipe" };
const withoutWire: ObservedPlace = { transport: undefined };

/** A call on its way. */
class SeenCall implements ObservedCall {
  readonly side: ObservedSide;
  readonly call: Call;
  readonly #place: ObservedPlace;
  #sentId: string | number | undefined;

  constructor(side: ObservedSide, call: Call, place: ObservedPlace) {
    this.side = side;
    this.call = call;
    this.#place = place;
  }

  get transport(): ObservedPlace["transport"] {
    return this.#place.transport;
  }

  get serverAddress(): string | undefined {
    return this.#place.serverAddress;
  }

  get serverPort(): number | undefined {
    return this.#place.serverPort;
  }

  get method(): string {
    const { call } = this;
    if (call.method === "notification") return shortened(call.params.method) ?? call.method;
    // Older revisions ask in the handshake what a server is.
    const isHandshake = call.method === "server/discover" && eraOf(call.peer.revision) === "legacy";
    return isHandshake ? "initialize" : (shortened(call.method) ?? "");
  }

  get name(): string | undefined {
    const { method, params } = this.call;
    return method === "tools/call" || method === "prompts/get" ? shortened(params.name) : undefined;
  }

  get uri(): string | undefined {
    const { method, params } = this.call;
    return method === "resources/read" ? withoutSecrets(params.uri) : undefined;
  }

  get isOpen(): boolean {
    return methodRow(this.call.method).open === true;
  }

  get params(): object {
    return this.call.params;
  }

  get meta(): JsonObject {
    return this.call.meta;
  }

  get client(): ClientInfo {
    return this.call.peer;
  }

  get http(): HttpRequestInfo | undefined {
    return this.side === "server" ? this.call.http : undefined;
  }

  get sessionId(): string | undefined {
    return eraOf(this.call.peer.revision) === "legacy" ? this.http?.header("mcp-session-id") : undefined;
  }

  get rpcId(): string | number | undefined {
    return this.side === "server" ? this.call.rpcId : this.#sentId;
  }

  get requestId(): string {
    return requestIdOf(this.call);
  }

  /** The call with the metadata that observations add to it. */
  withTraceContext(observations: readonly CallObservation[]): Call {
    const meta = observations.reduce<JsonObject | undefined>((last, each) => each.meta ?? last, undefined);
    if (this.side === "server") return meta === undefined ? this.call : (withCall(this.call, { meta }) as Call);
    const onSent = (id: string | number): void => {
      this.#sentId = id;
      this.call.onSent?.(id);
    };
    return withCall(this.call, { ...(meta !== undefined && { meta }), onSent }) as Call;
  }
}

/** What others made up may be of any length, and in this process of any type. */
function shortened(text: unknown): string | undefined {
  if (typeof text !== "string") return undefined;
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}…` : text;
}

const MAX_CHARS = 128;

/** Passwords, queries and fragments of URIs may be secret. */
function withoutSecrets(uri: unknown): string | undefined {
  return typeof uri === "string" ? shortened(uri.replace(/[?#].*$/s, "").replace(/\/\/[^/]*@/, "//")) : undefined;
}
