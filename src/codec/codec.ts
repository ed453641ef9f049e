import type { JsonObject } from "../json/json.ts";
import type { ErrorObject, Id, Request } from "../jsonrpc/message.ts";
import type { Failure } from "../model/errors.ts";
import type { Question } from "../model/input.ts";
import type { LogLevel } from "../model/logging.ts";
import type { Method, MethodRow, Params } from "../model/methods.ts";
import type { Implementation, Peer } from "../model/peer.ts";
import type { Revision } from "../model/revision.ts";
import type { CallOf, OutcomeOf } from "../model/service.ts";
import type { TaskTerms } from "../model/task.ts";

/** A value, or the failure to answer with. */
export type Decoded<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly failure: Failure };

/** The part of a call that is on the wire. */
export interface WireCall<M extends Method = Method> {
  readonly method: M;
  /** What the protocol says of the method. */
  readonly row: MethodRow;
  readonly params: Params<M>;
  readonly peer: Peer;
  readonly meta: JsonObject;
  /** Echoed with every progress notification, with its JSON type. */
  readonly progressToken: Id | undefined;
  readonly logLevel: LogLevel | undefined;
  readonly answers: Readonly<Record<string, unknown>> | undefined;
  readonly state: string | undefined;
  readonly tasks: TaskTerms | undefined;
}

/** What an outgoing notification belongs to. */
export interface NotificationScope {
  readonly progressToken?: Id | undefined;
  readonly subscriptionId?: Id | undefined;
}

/** A notification in words of the model. */
export interface Told {
  readonly method: string;
  readonly params: JsonObject;
}

/** What both ends of a connection say. */
interface SharedCodec {
  readonly revision: Revision;
  encodeFailure(failure: Failure): ErrorObject;
  /** Params of a notification as this revision has them, or undefined when it has no such notification. */
  encodeNotification(method: string, params: JsonObject, scope?: NotificationScope): JsonObject | undefined;
  /** What this revision calls a notification that it has. */
  notificationName(method: string): string;
}

/**
 * Translates between one protocol revision and the model, at the server's end.
 *
 * Codecs are pure: no I/O, no clock, no state but memory of what they encoded.
 * Decoding is lenient and keeps unknown members; encoding is strict and leaves
 * out what the revision does not know.
 */
export interface ServerCodec extends SharedCodec {
  decodeCall(request: Request): Decoded<WireCall>;
  /** How the call ended. `server` signs modern results; the params of the call tell what a result belongs to. */
  encodeOutcome<M extends Method>(
    method: M,
    outcome: OutcomeOf<M>,
    server?: Implementation,
    params?: Params<M>,
  ): Decoded<JsonObject>;
  /** A question as an entry of `inputRequests` (modern), or as params of a request of ours (legacy). */
  encodeQuestion(question: Question): Decoded<JsonObject>;
}

/** Like {@link ServerCodec}, at the client's end. */
export interface ClientCodec extends SharedCodec {
  /** The params of a request. A token asks for progress. */
  encodeCall(call: CallOf, progressToken?: Id): JsonObject;
  /** A successful response. A result of the wrong shape is an `invalid-response`. */
  decodeResult<M extends Method>(method: M, result: JsonObject): OutcomeOf<M>;
  /** A missing resource is told apart by the method that met it. */
  decodeFailure(error: ErrorObject, method?: string): Failure;
  /**
   * A notification without what only correlates: the progress token, the
   * subscription id. Undefined when it makes no sense.
   */
  decodeNotification(method: string, params: JsonObject): Told | undefined;
}
