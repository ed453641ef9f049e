import type { JsonObject } from "../json/json.ts";
import type { HttpRequestInfo } from "../std/http-request-info.ts";
import type { ErrorCode } from "./errors.ts";
import type { ClientInfo } from "./peer.ts";
import type { Outcome, Service } from "./service.ts";

/**
 * Hears of calls and sessions as they begin and end. `otel()` and
 * `createMetrics()` are such values; so is any object with these functions.
 *
 * Give it to `createServer`, `connect` or `openHost` as `telemetry`. One that
 * throws when a call begins or ends is reported on stderr, and the call goes on.
 */
export interface Telemetry {
  /** A call begins. What it returns hears of the rest; undefined when the call is of no interest. */
  startCall(call: ObservedCall): CallObservation | undefined;
  /** Keeps what is around a call, such as an open span, for a call that has to wait before it is sent. */
  bind?: ((work: () => void) => () => void) | undefined;
  /** A session begins, in a revision that has sessions. The function that it returns is called at the end, with the error if there was one. */
  startSession?: ((session: ObservedSession) => SessionEnd) | undefined;
}

/** One, several or none, as options have them. */
export function telemetryOf(given: Telemetry | readonly Telemetry[] | undefined): readonly Telemetry[] {
  if (given === undefined) return [];
  return "startCall" in given ? [given] : given;
}

/** Tells telemetry that a session begins. Call what it returns when the session ends. One that throws is reported. */
export function startSession(telemetry: readonly Telemetry[], session: ObservedSession): SessionEnd {
  const ends = telemetry.flatMap((each) => attempt(() => each.startSession?.(session)) ?? []);
  return (error) => {
    for (const end of ends) attempt(() => end(error));
  };
}

/** Hears that a session has ended, and of the error that ended it, if one did. */
export type SessionEnd = (error?: unknown) => void;

/** A service that says who hears of its sessions. */
interface Observable {
  readonly telemetry?: Telemetry | readonly Telemetry[] | undefined;
}

/** Tells who watches a server, if anybody does, that a session with a client begins. Call what it returns when the session ends. */
export function startServerSession(
  { telemetry }: Service & Observable,
  session: Omit<ObservedSession, "side">,
): SessionEnd | undefined {
  return telemetry && startSession(telemetryOf(telemetry), { side: "server", ...session });
}

function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    reportTelemetry(error);
    return undefined;
  }
}

/** Telemetry is not what a call is about: one that throws is reported, and the call goes on. */
export function reportTelemetry(error: unknown): void {
  console.error("plugbay: telemetry or onEvent threw:", error);
}

/** Which end of a call is observed: the one that answers it, or the one that sends it. */
export type ObservedSide = "server" | "client";

/** Where a call goes or comes from, as far as that is known. */
export interface ObservedPlace {
  /** `pipe` for stdio and `tcp` for HTTP. Undefined for what has no wire, or one of its own. */
  readonly transport: "pipe" | "tcp" | undefined;
  /** Of the server, for calls that go out over HTTP. */
  readonly serverAddress?: string | undefined;
  readonly serverPort?: number | undefined;
}

/** A call as telemetry sees it. Its members are read when they are asked for; only those that are read cost anything. */
export interface ObservedCall extends ObservedPlace {
  readonly side: ObservedSide;
  /** As on the wire: `tools/call`, `initialize`, `notifications/roots/list_changed`. Over 128 characters it is cut. */
  readonly method: string;
  /** Of the tool or prompt. What a caller made up is in it as well; over 128 characters it is cut. */
  readonly name: string | undefined;
  /** Of the resource, without what follows its path. */
  readonly uri: string | undefined;
  /** True for a call that stays open until somebody ends it, such as a subscription. */
  readonly isOpen: boolean;
  /** As sent. They may hold secrets. */
  readonly params: object;
  /** `_meta` of the request, as sent. */
  readonly meta: JsonObject;
  /** Who calls: revision, name, verified identity. */
  readonly client: ClientInfo;
  /** The HTTP request that brought the call. Undefined for calls that go out. */
  readonly http: HttpRequestInfo | undefined;
  /** Of the session that the call belongs to. Always undefined in 2026-07-28. Whoever knows it may be able to use the session. */
  readonly sessionId: string | undefined;
  /** The id of the JSON-RPC request; of a call that goes out it is known once it was sent. */
  readonly rpcId: string | number | undefined;
  /** Unique for the call: the same as `ctx.requestId`. Made when it is first read. */
  readonly requestId: string;
}

/** Hears of one call after its beginning. */
export interface CallObservation {
  /** What the call carries as `_meta` from now on, in place of what it came with. */
  readonly meta?: JsonObject | undefined;
  /** Runs the call, so that handlers and requests that it makes find what was put around them. Has to call `work` once. */
  run?<T>(work: () => T): T;
  /** The call has ended. */
  end(ending: CallEnding): void;
}

/** How a call ended, as telemetry sees it. */
export interface CallEnding {
  /** Undefined when the service rejected, against its contract. */
  readonly outcome: Outcome | undefined;
  /** Why it failed: a code, or `tool-error` for a result with `isError`. Undefined when it did not fail. */
  readonly code: ErrorCode | undefined;
  /** What was thrown, as it was thrown. Undefined when nothing was, or it is not known. */
  readonly error: unknown;
  readonly durationMs: number;
}

/** A session as telemetry sees it. */
export interface ObservedSession extends ObservedPlace {
  readonly side: ObservedSide;
  readonly revision: string;
}
